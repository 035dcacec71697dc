// The replay: an episode that can be stepped, scrubbed and played, with the machine beside the environment.

const THUMB = 16; // pixels of the slider's thumb, as in the style

class Replay {
  constructor(recorded, drawing) {
    this.moment = 0;
    this.timer = null;
    this.part = (id) => document.getElementById(id);
    const strips = (id) => new Strips(this.part(id), (moment) => this.toX(moment), (event) => this.goTo(event));
    this.signals = strips("signal-strips");
    this.shares = strips("share-strips");
    this.load(recorded, drawing);
    this.listen();
    new ResizeObserver(() => this.drawStrips()).observe(this.part("pay-strip"));
    new ResizeObserver(() => this.drawScene()).observe(this.part("env").parentElement);
  }

  /** Other episodes, from the first on. */
  load(recorded, drawing) {
    this.recorded = recorded;
    this.drawing = drawing;
    this.listEpisodes();
    this.open(0);
  }

  listEpisodes() {
    this.part("episode-choice").replaceChildren();
    const groups = { demonstration: "Demonstrations", policy: "The policy" };
    for (const [kind, label] of Object.entries(groups)) {
      const options = this.recorded.episodes
        .map((record, index) => [record, index])
        .filter(([record]) => record.kind === kind)
        .map(([record, index]) => element("option", { value: index }, `${kind === "policy" ? "Policy episode" : "Demonstration"} ${record.number}`));
      if (options.length) this.part("episode-choice").append(element("optgroup", { label }, options));
    }
  }

  open(index, moment = 0) {
    this.pause();
    this.index = index;
    this.episode = new Episode(this.recorded.episodes[index], this.recorded.start);
    this.part("episode-choice").value = index;
    this.part("moment").max = this.episode.steps;
    const { record, outcome, steps } = this.episode;
    const seed = record.seed >= 0 ? `, seed ${record.seed}` : "";
    this.part("episode-outcome").textContent =
      `${record.env_id}${seed}: ${outcome} in ${steps} steps, return ${number(record.return)}, paid ${signed(record.pay)}`;
    this.listTrace();
    this.drawStrips();
    this.go(moment);
  }

  go(moment) {
    this.moment = Math.min(Math.max(moment, 0), this.episode.steps);
    const slider = this.part("moment");
    slider.value = this.moment;
    slider.setAttribute("aria-valuetext", `after ${this.moment} of ${this.episode.steps} steps`);
    this.drawScene();
    this.drawMark();
    this.tellStep();
    const entry = this.episode.entries.get(this.moment - 1);
    this.drawing?.show(this.episode.nodes[this.moment], entry?.rule);
    for (const [id, stuck] of [["to-start", this.moment === 0], ["step-back", this.moment === 0], ["to-end", this.atEnd], ["step-on", this.atEnd]]) {
      this.part(id).disabled = stuck;
    }
    if (this.atEnd) this.pause();
  }

  get atEnd() {
    return this.moment === this.episode.steps;
  }

  /** To the moment of a place in a strip. */
  goTo(event) {
    const strip = event.currentTarget.getBoundingClientRect();
    this.go(Math.round(((event.clientX - strip.left - THUMB / 2) / (strip.width - THUMB)) * this.episode.steps));
  }

  /** To the next moment (by = 1) or the one before (by = -1) that a paid step led to. */
  goPaid(by) {
    for (let moment = this.moment + by; moment >= 1 && moment <= this.episode.steps; moment += by) {
      if (this.episode.isPaid(moment - 1)) return this.go(moment);
    }
    return undefined;
  }

  play() {
    if (this.atEnd) this.go(0);
    this.part("play").textContent = "pause";
    this.part("step-facts").setAttribute("aria-live", "off");
    this.timer = setInterval(() => this.go(this.moment + 1), 1000 / Number(this.part("speed").value));
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.part("play").textContent = "play";
    this.part("step-facts").setAttribute("aria-live", "polite");
  }

  toggle() {
    if (this.timer === null) this.play();
    else this.pause();
  }

  // What the reader does

  listen() {
    const clicks = {
      "to-start": () => this.go(0),
      "to-end": () => this.go(this.episode.steps),
      "step-back": () => this.go(this.moment - 1),
      "step-on": () => this.go(this.moment + 1),
      "paid-before": () => this.goPaid(-1),
      "paid-after": () => this.goPaid(1),
    };
    for (const [id, act] of Object.entries(clicks)) {
      this.part(id).addEventListener("click", () => {
        this.pause();
        act();
      });
    }
    this.part("play").addEventListener("click", () => this.toggle());
    this.part("speed").addEventListener("change", () => {
      if (this.timer !== null) {
        this.pause();
        this.play();
      }
    });
    this.part("episode-choice").addEventListener("change", (event) => this.open(Number(event.target.value)));
    this.part("moment").addEventListener("input", (event) => {
      this.pause();
      this.go(Number(event.target.value));
    });
    this.part("pay-strip").addEventListener("click", (event) => this.goTo(event));
    for (const id of ["signal-strips", "share-strips"]) this.part(id).parentElement.addEventListener("toggle", () => this.drawStrips());
    document.addEventListener("keydown", (event) => this.press(event));
  }

