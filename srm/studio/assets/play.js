// Play: a person acts, and sees at once what each step is paid, by which rule, and why.
// The server sends the answer to every action ahead, so that a key is answered before it is asked.

import { MachineDrawing, amountClass, element, number, signed, stepFacts } from "./report.js";
import { ask, tried } from "./server.js";
import { drawingOf, paint } from "./world.js";

const KEY_NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "space" };
const PAD = { 14: "ArrowLeft", 15: "ArrowRight", 12: "ArrowUp", 13: "ArrowDown", 0: " ", 1: "p", 2: "d", 3: "Enter" };
const PAD_UNDO = 8;
const PAD_NEW = 9;
const MOST_WAITING = 2; // keys that are pressed faster than they are answered

export class Play {
  constructor(studio) {
    this.studio = studio;
    this.controls = studio.about.controls;
    this.part = (id) => document.getElementById(id);
    this.held = new Set();
    this.waiting = [];
    this.busy = false;
    this.timer = null;
    this.tapped = null;
    this.padded = new Set();
    this.listActions();
    this.listen();
    this.setMachine(studio.machine);
    this.part("policy-plays").hidden = !studio.about.policy;
    this.part("pace").value = this.controls.turns ? "0" : "10";
    this.part("pace").querySelectorAll("option").forEach((option) => {
      option.disabled = option.value !== "0" && this.controls.noop === null && this.controls.turns;
    });
    new ResizeObserver(() => this.drawWorld()).observe(this.part("world"));
  }

  async start() {
    if (this.studio.about.unplayable) {
      this.part("world-words").textContent = this.studio.about.unplayable;
      for (const id of ["new-episode", "undo", "pace"]) this.part(id).disabled = true;
      return;
    }
    if (this.studio.about.play) this.begin(this.studio.about.play);
    else await this.renew();
  }

  /** The tab was clicked: keys act at once. */
  focus() {
    this.part("world").focus();
  }

  // What the person does

  listActions() {
    const { actions, keys } = this.controls;
    const buttons = actions.map((name, action) => {
      const key = keys.find(([combination, number]) => number === action && combination.length === 1)?.[0][0];
      const cap = key ? element("kbd", {}, KEY_NAMES[key] ?? key) : null;
      const button = element("button", { type: "button", "data-action": action }, cap, name);
      button.addEventListener("pointerdown", (event) => event.preventDefault()); // the world keeps the focus
      button.addEventListener("click", () => this.act(action));
      return button;
    });
    this.part("actions").replaceChildren(...buttons);
  }

  listen() {
    document.addEventListener("keydown", (event) => this.press(event));
    document.addEventListener("keyup", (event) => this.held.delete(this.nameOf(event.key)));
    window.addEventListener("blur", () => this.held.clear());
    this.part("new-episode").addEventListener("click", () => this.renew());
    this.part("undo").addEventListener("click", () => this.undo());
    this.part("policy-plays").addEventListener("click", () => this.letPolicy(!this.policy));
    this.part("pace").addEventListener("change", () => this.setPace());
    this.part("over-move").addEventListener("click", () => this.move(this.stored.shelf === "kept" ? "aside" : "kept"));
    this.part("over-drop").addEventListener("click", () => this.move("nowhere"));
    this.part("over-note").addEventListener("change", (event) => tried(async () => {
      await ask("episode.note", { key: this.stored.key, text: event.target.value });
      await this.studio.episodes.refresh();
    }));
    window.addEventListener("gamepadconnected", () => {
      if (navigator.getGamepads().filter(Boolean).length === 1) this.poll(); // of several, the first plays
    });
  }

  get shown() {
    return !document.getElementById("panel-play").hidden && !document.querySelector("dialog[open]");
  }

  press(event) {
    if (!this.shown || event.ctrlKey || event.altKey || event.metaKey) return;
    const target = event.target;
    if (target.closest?.("input, select, textarea, .trace, [role=region], [role=tab]")) return;
    if (target.closest?.("button, a, summary, label") && (event.key === " " || event.key === "Enter")) return;
    const key = this.nameOf(event.key);
    this.held.add(key);
    if (this.pressed(key, event.repeat)) event.preventDefault();
  }

  /** A key as the controls name it; a capital letter that means nothing is the small one. */
  nameOf(key) {
    return key.length > 1 || this.controls.keys.some(([keys]) => keys.includes(key)) ? key : key.toLowerCase();
  }

