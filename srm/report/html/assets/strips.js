// What an episode's signals read and what each hole has paid, over its steps: one strip each, above one another, in line with the slider.

const STRIP = { height: 40, edge: 4 }; // pixels

class Strips {
  /** `at`: where the strips go; `toX`: the place of a moment; `go`: what a click does with the place in the strip. */
  constructor(at, toX, go) {
    Object.assign(this, { at, toX, go, shown: [] });
  }

  /** One strip for each of [name, values at moments from `first` on, cuts [[text, number]]]. */
  draw(rows) {
    this.shown = rows.map(([name, values, first, cuts]) => this.strip(name, values, first, cuts));
    this.at.replaceChildren(...this.shown.map((row) => row.figure));
    this.at.parentElement.hidden = !rows.length;
  }

  strip(name, values, first, cuts) {
    const [low, high] = extent(values, cuts.map(([, level]) => level));
    const toY = (value) => {
      const share = high > low ? (value - low) / (high - low) : 0.5;
      return STRIP.height - STRIP.edge - share * (STRIP.height - 2 * STRIP.edge);
    };
    const width = this.at.clientWidth;
    const now = shape("line", { class: "now", y1: 0, y2: STRIP.height });
    const dot = shape("circle", { class: "dot", r: 3 });
    const path = pathThrough(values.map((value, index) => [this.toX(index + first), toY(value)]));
    const levels = cuts.map(([text, level]) =>
      shape("line", { class: "cut", x1: 0, x2: width, y1: toY(level), y2: toY(level) }, shape("title", {}, `${text}: ${number(level, 4)}`)),
    );
    const svg = shape("svg", { height: STRIP.height, role: "img" }, ...levels, shape("path", { class: "line", d: path }), now, dot);
    svg.setAttribute("aria-label", `${name}, from ${number(low, 4)} to ${number(high, 4)}`);
    svg.addEventListener("click", (event) => this.go(event));
    const value = element("b", {});
    const told = cuts.length ? ` (${cuts.map(([text, level]) => `${text}: ${number(level, 4)}`).join("; ")})` : "";
    const figure = element("figure", { class: "strip" }, element("figcaption", {}, `${name} `, value, element("span", {}, told)), svg);
    return { figure, values, first, now, dot, value, toY };
  }

  /** What was read by the step that led to this moment. */
  mark(moment) {
    for (const { values, first, now, dot, value, toY } of this.shown) {
      const read = values[moment - first];
      const x = this.toX(moment);
      now.setAttribute("x1", x);
      now.setAttribute("x2", x);
      dot.setAttribute("visibility", read === undefined ? "hidden" : "visible");
      if (read !== undefined) {
        dot.setAttribute("cx", x);
        dot.setAttribute("cy", toY(read));
      }
      value.textContent = read === undefined ? "–" : number(read, 4);
    }
  }
}