  /** Keys work while the replay is on the screen and nothing else wants them. */
  press(event) {
    const slider = event.target === this.part("moment");
    const elsewhere = event.target.closest?.("select, input, textarea, summary, a, [role=region], svg");
    if (event.ctrlKey || event.altKey || event.metaKey || (elsewhere && !slider && !event.target.closest("#player svg"))) return;
    const player = this.part("player").getBoundingClientRect();
    if (!player.width || player.bottom < 0 || player.top > window.innerHeight) return;
    const focused = this.part("player").contains(event.target);
    const acts = {
      ArrowLeft: () => (event.shiftKey ? this.goPaid(-1) : this.go(this.moment - 1)),
      ArrowRight: () => (event.shiftKey ? this.goPaid(1) : this.go(this.moment + 1)),
      Home: focused ? () => this.go(0) : null,
      End: focused ? () => this.go(this.episode.steps) : null,
      " ": focused && event.target.tagName !== "BUTTON" ? () => this.toggle() : null,
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    if (event.key !== " ") this.pause();
    act();
  }

  // What is shown

  drawScene() {
    const canvas = this.part("env");
    const picture = this.part("picture");
    const { env, record } = this.episode;
    canvas.hidden = !env;
    this.part("own-view").parentElement.hidden = !env;
    picture.hidden = !record.pictures;
    canvas.parentElement.hidden = !env && !record.pictures;
    if (record.pictures) {
      picture.src = record.pictures.images[record.pictures.at[this.moment]];
      picture.alt = `The environment after ${this.moment} steps`;
    }
    if (env) this.drawGrid(canvas, env);
  }

  drawGrid(canvas, env) {
    const room = canvas.parentElement.clientWidth;
    if (!room) return;
    const dots = window.devicePixelRatio || 1;
    const edge = Math.max(6, Math.min(48, Math.floor(Math.min(room, 420) / Math.max(env.width, env.height))));
    drawEnv(canvas, env.at(this.moment), Math.round(edge * dots));
    canvas.style.width = `${canvas.width / dots}px`;
    canvas.style.height = `${canvas.height / dots}px`;
    const own = this.part("own-view");
    drawEnv(own, env.view(this.moment), Math.round(12 * dots));
    own.style.width = own.style.height = `${own.width / dots}px`;
    const [x, y, direction] = env.pose(this.moment);
    const looks = ["right", "down", "left", "up"][direction];
    const held = nameThing(env.hands[this.moment]);
    canvas.setAttribute("aria-label", `The environment after ${this.moment} steps: the agent at ${x}, ${y} looks ${looks} and carries ${held}`);
    own.setAttribute("aria-label", "What the agent sees");
    this.part("env-caption").textContent = `What the agent sees. It stands at (${x}, ${y}), looks ${looks} and carries ${held}.`;
  }

  toX(moment) {
    const width = this.part("pay-strip").clientWidth;
    return THUMB / 2 + ((width - THUMB) * moment) / this.episode.steps;
  }

  drawStrips() {
    this.drawStrip();
    const cuts = this.recorded.thresholds ?? {};
    this.signals.draw(this.episode.signals.map(([name, values]) => [name, values, 1, Object.entries(cuts[name] ?? {})]));
    this.shares.draw(this.episode.shares.map(([hole, sums]) => [hole ? `?${hole}` : "numbers", sums, 0, []]));
    this.drawMark();
  }

  /** A bar for each paid step, up or down from the line, above the slider's place for it. */
  drawStrip() {
    const strip = this.part("pay-strip");
    const middle = 22;
    const paid = this.episode.record.trace.filter((entry) => entry.pay || entry.kept !== undefined).map((entry) => entry.step);
    const most = Math.max(...paid.map((step) => Math.abs(this.episode.kept(step))), 1e-9);
    const bars = paid.map((step) => {
      const amount = this.episode.kept(step);
      const height = Math.max(2, (Math.abs(amount) / most) * (middle - 3));
      const kind = amount > 0 ? "gain" : amount < 0 ? "loss" : "none";
      return shape("rect", { class: kind, x: this.toX(step + 1) - 1.5, y: amount > 0 ? middle - height : middle, width: 3, height });
    });
    this.mark = shape("line", { class: "now", y1: 0, y2: 2 * middle });
    strip.replaceChildren(shape("line", { class: "level", x1: THUMB / 2, x2: strip.clientWidth - THUMB / 2, y1: middle, y2: middle }), ...bars, this.mark);
    strip.setAttribute("aria-label", `Paid at ${paid.length} of ${this.episode.steps} steps`);
  }

  drawMark() {
    this.signals.mark(this.moment);
    this.shares.mark(this.moment);
    this.mark?.setAttribute("x1", this.toX(this.moment));
    this.mark?.setAttribute("x2", this.toX(this.moment));
    for (const row of this.rows ?? []) row.button.removeAttribute("aria-current");
    const here = this.rows?.findLast((row) => row.moment <= this.moment);
    if (!here) return;
    if (here.moment === this.moment) here.button.setAttribute("aria-current", "step");
    const list = this.part("trace");
    const top = here.button.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + here.button.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 2;
    }
  }