  /** Whether the key means something. */
  pressed(key, repeated = false) {
    const action = this.actionOf(key);
    if (action !== null) {
      this.letPolicy(false);
      if (this.timer !== null) this.tapped = action; // the clock reads what is held, or was pressed since
      else if (!(repeated && this.waiting.length)) this.act(action);
      return true;
    }
    const own = { Backspace: () => this.undo(), n: () => this.renew(), t: () => this.studio.about.policy && this.letPolicy(!this.policy) };
    if (!own[key] || repeated) return false;
    own[key]();
    return true;
  }

  /** The action of the keys that are held, the one with the most keys first; `key` must be among them. */
  actionOf(key = null) {
    const fits = this.controls.keys.filter(([keys]) => keys.every((one) => this.held.has(one) || one === key) && (key === null || keys.includes(key)));
    if (!fits.length) return null;
    return fits.reduce((best, next) => (next[0].length > best[0].length ? next : best))[1];
  }

  /** A gamepad's buttons are keys; those that mean nothing here are the actions in their order. */
  poll() {
    const pad = navigator.getGamepads().find((one) => one);
    if (!pad) return;
    pad.buttons.forEach((button, index) => {
      const was = this.padded.has(index);
      if (button.pressed === was) return;
      if (!button.pressed) {
        this.padded.delete(index);
        this.held.delete(PAD[index]);
        return;
      }
      this.padded.add(index);
      if (!this.shown) return;
      if (index === PAD_UNDO) this.undo();
      else if (index === PAD_NEW) this.renew();
      else if (PAD[index] && this.controls.keys.some(([keys]) => keys.includes(PAD[index]))) {
        this.held.add(PAD[index]);
        this.pressed(PAD[index]);
      } else if (index < this.controls.actions.length) this.act(index);
    });
    requestAnimationFrame(() => this.poll());
  }

  setPace() {
    clearInterval(this.timer);
    this.timer = null;
    const rate = Number(this.part("pace").value);
    if (rate) this.timer = setInterval(() => this.tick(), 1000 / rate);
    this.focus();
  }

  tick() {
    if (!this.shown || this.busy || this.policy || !this.now || this.now.over) return;
    const pressed = this.actionOf() ?? this.tapped;
    this.tapped = null;
    if (pressed === null && this.now.at === 0) return; // nobody is ready yet
    const action = pressed ?? this.controls.noop;
    if (action !== null) this.act(action);
  }

  letPolicy(plays) {
    if (Boolean(this.policy) === plays) return;
    clearInterval(this.policy);
    const rate = Number(this.part("pace").value) || 5;
    this.policy = plays ? setInterval(() => !this.busy && this.shown && this.act(null), 1000 / rate) : null;
    this.part("policy-plays").textContent = plays ? "take over" : "policy plays";
    this.part("policy-plays").setAttribute("aria-pressed", String(plays));
    this.part("world").focus();
  }

  // Steps

  /** One action, null: the policy's. What it leads to is painted at once where it is known, and confirmed by the server. */
  async act(action) {
    if (!this.now || this.now.over || this.waiting.length >= MOST_WAITING) return;
    this.waiting.push(action);
    if (!this.busy) await this.takeAll();
  }

  /** What was pressed while something else was under way comes next. */
  async takeAll() {
    this.busy = true;
    while (this.waiting.length && !this.now.over) await tried(() => this.take(this.waiting.shift()));
    this.waiting = [];
    this.busy = false;
  }

  async take(action) {
    const { at, ahead } = this.now;
    const ready = action === null ? null : ahead[action];
    if (ready) this.show(ready);
    let answer;
    try {
      answer = await ask("play.step", { at, action, ahead: this.timer === null });
    } catch (problem) {
      this.waiting = [];
      this.letPolicy(false);
      throw problem;
    }
    if (ready) this.now = answer;
    else this.show(answer);
    if (answer.over) await this.end(answer.stored);
  }

  async undo() {
    this.letPolicy(false);
    this.waiting = [];
    while (this.busy) await new Promise((go) => setTimeout(go, 10)); // a step under way is taken, then taken back
    if (!this.now?.at) return;
    this.busy = true;
    await tried(async () => {
      const wasOver = this.now.over;
      this.begin(await ask("play.undo", { at: this.now.at }));
      if (wasOver) await this.studio.episodes.refresh();
    });
    await this.takeAll();
  }

