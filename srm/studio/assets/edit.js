// Edit: the text of a machine, what is wrong with it, what can be proved of it, and what every episode would be paid.

import { Editor } from "./editor.js";
import { MachineDrawing, element, number, signed } from "./report.js";
import { Trouble, ask, tried } from "./server.js";
import { drawingOf } from "./world.js";

const PAUSE = 250; // milliseconds after a key until the text is read
const SEVERITIES = ["error", "warning", "note"];

export class Edit {
  constructor(studio) {
    this.studio = studio;
    this.part = (id) => document.getElementById(id);
    this.editor = new Editor(this.part("editor"), studio.about.words, () => this.later());
    this.editor.text = studio.machine.text;
    this.part("edit-name").value = `${studio.machine.name}.srm`;
    this.part("edit-open").addEventListener("change", (event) => this.load(event.target.value));
    this.part("edit-save").addEventListener("click", () => this.save({}));
    this.part("edit-save-values").addEventListener("click", () => this.save({ values: true }));
    this.part("edit-over").addEventListener("click", () => this.save({ ...this.refused, over: true }));
    this.part("edit-propose").addEventListener("click", () => this.propose());
    this.part("edit-constraint").addEventListener("change", (event) => this.read({ constraint: event.target.value }));
    this.show(studio.machine);
  }

  /** The tab was chosen. */
  async enter() {
    if (this.entered) return;
    this.entered = true;
    this.part("edit-verdict").textContent ||= "paying every episode …";
    await tried(async () => {
      await this.listFiles();
      await Promise.all([this.check(), this.pay()]);
    });
  }

  // The text

  later() {
    clearTimeout(this.timer);
    this.part("edit-state").textContent = "";
    this.part("edit-why").hidden = true;
    this.timer = setTimeout(() => this.read({}), PAUSE);
  }

  /** Reads the text; a newer one takes the place of an older. */
  async read(more) {
    this.reading?.abort();
    this.reading = new AbortController();
    const text = this.editor.text;
    await tried(async () => {
      const answer = await ask("machine", { text, ...more }, this.reading.signal);
      if (text !== this.editor.text) return;
      this.listMistakes(answer.errors ?? []);
      if (answer.errors) return;
      this.studio.setMachine(answer.machine, answer.play);
      this.show(answer.machine);
      await Promise.all([this.check(), this.pay()]);
    });
  }

  listMistakes(mistakes) {
    this.editor.mark(mistakes);
    this.part("edit-mistakes").replaceChildren(...mistakes.map((mistake) => {
      const button = element("button", { type: "button", class: "link" }, `line ${mistake.line}: ${mistake.message}`);
      button.addEventListener("click", () => this.editor.goTo(mistake));
      return element("li", {}, button);
    }));
    this.part("edit-drawing").classList.toggle("stale", mistakes.length > 0);
  }

  show(machine) {
    this.part("edit-drawing").replaceChildren();
    new MachineDrawing(this.part("edit-drawing"), drawingOf(machine.drawing), 0.6);
    this.listSliders(machine);
    const names = [...machine.constraints, "none"];
    this.part("edit-constraint").replaceChildren(...names.map((name) => element("option", { value: name, selected: name === (machine.constraint ?? "none") }, name)));
    this.listMargins(machine.margins);
  }

  // Proofs

  async check() {
    this.part("edit-proofs").textContent = "checking …";
    const answer = await ask("check").catch((problem) => this.unproved(problem));
    if (answer.overtaken) return;
    this.open = new Set(answer.findings.map((finding) => finding.message));
    const count = (severity) => answer.findings.filter((finding) => finding.severity === severity).length;
    this.part("edit-proofs").textContent = `${count("error")} errors, ${count("warning")} warnings, ${count("note")} notes`;
    this.part("edit-findings").replaceChildren(...this.findings(answer.findings));
    await this.checkValues();
  }

  /** What these very values break, that the machine with its holes open did not. */
  async checkValues() {
    this.part("edit-breaks-state").textContent = "checking …";
    const answer = await ask("check", { concrete: true }).catch((problem) => this.unproved(problem));
    if (answer.overtaken) return;
    const broken = answer.findings.filter((finding) => finding.severity !== "note" && !this.open?.has(finding.message));
    this.part("edit-breaks-state").textContent = broken.length ? "" : "nothing more breaks";
    this.part("edit-breaks").replaceChildren(...this.findings(broken));
  }

  unproved(problem) {
    if (!(problem instanceof Trouble)) throw problem;
    return { findings: [{ severity: "warning", place: "", message: problem.message, example: [] }] };
  }

  findings(listed) {
    const ordered = [...listed].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
    return ordered.map(({ severity, place, message, example }) => element(
      "li",
      {},
      element("span", { class: `badge ${severity}` }, severity),
      element("div", {}, place ? element("code", {}, place) : null, " ", message),
      example.length ? element("details", {}, element("summary", {}, "example"), element("pre", {}, example.join("\n"))) : null,
    ));
  }

  // Values

