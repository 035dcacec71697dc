// Compare: two episodes side by side, and which is better. Pairs come where what is known is most divided.

import { listKnown } from "./known.js";
import { Episode, element } from "./report.js";
import { ask, tried } from "./server.js";
import { paint } from "./world.js";

const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "equal", "=": "equal", 0: "cannot say" };
const RATE = 6; // moments a second, or
const LONGEST = 15; // seconds of an episode
const EDGE = 380; // pixels of a world

export class Compare {
  constructor(studio) {
    this.studio = studio;
    this.part = (id) => document.getElementById(id);
    this.part("compare-play").addEventListener("click", () => this.toggle());
    this.part("compare-moment").addEventListener("input", (event) => {
      this.pause();
      this.go(Number(event.target.value));
    });
    for (const button of document.querySelectorAll("[data-answer]")) button.addEventListener("click", () => this.answer(button.dataset.answer));
    this.part("compare-take").addEventListener("click", () => this.take());
    document.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.pair && this.go(this.moment)).observe(this.part("compare-stage"));
  }

  get visible() {
    return !this.part("panel-compare").hidden && !document.querySelector("dialog[open]");
  }

  async enter() {
    const { text } = this.studio.machine;
    if ((this.pair || this.busy) && this.of === text) return;
    this.of = text;
    await this.next(() => ask("pair"));
  }

  /** The tab was clicked: keys answer at once. */
  focus() {
    this.wanted = true;
    this.part("compare-play").focus();
  }

  press(event) {
    if (!this.visible || !this.pair || this.busy || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.closest?.("input, select, [role=tab]")) return;
    if (event.key === " " && !event.target.closest?.("button")) this.toggle();
    else if (KEYS[event.key]) this.answer(KEYS[event.key]);
    else return;
    event.preventDefault();
  }

  answer(answer) {
    if (this.busy || !this.pair) return undefined;
    const { left, right } = this.pair;
    return this.next(() => ask("answer", { left: left.key, right: right.key, answer }));
  }

  /** Asks for a pair and shows it. */
  async next(question) {
    this.busy = true;
    this.pause();
    this.part("compare-state").textContent = this.pair ? "choosing two that tell most …" : "reading the demonstrations, to choose two that tell most; the first time it takes some seconds …";
    const answer = await tried(question);
    if (answer?.overtaken) return; // by a question that is under way
    this.busy = false;
    this.part("compare-state").textContent = "";
    this.part("compare-stage").hidden = !answer?.left;
    this.part("compare-empty").hidden = Boolean(answer?.left);
    this.part("compare-empty").textContent = answer?.empty ?? "";
    this.part("compare-known").hidden = !answer?.left;
    if (!answer?.left) return;
    this.pair = answer;
    this.part("compare-state").textContent = answer.count ? `${answer.count} answered, in ${answer.file}` : "Keys: ← → ↓, 0; space plays.";
    this.sides = ["left", "right"].map((side) => this.open(side, answer[side]));
    this.part("compare-moment").max = Math.max(...this.sides.map(({ episode }) => episode.steps));
    listKnown(this.part("compare-holes"), answer.holes);
    this.part("compare-take").hidden = !answer.values;
    this.go(0);
    this.play();
    if (this.wanted) this.part("compare-play").focus();
    this.wanted = false;
  }

  open(side, recorded) {
    const [record] = recorded.episodes;
    const episode = new Episode(record, recorded.start);
    const figure = this.part(`compare-${side}`);
    figure.querySelector(".outcome-line").textContent = `${episode.outcome} in ${episode.steps} steps`;
    const known = (event) => this.studio.machine.text.includes(event.split(" ")[0]); // what the machine has no word for is not at stake
    const happened = record.trace.map((entry) => ({ ...entry, events: entry.events?.filter(known) })).filter((entry) => entry.events?.length);
    const items = happened.map((entry) => {
      const open = element("button", { type: "button", class: "link" }, element("span", { class: "when" }, entry.step + 1), entry.events.join(", "));
      open.addEventListener("click", () => {
        this.pause();
        this.go(entry.step + 1);
      });
      return element("li", { "data-moment": entry.step + 1 }, open);
    });
    figure.querySelector(".happened").replaceChildren(...items);
    return { episode, figure, items, scene: { grid: record.grid, pictures: record.pictures } };
  }

  go(moment) {
    this.moment = moment;
    this.part("compare-moment").value = moment;
    for (const { episode, figure, items, scene } of this.sides) {
      const at = Math.min(moment, episode.steps);
      paint(figure, scene, at, EDGE, episode.steps);
      for (const item of items) item.classList.toggle("past", Number(item.dataset.moment) <= at);
    }
  }

  play() {
    const last = Number(this.part("compare-moment").max);
    if (this.moment >= last) this.go(0);
    this.part("compare-play").textContent = "pause";
    this.timer = setInterval(() => {
      if (this.moment >= last) this.pause();
      else if (this.visible) this.go(this.moment + 1);
    }, 1000 / Math.max(RATE, last / LONGEST));
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.part("compare-play").textContent = "play";
  }

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  take() {
    return tried(async () => {
      const { machine, play } = await ask("machine", { values: this.pair.values });
      this.studio.setMachine(machine, play);
      this.studio.parts.edit.show(machine);
      this.studio.parts.edit.entered = false; // its proofs and its ranking are of other values
      this.part("compare-state").textContent = "The machine pays by what is known.";
    });
  }
}
