// A line chart of our own: lines over one x, bands, a legend whose entries switch lines, and a cursor that reads values off.

const MARGIN = { left: 48, right: 10, top: 10, bottom: 24 };

/** Where several charts over the same x are being read; null: nowhere. */
class Cursor {
  constructor() {
    this.index = null;
    this.followers = [];
  }

  move(index) {
    if (index === this.index) return;
    this.index = index;
    for (const follow of this.followers) follow();
  }
}

/** Which lines are switched off, by name, in several charts that have them. */
class Switches {
  constructor() {
    this.off = new Set();
    this.followers = [];
  }

  flip(name) {
    if (!this.off.delete(name)) this.off.add(name);
    for (const follow of this.followers) follow();
  }
}

/** Round numbers that cut a range into about so many parts. */
function ticks(low, high, parts) {
  const rough = (high - low) / Math.max(parts, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const size = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough * 0.999);
  const found = [];
  for (let n = Math.ceil(low / size - 1e-9); n * size <= high + size * 1e-9; n += 1) found.push(n * size);
  return found;
}

/** The smallest and largest of numbers, those that are unknown left out. */
function extent(...columns) {
  const known = columns.flat().filter((value) => value !== null && value !== undefined);
  return known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
}

/** A path through the points that are known; it breaks where one is not. */
function pathThrough(points) {
  let path = "";
  let drawing = false;
  for (const [x, y] of points) {
    if (y === null) {
      drawing = false;
    } else {
      path += `${drawing ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
      drawing = true;
    }
  }
  return path;
}

/**
 * x [N], and lines of {name, y [N], low [N], high [N], colour}; low and high make a band and may be left out, and so may
 * `dash` (as SVG has it), `counted` [N] of how many each value is (drawn dotted where it is less than `of`), and `marks` of [x, y].
 * `range` fixes the y axis, `goal` marks a value to reach, `rest` is the place that is read where the cursor is nowhere, `height` is in pixels.
 */
class Chart {
  constructor(host, { x, lines, unit, height = 220, range = null, goal = null, rest = null, title = null, cursor = new Cursor(), switches = new Switches() }) {
    Object.assign(this, { x, lines, unit, height, range, goal, rest, cursor, switches });
    this.buttons = new Map();
    this.legend = element("div", { class: "legend" });
    this.readings = lines.map((line) => this.addToLegend(line));
    this.where = element("span", { class: "where" });
    this.legend.append(this.where);
    this.plot = element("div", { class: "plot" });
    this.host = element("figure", { class: "chart" }, title ? element("h3", {}, title) : null, this.legend, this.plot);
    host.append(this.host);
    cursor.followers.push(() => this.follow());
    switches.followers.push(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.plot);
    this.draw();
  }

  addToLegend(line) {
    const reading = element("b", { class: "reading" });
    const swatch = element("span", { class: "swatch", style: `background:var(${line.colour})`, "aria-hidden": "true" });
    if (this.lines.length === 1) {
      this.legend.append(element("span", { class: "entry" }, swatch, line.name, " ", reading));
      return reading;
    }
    const button = element("button", { type: "button", class: "entry", "aria-pressed": "true" }, swatch, line.name, " ", reading);
    button.addEventListener("click", () => this.switches.flip(line.name));
    this.buttons.set(line, button);
    this.legend.append(button);
    return reading;
  }

  get shown() {
    return this.lines.filter((line) => !this.switches.off.has(line.name));
  }

  draw() {
    for (const [line, button] of this.buttons) button.setAttribute("aria-pressed", String(this.shown.includes(line)));
    const width = this.plot.clientWidth;
    if (width === 0) return; // inside something that is folded up
    this.width = width;
    this.scale();
    this.mark = shape("line", { class: "cursor", y1: MARGIN.top, y2: this.height - MARGIN.bottom, visibility: "hidden" });
    this.dots = this.lines.map((line) => shape("circle", { r: 3.5, style: `fill:var(${line.colour})`, visibility: "hidden" }));
    const picture = shape(
      "svg",
      { viewBox: `0 0 ${width} ${this.height}`, width, height: this.height, role: "img", tabindex: "0", "aria-label": this.describe() },
      this.drawAxes(),
      this.shown.map((line) => this.drawLine(line)),
      this.mark,
      this.dots,
    );
    this.listen(picture);
    this.plot.replaceChildren(picture);
    this.follow();
  }

  scale() {
    let [low, high] = this.range ?? extent(...this.shown.flatMap((line) => [line.y, line.low ?? [], line.high ?? []]), this.goal ?? null);
    if (high - low < 1e-9) [low, high] = [low - 0.5, high + 0.5];
    const spare = this.range ? 0 : (high - low) * 0.06;
    const last = extent(this.x)[1];
    const across = this.width - MARGIN.left - MARGIN.right;
    const up = this.height - MARGIN.top - MARGIN.bottom;
    this.low = low - spare;
    this.high = high + spare;
    this.first = 0;
    this.last = Math.max(last, 1);
    this.toX = (value) => MARGIN.left + (across * (value - this.first)) / (this.last - this.first);
    this.toY = (value) => (value === null ? null : MARGIN.top + up * (1 - (value - this.low) / (this.high - this.low)));
  }

  drawAxes() {
    const axes = shape("g", { class: "axes" });
    for (const value of ticks(this.low, this.high, this.height / 38)) {
      const y = this.toY(value);
      const kind = Math.abs(value) < 1e-9 ? "zero" : "grid";
      axes.append(shape("line", { class: kind, x1: MARGIN.left, x2: this.width - MARGIN.right, y1: y, y2: y }));
      axes.append(shape("text", { x: MARGIN.left - 6, y: y + 3.5, "text-anchor": "end" }, number(value)));
    }
    for (const value of ticks(this.first, this.last, this.width / 110)) {
      const x = this.toX(value);
      const unit = value === 0 ? ` ${this.unit}` : "";
      const anchor = x > this.width - 30 ? "end" : value === 0 ? "start" : "middle";
      axes.append(shape("text", { x, y: this.height - 7, "text-anchor": anchor }, large(value) + unit));
    }
    if (this.goal !== null) {
      const y = this.toY(this.goal);
      axes.append(shape("line", { class: "goal", x1: MARGIN.left, x2: this.width - MARGIN.right, y1: y, y2: y }));
    }
    return axes;
  }

  drawLine(line) {
    const group = shape("g", { style: `color:var(${line.colour})` });
    if (line.low && line.high) {
      const known = this.x.map((_, n) => n).filter((n) => line.low[n] !== null && line.high[n] !== null);
      const there = known.map((n) => `${this.toX(this.x[n]).toFixed(1)} ${this.toY(line.high[n]).toFixed(1)}`);
      const back = known.map((n) => `${this.toX(this.x[n]).toFixed(1)} ${this.toY(line.low[n]).toFixed(1)}`).reverse();
      if (known.length) group.append(shape("path", { class: "band", d: `M${[...there, ...back].join("L")}Z` }));
    }
    const whole = (n) => !line.counted || line.counted[n] === line.of;
    const through = (chosen) => pathThrough(this.x.map((value, n) => [this.toX(value), chosen(n) ? this.toY(line.y[n]) : null]));
    group.append(shape("path", { class: "line", "stroke-dasharray": line.dash, d: through(whole) }));
    const beside = (n) => !whole(n) || (n > 0 && !whole(n - 1)) || (n + 1 < this.x.length && !whole(n + 1));
    if (line.counted?.some((_, n) => !whole(n))) group.append(shape("path", { class: "line partial", d: through(beside) }));
    const known = (n) => (line.y[n] ?? null) !== null;
    const alone = this.x.flatMap((value, n) => (known(n) && !known(n - 1) && !known(n + 1) ? [[value, line.y[n]]] : [])); // no line leads there
    for (const [x, y] of [...alone, ...(line.marks ?? [])]) group.append(shape("circle", { class: "mark", r: 3, cx: this.toX(x), cy: this.toY(y) }));
    return group;
  }

  describe() {
    const told = this.lines.map((line) => `${line.name} ends at ${number(line.y[this.lastKnown(line)] ?? null)}`);
    return `${told.join(", ")}, after ${large(this.last)} ${this.unit}. Arrow keys read values off.`;
  }

  lastKnown(line) {
    return line.y.findLastIndex((value) => value !== null);
  }

  listen(picture) {
    const nearest = (event) => {
      const x = ((event.clientX - picture.getBoundingClientRect().left) * this.width) / picture.clientWidth;
      let best = 0;
      this.x.forEach((value, n) => {
        if (Math.abs(this.toX(value) - x) < Math.abs(this.toX(this.x[best]) - x)) best = n;
      });
      return best;
    };
    picture.addEventListener("pointermove", (event) => this.cursor.move(nearest(event)));
    picture.addEventListener("pointerdown", (event) => this.cursor.move(nearest(event)));
    picture.addEventListener("pointerleave", () => this.cursor.move(null));
    picture.addEventListener("blur", () => this.cursor.move(null));
    picture.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      const from = this.cursor.index ?? (by > 0 ? -1 : this.x.length);
      this.cursor.move(Math.min(Math.max(from + by, 0), this.x.length - 1));
    });
  }

  /** The interval of a value that is of several, and of how many where it is not of all. */
  between(line, at) {
    if (!line.counted) return "";
    const some = line.counted[at] > 0 && line.counted[at] < line.of ? ` (${line.counted[at]} of ${line.of} seeds)` : "";
    return (line.low[at] ?? null) === null ? some : ` [${number(line.low[at])}, ${number(line.high[at])}]${some}`;
  }

  /** Shows the values at the cursor or, where there is none, at rest or the last ones. */
  follow() {
    if (!this.mark) return;
    const index = this.cursor.index ?? this.rest;
    this.where.textContent = index === null ? "" : `at ${large(this.x[index])} ${this.unit}`;
    this.mark.setAttribute("visibility", index === null ? "hidden" : "visible");
    if (index !== null) {
      this.mark.setAttribute("x1", this.toX(this.x[index]));
      this.mark.setAttribute("x2", this.toX(this.x[index]));
    }
    this.lines.forEach((line, n) => {
      const at = index ?? this.lastKnown(line);
      const value = line.y[at] ?? null;
      const spread = line.spread?.[at] ?? null;
      this.readings[n].textContent = spread === null ? number(value) + this.between(line, at) : `${fixed(value)} ± ${fixed(spread)}`;
      const visible = index !== null && value !== null && this.shown.includes(line);
      this.dots[n].setAttribute("visibility", visible ? "visible" : "hidden");
      if (visible) {
        this.dots[n].setAttribute("cx", this.toX(this.x[index]));
        this.dots[n].setAttribute("cy", this.toY(value));
      }
    });
  }
}
