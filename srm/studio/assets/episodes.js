// The list of episodes, and their replay.

import { MachineDrawing, Replay, element, number } from "./report.js";
import { ask, tried, upload } from "./server.js";
import { drawingOf } from "./world.js";

const MOST_EVENTS = 8; // that a row names

export class Episodes {
  constructor(studio) {
    this.studio = studio;
    this.rows = [];
    this.replay = null;
    this.part = (id) => document.getElementById(id);
    this.part("episode-filter").addEventListener("input", () => this.list());
    this.part("replay-close").addEventListener("click", () => this.part("replay").close());
    this.part("replay").addEventListener("close", () => this.replay?.pause());
    this.part("episode-file").addEventListener("change", (event) => this.take(event.target));
  }

  async refresh() {
    this.rows = (await ask("episodes")).episodes;
    this.list();
  }

  take(input) {
    return tried(async () => {
      if (input.files.length) await upload(input.files[0]);
      input.value = "";
      await this.refresh();
    });
  }

  get filtered() {
    const words = this.part("episode-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (row) => `${row.name} ${row.solved ? "solved" : "unsolved"} ${row.events.join(" ")} ${row.note}`.toLowerCase();
    return this.rows.filter((row) => words.every((word) => text(row).includes(word)));
  }

  list() {
    const rows = this.filtered;
    this.part("episode-count").textContent = rows.length === this.rows.length ? `${rows.length}` : `${rows.length} of ${this.rows.length}`;
    const lines = rows.map((row) => this.line(row));
    const empty = this.rows.length ? "No episode fits the filter." : "Play one to its end, and it appears here.";
    this.part("episode-rows").replaceChildren(...(lines.length ? lines : [element("tr", {}, element("td", { colspan: 6, class: "note" }, empty))]));
  }

  line(row) {
    const open = element("button", { type: "button", class: "link" }, row.name);
    open.addEventListener("click", () => this.show(row.key));
    const events = row.events.slice(0, MOST_EVENTS).join(", ") + (row.events.length > MOST_EVENTS ? " …" : "");
    const own = row.group === "kept" || row.group === "aside";
    return element(
      "tr",
      { "data-key": row.key, "data-group": row.group },
      element("th", { scope: "row" }, open),
      element("td", { class: "number" }, row.steps),
      element("td", { class: `number ${row.solved ? "good" : "none"}` }, number(row.return)),
      element("td", { class: "events" }, element("div", {}, events || "nothing that has a word")),
      element("td", {}, own ? this.note(row) : row.note),
      element("td", {}, element("div", { class: "bar" }, own ? this.moves(row) : [])),
    );
  }

  note(row) {
    const input = element("input", { class: "note-field", maxlength: 500, value: row.note, "aria-label": `Note on ${row.name}` });
    input.addEventListener("change", () => tried(() => ask("episode.note", { key: row.key, text: input.value })));
    return input;
  }

  moves(row) {
    const to = row.group === "kept" ? "aside" : "kept";
    const button = (label, where) => {
      const made = element("button", { type: "button", "aria-label": `${label} ${row.name}` }, label);
      made.addEventListener("click", () => tried(async () => {
        this.rows = (await ask("episode.move", { key: row.key, to: where })).episodes;
        this.list();
      }));
      return made;
    };
    return [button(to === "kept" ? "keep" : "set aside", to), button("drop", "nowhere")];
  }

  /** Opens the replay of one episode, paid by the machine as it stands. */
  show(key) {
    return tried(async () => this.open(await ask("episode", { key }), this.studio.machine.drawing));
  }

  /** Opens the replay of recorded episodes. */
  open(recorded, drawn) {
    this.part("replay-title").textContent = recorded.name;
    this.part("replay").showModal();
    const host = this.part("replay-drawing");
    host.replaceChildren();
    const drawing = new MachineDrawing(host, drawingOf(drawn));
    if (this.replay) this.replay.load(recorded, drawing);
    else this.replay = new Replay(recorded, drawing);
  }
}
