// Starts the studio: four tabs of one page.

import { Episodes } from "./episodes.js";
import { Compare } from "./compare.js";
import { Edit } from "./edit.js";
import { Play } from "./play.js";
import { Watch } from "./watch.js";
import { element } from "./report.js";
import { ask, complain, session, tried } from "./server.js";

const TABS = ["play", "compare", "edit", "watch"];

class Studio {
  async start() {
    this.about = await ask("open");
    session.id = this.about.session;
    this.machine = this.about.machine;
    document.title = `${this.about.task.name} · srm studio`;
    document.getElementById("title").textContent = this.about.task.name;
    document.getElementById("about").replaceChildren(`${this.about.task.meaning} · `, element("span", {}, this.about.task.env_id));
    this.episodes = new Episodes(this);
    this.play = new Play(this);
    this.parts = { play: this.play, compare: new Compare(this), edit: new Edit(this), watch: new Watch(this) };
    this.listen();
    this.choose(location.hash.slice(1) || (this.about.unplayable ? "edit" : "play"));
    await this.episodes.refresh();
    await this.play.start();
    if (this.about.infer && this.machine.guessed) await this.suggest();
  }

  /** Holes without a value get the one that the demonstrations suggest, unless somebody was faster. */
  async suggest() {
    const { values } = await ask("known");
    if (!values || !this.machine.guessed) return;
    const { machine, play } = await ask("machine", { values });
    this.setMachine(machine, play);
    this.parts.edit.show(machine);
    this.parts.edit.entered = false;
  }

  listen() {
    const tabs = TABS.map((name) => document.getElementById(`tab-${name}`));
    tabs.forEach((tab, index) => {
      tab.addEventListener("click", () => {
        this.choose(TABS[index]);
        this.parts[TABS[index]]?.focus?.();
      });
      tab.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by) return;
        event.preventDefault();
        const next = (index + by + TABS.length) % TABS.length;
        tabs[next].focus();
        this.choose(TABS[next]);
      });
    });
  }

  choose(name) {
    const chosen = TABS.includes(name) ? name : "play";
    for (const tab of TABS) {
      const button = document.getElementById(`tab-${tab}`);
      button.setAttribute("aria-selected", String(tab === chosen));
      button.tabIndex = tab === chosen ? 0 : -1;
      document.getElementById(`panel-${tab}`).hidden = tab !== chosen;
    }
    history.replaceState(null, "", `#${chosen}`);
    complain(null);
    this.parts[chosen]?.enter?.();
  }

  /** The machine of this tab was changed: everything that shows it follows. */
  setMachine(machine, play) {
    this.machine = machine;
    this.play.setMachine(machine);
    if (play) this.play.begin(play);
  }
}

tried(() => new Studio().start());
