// The charts of a learning run, from the columns of its log.

const KNOWN_COLUMNS = ["round", "frames", "seconds", "return", "success", "length", "episodes", "paid"];

function drawLearning(host, log, goal) {
  const cursor = new Cursor();
  const shared = { x: log.frames, unit: "frames", cursor };
  const lines = [{ name: "task return", y: log.return, colour: "--return" }];
  if (log.success) lines.push({ name: "share of episodes solved", y: log.success, colour: "--success" });
  const [low, high] = extent(log.return, log.success ?? []);
  new Chart(host, { ...shared, lines, goal, height: 260, range: [Math.min(0, low), Math.max(1, high)] });
  if (log.paid) {
    new Chart(host, { ...shared, lines: [{ name: "machine's pay, a step", y: log.paid, colour: "--paid" }], height: 130 });
  }
}

function drawHoles(host, log) {
  const cursor = new Cursor();
  const names = Object.keys(log).filter((name) => name.startsWith("hole.")).map((name) => name.slice(5));
  const lines = names.map((name) => {
    const y = log[`hole.${name}`];
    const spread = log[`spread.${name}`] ?? y.map(() => null);
    const beside = (sign) => y.map((value, n) => (value === null || spread[n] === null ? null : value + sign * spread[n]));
    return { name: `?${name}`, y, spread, low: beside(-1), high: beside(1), colour: "--hole" };
  });
  const [low, high] = extent([0], ...lines.flatMap((line) => [line.low, line.high, line.y]));
  const spare = (high - low || 1) * 0.05;
  for (const line of lines) {
    new Chart(host, { x: log.frames, unit: "frames", lines: [line], height: 150, range: [low - spare, high + spare], cursor });
  }
  if (lines.length === 0) host.append(element("p", { class: "note" }, "This machine has no holes."));
}

function drawRules(host, log) {
  const cursor = new Cursor();
  for (const column of Object.keys(log).filter((name) => /^rule\..*\.rate$/.test(name))) {
    if (!log[column].some((value) => value !== null)) continue; // no episode has ended yet
    const [, high] = extent([1], log[column]);
    const line = { name: column.slice("rule.".length, -".rate".length), y: log[column], colour: "--event" };
    new Chart(host, { x: log.frames, unit: "frames", lines: [line], height: 120, range: [0, high], cursor });
  }
}

function drawLosses(host, log) {
  const cursor = new Cursor();
  const rest = (name) => !KNOWN_COLUMNS.includes(name) && !/^(hole|spread|rule)\./.test(name);
  for (const name of [...Object.keys(log).filter(rest), "length"]) {
    if (!log[name]?.some((value) => value !== null)) continue;
    const title = name === "length" ? "steps an episode" : name;
    new Chart(host, { x: log.frames, unit: "frames", lines: [{ name: title, y: log[name], colour: "--plain" }], height: 120, cursor });
  }
}
