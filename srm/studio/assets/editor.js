// A small editor for machines: a text area whose letters are drawn beneath it in colours, with mistakes underlined and words completed.

import { element } from "./report.js";

const TOKEN = /(?<comment>#(?:[ \t#!][^\n]*|$))|(?<label>"[^"\n]*")|(?<hole>\?\w+)|(?<counter>#\w+)|(?<sign>\/\/|->)|(?<number>\b\d+(?:\.\d+)?(?:e-?\d+)?\b)|(?<word>[A-Za-z_]\w*)/gm;
const BEFORE_CARET = /[?#]?[A-Za-z_]\w*$|[?#]$/;
const MOST_OFFERS = 8;

export class Editor {
  /** `words` {keywords [..], events {name: meaning}, signals, attributes {name: {meaning, values}}}; `changed` is called with the text. */
  constructor(host, words, changed) {
    this.words = words;
    this.mistakes = [];
    this.area = element("textarea", { class: "front", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "The text of the machine", "aria-autocomplete": "list" });
    this.back = element("pre", { class: "back", "aria-hidden": "true" });
    this.numbers = element("pre", { class: "numbers", "aria-hidden": "true" });
    this.offers = element("ul", { class: "offers", role: "listbox", hidden: true, "aria-label": "Completions" });
    host.append(element("div", { class: "editor" }, this.numbers, element("div", { class: "sheet" }, this.back, this.area, this.offers)));
    this.area.addEventListener("input", () => {
      this.mistakes = [];
      this.draw();
      changed(this.text);
      this.offer();
    });
    this.area.addEventListener("scroll", () => this.follow());
    this.area.addEventListener("keydown", (event) => this.press(event));
    this.area.addEventListener("blur", () => this.close());
    this.area.addEventListener("click", () => this.close());
  }

  get text() {
    return this.area.value;
  }

  set text(value) {
    this.area.value = value;
    this.mistakes = [];
    this.draw();
  }

  /** Another text, as if it were typed. */
  replace(value) {
    this.area.focus();
    this.area.select();
    document.execCommand("insertText", false, value);
  }

  /** Underlines mistakes, {line, column, length, message}, counted from 1. */
  mark(mistakes) {
    this.mistakes = mistakes;
    this.draw();
  }

  goTo({ line, column }) {
    const start = this.text.split("\n").slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
    this.area.focus();
    this.area.setSelectionRange(start, start);
    this.area.scrollTop = Math.max(0, (line - 6) * this.lineHeight);
  }

  // Colours

  draw() {
    const lines = this.text.split("\n");
    const byLine = Map.groupBy(this.mistakes, (mistake) => mistake.line);
    this.back.replaceChildren(...lines.flatMap((line, index) => [...this.line(line, byLine.get(index + 1) ?? []), "\n"]));
    this.numbers.replaceChildren(...lines.map((_, index) => element("span", { class: byLine.has(index + 1) ? "wrong" : null }, `${index + 1}\n`)));
    this.follow();
  }

  /** The pieces of a line, cut where a colour or a mistake begins or ends. */
  line(line, mistakes) {
    const kinds = new Array(line.length).fill("");
    for (const match of line.matchAll(TOKEN)) {
      const kind = this.kindOf(match);
      for (let at = match.index; at < match.index + match[0].length; at += 1) kinds[at] = kind;
    }
    for (const { column, length } of mistakes) {
      for (let at = column - 1; at < Math.min(line.length, column - 1 + length); at += 1) kinds[at] += " mistake";
    }
    const pieces = [];
    for (let from = 0, to = 0; from < line.length; from = to) {
      while (to < line.length && kinds[to] === kinds[from]) to += 1;
      const text = line.slice(from, to);
      pieces.push(kinds[from].trim() ? element("span", { class: kinds[from].trim() }, text) : text);
    }
    return pieces;
  }

  kindOf({ groups }) {
    if (groups.word === undefined) return Object.keys(groups).find((name) => groups[name] !== undefined);
    if (this.words.keywords.includes(groups.word)) return "keyword";
    if (groups.word in this.words.events) return "event";
    return groups.word in this.words.signals || groups.word in this.words.attributes ? "signal" : "";
  }

  follow() {
    this.back.style.transform = `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`;
    this.numbers.style.transform = `translateY(${-this.area.scrollTop}px)`;
  }

  // Completion

  get lineHeight() {
    return parseFloat(getComputedStyle(this.area).lineHeight);
  }

  /** What may stand where the caret is: [word, meaning]. */
  candidates(start) {
    const names = (pattern) => [...new Set(this.text.match(pattern) ?? [])].filter((name) => name !== start).map((name) => [name, ""]);
    if (start[0] === "?") return names(/\?\w+/g);
    if (start[0] === "#") return names(/#\w+/g);
    const { keywords, events, signals, attributes } = this.words;
    return [
      ...Object.entries(events),
      ...Object.entries(signals),
      ...Object.entries(attributes).flatMap(([name, { meaning, values }]) => [[name, meaning], ...values.map((value) => [value, name])]),
      ...keywords.map((word) => [word, ""]),
      ...[...this.text.matchAll(/^(?:start|node|accept)\s+(\w+)/gm)].map((match) => [match[1], "node"]),
    ];
  }

  offer() {
    const before = this.text.slice(0, this.area.selectionStart);
    const start = BEFORE_CARET.exec(before)?.[0] ?? "";
    const fits = start ? this.candidates(start).filter(([word]) => word.startsWith(start) && word !== start).slice(0, MOST_OFFERS) : [];
    this.start = start;
    this.chosen = 0;
    this.offers.hidden = fits.length === 0;
    this.offers.replaceChildren(...fits.map(([word, meaning], index) => {
      const offer = element("li", { role: "option", "data-word": word }, element("b", {}, word), " ", element("span", { class: "note" }, meaning));
      offer.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        this.chosen = index;
        this.accept();
      });
      return offer;
    }));
    this.light();
    this.place(before);
  }

  /** Below the caret; all letters are of one width. */
  place(before) {
    const lines = before.split("\n");
    const style = getComputedStyle(this.area);
    const probe = document.createElement("canvas").getContext("2d");
    probe.font = style.font;
    const across = probe.measureText("0").width * (lines.at(-1).length - this.start.length) + parseFloat(style.paddingLeft) - this.area.scrollLeft;
    const down = this.lineHeight * lines.length + parseFloat(style.paddingTop) - this.area.scrollTop;
    this.offers.style.left = `${Math.max(0, Math.min(across, this.area.clientWidth - 220))}px`;
    const above = down + this.offers.offsetHeight > this.area.clientHeight ? this.lineHeight + this.offers.offsetHeight : 0;
    this.offers.style.top = `${Math.max(0, down - above)}px`;
  }

  light() {
    [...this.offers.children].forEach((offer, index) => offer.setAttribute("aria-selected", String(index === this.chosen)));
  }

  close() {
    this.offers.hidden = true;
  }

  accept() {
    const { word } = this.offers.children[this.chosen].dataset;
    this.close();
    document.execCommand("insertText", false, word.slice(this.start.length)); // the one way that the browser can undo
  }

  press(event) {
    if (this.offers.hidden) return;
    const acts = {
      ArrowDown: () => (this.chosen = (this.chosen + 1) % this.offers.children.length),
      ArrowUp: () => (this.chosen = (this.chosen + this.offers.children.length - 1) % this.offers.children.length),
      Tab: () => this.accept(),
      Enter: () => this.accept(),
      Escape: () => this.close(),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
    this.light();
  }
}