  listSliders(machine) {
    this.holes = new Map();
    this.part("edit-sliders").replaceChildren(...machine.holes.map((hole) => {
      const shared = { min: hole.low, max: hole.high, step: hole.whole ? 1 : 0.01, "aria-label": `?${hole.name}` };
      const slider = element("input", { type: "range", ...shared, value: hole.value });
      const field = element("input", { type: "number", ...shared, value: hole.value });
      slider.value = hole.value;
      slider.addEventListener("input", () => {
        field.value = slider.value;
        this.move();
      });
      field.addEventListener("change", () => {
        slider.value = field.value;
        this.move();
      });
      this.holes.set(hole.name, field);
      return element("div", { class: "slider" }, element("code", { class: "hole" }, `?${hole.name}`), slider, field);
    }));
    if (!machine.holes.length) this.part("edit-sliders").append(element("p", { class: "note" }, "This machine has no holes."));
  }

  get values() {
    return Object.fromEntries([...this.holes].map(([name, field]) => [name, Number(field.value)]));
  }

  /** Sliders move faster than answers come: the newest values are asked of, one question at a time. */
  async move() {
    this.moved = true;
    if (this.paying) return;
    this.paying = true;
    while (this.moved) {
      this.moved = false;
      await tried(() => this.pay(this.values));
    }
    this.paying = false;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => tried(async () => {
      const { machine, play } = await ask("machine", { values: this.values });
      this.studio.setMachine(machine, play);
      await this.checkValues();
    }), PAUSE);
  }

  async pay(values = undefined) {
    const answer = await ask("pay", values ? { values } : {});
    this.listMargins(answer.margins);
    this.part("edit-verdict").textContent = answer.verdict;
    const most = Math.max(...answer.episodes.map((row) => Math.abs(row.pay)), 1e-9);
    this.part("edit-ranking").replaceChildren(...answer.episodes.map((row) => this.ranked(row, most)));
  }

  ranked(row, most) {
    const open = element("button", { type: "button", class: "link" }, row.name);
    open.addEventListener("click", () => this.studio.episodes.show(row.key));
    const shows = row.group === "given" || row.group === "kept";
    const meter = element("span", { class: `meter ${row.pay < 0 ? "loss" : "gain"}`, "aria-hidden": "true" });
    meter.style.setProperty("--part", Math.abs(row.pay) / most);
    return element("li", { class: shows ? "shows" : "other", "data-key": row.key }, open, meter, element("b", { class: "amount" }, signed(row.pay)));
  }

  listMargins(margins) {
    const rows = margins.map(({ atom, label, room }) => {
      const state = room < -1e-9 ? element("span", { class: "badge error" }, "broken") : element("span", { class: "badge note" }, room < 1e-3 ? "at its bound" : "kept");
      return element("tr", {}, element("td", {}, element("code", {}, atom), label ? element("div", { class: "label" }, label) : null), element("td", { class: "number" }, number(room)), element("td", {}, state));
    });
    this.part("edit-margins").replaceChildren(element("tbody", {}, rows.length ? rows : element("tr", {}, element("td", { class: "note" }, "No constraint."))));
  }

  // Files

  async listFiles() {
    const { files, library } = await ask("files");
    const group = (label, names) => (names.length ? element("optgroup", { label }, names.map((name) => element("option", { value: name }, name))) : null);
    this.part("edit-open").replaceChildren(element("option", { value: "" }, "…"), ...[group("Here", files), group("The library", library)].filter(Boolean));
  }

  async load(name) {
    if (!name) return;
    this.part("edit-open").value = "";
    await tried(async () => {
      const { text } = await ask("file", { name });
      await this.take(text, name.endsWith(".srm") ? name : `my_${name}.srm`);
    });
  }

  /** The machine that the demonstrations suggest takes the place of the text; undo brings that back. */
  async propose() {
    this.part("edit-state").textContent = "reading the demonstrations …";
    await tried(async () => {
      const { text, explanation, summary } = await ask("propose");
      if (!text) return;
      this.editor.replace(text);
      this.part("edit-name").value = "proposed.srm";
      this.part("edit-explanation").textContent = explanation;
      this.part("edit-why").hidden = false;
      this.part("edit-state").textContent = summary;
    });
    if (this.part("edit-state").textContent.endsWith("…")) this.part("edit-state").textContent = "";
  }

  /** Another text, to be saved under a name. */
  async take(text, name) {
    this.editor.text = text;
    this.part("edit-name").value = name;
    this.part("edit-over").hidden = true;
    await this.read({});
  }

  async save(how) {
    const name = this.part("edit-name").value;
    await tried(async () => {
      const answer = await ask("save", { name, text: this.editor.text, ...how });
      this.refused = how;
      this.part("edit-over").hidden = !answer.exists;
      this.part("edit-over").textContent = `write over ${name}`;
      this.part("edit-state").textContent = answer.exists ? `${name} is there already.` : `Saved as ${answer.name} in ${answer.folder}.`;
      if (!answer.exists) await this.listFiles();
    });
  }
}