  async renew() {
    this.waiting = [];
    await tried(async () => this.begin(await ask("play.new")));
    this.part("world").focus();
  }

  begin(whole) {
    this.steps = whole.steps;
    this.now = whole;
    this.stored = null;
    this.outcome = null;
    this.part("over").hidden = true;
    this.part("now-trace").replaceChildren();
    this.steps.forEach((step, index) => this.listStep(step, index));
    this.draw();
  }

  show(moment) {
    this.now = { ahead: {}, ...moment };
    this.steps.push(moment.step);
    this.listStep(moment.step, moment.at - 1);
    this.draw();
  }

  async end(stored) {
    this.letPolicy(false);
    const { step, at } = this.now;
    const how = stored.shelf === "kept" ? "Solved" : step.terminated ? "It ended unsolved" : "Time ran out";
    this.outcome = `${how} after ${at} steps, with a return of ${number(this.return)}.`;
    this.drawWorld(); // with the outcome below it: the rest may be below a small screen
    this.part("over-note").value = "";
    this.part("over").hidden = false;
    this.shelve(stored);
    await this.studio.episodes.refresh();
  }

  /** Says where the episode is, and where else it can be put. */
  shelve(stored) {
    this.stored = stored;
    const kept = stored.shelf === "kept";
    const where = kept ? `It is kept as a demonstration in ${this.studio.about.files.kept}.` : "It is set aside, and is no demonstration.";
    this.part("over-words").textContent = `${this.outcome} ${where}`;
    this.part("over-move").textContent = kept ? "set it aside" : "keep it";
  }

  move(to) {
    return tried(async () => {
      await ask("episode.move", { key: this.stored.key, to });
      await this.studio.episodes.refresh();
      if (to === "nowhere") await this.renew();
      else this.shelve({ ...this.stored, shelf: to });
    });
  }

  get return() {
    return this.steps.reduce((sum, step) => sum + step.reward, 0);
  }

  // What is shown

  setMachine(machine) {
    this.machine = machine;
    const host = this.part("now-drawing");
    host.replaceChildren();
    this.drawing = new MachineDrawing(host, drawingOf(machine.drawing));
    const coming = this.studio.about.infer ? "those that the demonstrations suggest are on their way …" : "move them in Edit.";
    const empty = Object.keys(machine.rules).length ? "" : "This machine pays nothing yet. Write one in Edit.";
    this.part("now-values").textContent = machine.guessed ? `What holes are worth is a guess; ${coming}` : empty;
    this.drawing.show(this.now?.node, this.now?.step?.trace.rule);
  }

  draw() {
    const { now } = this;
    const { step } = now;
    this.drawWorld();
    const entry = step?.trace;
    const pay = step ? (entry?.pay?.value ?? 0) : null;
    this.part("now-pay").textContent = pay === null ? "–" : signed(pay);
    this.part("now-pay").className = amountClass(pay);
    this.part("now-paid").textContent = signed(now.paid);
    this.part("now-return").textContent = number(this.return);
    const facts = step ? stepFacts(entry, { from: step.from, to: step.to, rules: this.machine.rules, counters: now.counters, signals: step.signals }) : [];
    this.part("now-facts").replaceChildren(...facts.flatMap(([name, ...values]) => [element("dt", {}, name), ...values.map((line) => element("dd", {}, line))]));
    this.drawing.show(now.node, entry?.rule);
    this.part("undo").disabled = now.at === 0;
    Object.assign(this.part("world").dataset, { at: now.at, seed: now.seed });
    this.part("world").classList.toggle("is-over", now.over);
  }

  drawWorld() {
    if (!this.now) return;
    const words = paint(this.part("world"), this.now.scene);
    this.part("world-words").textContent = this.outcome ?? words;
  }

  /** A line for a step at which anything happened. */
  listStep(step, index) {
    const { events = [], rule, pay, kept } = step.trace;
    if (!events.length && !rule) return;
    const amount = pay ? (kept ?? pay.value) : null;
    const line = element(
      "li",
      { class: rule ? "fired" : "quiet" },
      element("span", { class: "when" }, String(index + 1)),
      element("span", { class: "what" }, events.join(", ") || rule),
      element("span", { class: amountClass(amount) }, amount === null ? "" : signed(amount)),
    );
    const list = this.part("now-trace");
    list.append(line);
    list.scrollTop = list.scrollHeight; // the list, and never the page
  }
}