  /** The steps at which something happened; what merely lasts (a target in view) is listed when it begins. */
  listTrace() {
    let before = { step: -2, events: [] };
    this.rows = [];
    for (const entry of this.episode.record.trace) {
      const lasts = entry.step === before.step + 1 && entry.events?.every((event) => before.events?.includes(event));
      before = entry;
      if (lasts && !entry.rule && !entry.refused) continue;
      const amount = this.episode.isPaid(entry.step) ? this.episode.kept(entry.step) : null;
      const button = element(
        "button",
        { type: "button", class: entry.rule ? "fired" : "quiet" },
        element("span", { class: "when" }, String(entry.step + 1)),
        element("span", { class: "what" }, (entry.events ?? []).join(", ") || "nothing"),
        element("span", { class: amountClass(amount) }, amount === null ? "" : signed(amount)),
      );
      const moment = entry.step + 1;
      button.addEventListener("click", () => {
        this.pause();
        this.go(moment);
      });
      this.rows.push({ moment, button });
    }
    this.part("trace").replaceChildren(...this.rows.map((row) => element("li", {}, row.button)));
    if (!this.rows.length) this.part("trace").append(element("li", { class: "note" }, "Nothing that the vocabulary has a word for."));
  }

  actionName(action) {
    return Array.isArray(action) ? `action ${action.join(" ")}` : this.recorded.actions[action];
  }

  tellStep() {
    const { episode, moment } = this;
    const step = moment - 1;
    const entry = episode.entries.get(step);
    this.part("step-title").textContent = moment
      ? `Step ${moment} of ${episode.steps}: ${this.actionName(episode.record.actions[step])}`
      : `Before the first of ${episode.steps} steps`;
    const pay = moment ? (entry?.pay?.value ?? 0) : null;
    this.part("step-pay").textContent = pay === null ? "–" : signed(pay);
    this.part("step-pay").className = amountClass(pay);
    this.part("paid-so-far").textContent = signed(episode.paid[moment]);
    this.part("return-so-far").textContent = number(episode.returns[moment]);
    this.part("step-facts").replaceChildren(...this.facts(step, entry).flatMap(([name, ...values]) => [element("dt", {}, name), ...values.map((line) => element("dd", {}, line))]));
  }

  facts(step, entry) {
    const { episode, recorded } = this;
    if (step < 0) return [["node", element("code", { class: "node-name" }, episode.nodes[0])]];
    return stepFacts(entry, {
      from: episode.nodes[step],
      to: episode.nodes[step + 1],
      rules: recorded.rules,
      counters: episode.counters[step],
      signals: episode.record.signals?.[step],
    });
  }
}

/** What there is to say of a step, as [name, lines...]. */
function stepFacts(entry, { from, to, rules, counters, signals }) {
  const code = (text, kind) => element("code", { class: kind }, text);
  const facts = [];
  if (entry?.events?.length) facts.push(["event", ...entry.events.map((event) => code(event, "event"))]);
  facts.push(["node", from === to ? code(from, "node-name") : element("span", {}, code(from, "node-name"), " → ", code(to, "node-name"))]);
  if (entry?.rule) {
    facts.push(["rule", element("span", {}, code(entry.rule, "rule-name"), ": ", code(rules[entry.rule].replace("->", "→")))]); // a line may end within ->
    if (entry.because) facts.push(["because", code(entry.because)]);
    facts.push(["pays", payEquation(entry.pay)]);
  } else {
    facts.push(["rule", "none fired: the machine idles and pays 0"]);
  }
  if (entry?.refused) {
    facts.push(["not fired", ...entry.refused.map(([rule, why]) => element("span", {}, code(rule, "rule-name"), ": ", code(why)))]);
  }
  if (entry?.repaid) {
    const changes = entry.repaid.map((change) => `step ${change.step + 1}: ${signed(change.before)} becomes ${signed(change.now)}`);
    facts.push(["hindsight", ...changes]);
  }
  if (entry?.repaid_at !== undefined) facts.push(["later", `hindsight at step ${entry.repaid_at + 1} made this ${signed(entry.kept)}`]);
  const counts = Object.entries(counters ?? {});
  if (counts.length) facts.push(["counters", element("span", { class: "counters" }, counts.map(([name, count]) => code(`#${name} ${count}`, "counter")))]);
  const read = Object.entries(signals ?? {});
  if (read.length) facts.push(["signals", read.map(([name, value]) => `${name} ${number(value, 4)}`).join(", ")]);
  return facts;
}

/** `?unlock - 2 * ?open = 0.5 - 2 * 0.1 = 0.3`, as far as there is anything to work out. */
function payEquation(pay) {
  const worked = pay.in_numbers === pay.written ? "" : ` = ${pay.in_numbers}`;
  return element("span", {}, element("code", { class: "hole" }, pay.written), element("code", {}, worked));
}

function amountClass(amount) {
  return `amount ${amount > 0 ? "gain" : amount < 0 ? "loss" : "none"}`;
}
