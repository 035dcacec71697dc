// Watch: runs of srm infer and srm learn, begun here or elsewhere, as they grow.

import { listKnown } from "./known.js";
import { drawHoles, drawLearning, drawRules, element, large, number } from "./report.js";
import { ask, tried } from "./server.js";

const PAUSE = 1500; // milliseconds between looks
const BADGES = { running: "badge", finished: "badge", stopped: "badge warning", failed: "badge error", damaged: "badge error" };

export class Watch {
  constructor(studio) {
    this.studio = studio;
    this.part = (id) => document.getElementById(id);
    this.part("run-verb").addEventListener("change", () => this.follow());
    this.part("run-start").addEventListener("click", () => this.start());
    this.part("run-replay").addEventListener("click", () => tried(async () => {
      const recorded = await ask("run.episodes", { name: this.name });
      this.studio.episodes.open(recorded, recorded.drawing);
    }));
    this.part("run-edit").addEventListener("click", () => {
      this.studio.choose("edit");
      this.studio.parts.edit.take(this.run.machine, `${this.name.split("/").at(-1)}.srm`);
    });
    setInterval(() => this.look(), PAUSE);
  }

  get visible() {
    return !this.part("panel-watch").hidden && document.visibilityState === "visible";
  }

  async enter() {
    this.follow();
    await this.look();
  }

  follow() {
    this.part("run-frames-label").hidden = this.part("run-verb").value !== "learn";
  }

  async look() {
    if (!this.visible || this.looking) return;
    this.looking = true;
    await tried(async () => {
      const answer = await ask("runs");
      this.part("run-demos").querySelector("[value=mine]").textContent = `yours (${answer.kept})`;
      this.part("run-demos").querySelector("[value=mine]").disabled = answer.kept === 0;
      this.part("run-hint").textContent = `A run takes the machine of this tab, and goes on when the page is closed.${answer.answers ? ` Your answers about pairs (${answer.answers}) are evidence when holes are inferred.` : ""}`;
      this.list(answer.runs);
      if (this.name) this.show(await ask("run", { name: this.name }));
    });
    this.looking = false;
  }

  start() {
    return tried(async () => {
      const settings = {
        verb: this.part("run-verb").value,
        seed: Number(this.part("run-seed").value),
        frames: Number(this.part("run-frames").value),
        mine: this.part("run-demos").value === "mine",
      };
      this.name = (await ask("run.start", settings)).name;
      await this.look();
    });
  }

  list(runs) {
    const rows = runs.map((run) => {
      const open = element("button", { type: "button", class: "link" }, run.name);
      open.addEventListener("click", () => {
        this.name = run.name;
        this.drawn = null;
        this.look();
      });
      const cell = (text) => element("td", { class: "number" }, text);
      return element(
        "tr",
        { "data-run": run.name, "data-state": run.state, "aria-current": run.name === this.name ? "true" : null },
        element("th", { scope: "row" }, open),
        element("td", {}, element("span", { class: BADGES[run.state] ?? "badge", title: run.problem ?? null }, run.state)),
        cell(run.frames ? large(run.frames) : ""),
        cell(run.frames ? number(run.return) : ""),
        cell(run.frames && run.success !== null ? `${Math.round(100 * run.success)} %` : ""),
        cell(run.seconds ? number(run.seconds) : ""),
        element("td", {}, element("div", { class: "bar" }, this.acts(run))),
      );
    });
    const empty = element("tr", {}, element("td", { colspan: 7, class: "note" }, "No run yet."));
    this.part("run-rows").replaceChildren(...(rows.length ? rows : [empty]));
  }

  acts(run) {
    const act = (label, question) => {
      const button = element("button", { type: "button", "aria-label": `${label} ${run.name}` }, label);
      button.addEventListener("click", () => tried(async () => {
        await ask(question, { name: run.name });
        await this.look();
      }));
      return button;
    };
    if (run.state === "running" && run.own) return [act("stop", "run.stop")];
    return run.state === "stopped" && run.kind === "learn" ? [act("resume", "run.resume")] : [];
  }

  show(run) {
    this.run = run;
    this.part("run-one").hidden = false;
    this.part("run-title").textContent = run.name;
    this.part("run-state").textContent = run.state;
    this.part("run-state").className = BADGES[run.state] ?? "badge";
    this.part("run-replay").hidden = !run.episodes;
    this.part("run-edit").hidden = !run.machine;
    this.part("run-page").textContent = run.page ? `its page: ${run.page}` : "";
    const troubled = run.state === "failed" || (run.state === "running" && !run.log && !run.holes);
    this.part("run-output").hidden = !troubled || !run.output.length;
    this.part("run-output").textContent = run.output.join("\n");
    this.part("run-known").hidden = !run.holes;
    if (run.holes) listKnown(this.part("run-known"), run.holes);
    this.draw(run);
  }

  /** Curves are drawn anew when the log has grown. */
  draw(run) {
    const state = `${run.name} ${run.log?.frames.at(-1) ?? ""}`;
    if (state === this.drawn) return;
    this.drawn = state;
    const hosts = { curves: this.part("run-curves"), holes: this.part("hole-charts"), rules: this.part("rule-charts") };
    for (const host of Object.values(hosts)) host.replaceChildren();
    this.part("run-holes-part").hidden = this.part("run-rules-part").hidden = !run.log;
    if (!run.log) return;
    drawLearning(hosts.curves, run.log, null);
    drawHoles(hosts.holes, run.log);
    drawRules(hosts.rules, run.log);
  }
}
