// What is known of holes: an interval for each, over what it was before.

import { element, number } from "./report.js";

/** Bars into a host; holes are {name, low, high, before [low, high], value, set_by}, of which the last two may be left out. */
export function listKnown(host, holes) {
  const low = Math.min(0, ...holes.map((hole) => hole.before[0]));
  const high = Math.max(0, ...holes.map((hole) => hole.before[1]));
  const place = (value) => `${(100 * (Math.min(Math.max(value, low), high) - low)) / (high - low || 1)}%`;
  const bar = (kind, from, to) => {
    const made = element("span", { class: kind });
    made.style.left = place(from);
    made.style.right = `calc(100% - ${place(to)})`;
    return made;
  };
  host.replaceChildren(...holes.map((hole) => {
    const zero = element("span", { class: "at-zero" });
    zero.style.left = place(0);
    const track = element("span", { class: "track" }, bar("before", ...hole.before), bar("now", hole.low, hole.high), zero);
    const pays = hole.value === undefined ? "" : `pays ${number(hole.value)}, `;
    const range = `${pays}${number(hole.low, 2)} … ${number(hole.high, 2)}`;
    return element("div", { class: "slider", title: hole.set_by ? `set by ${hole.set_by}` : null }, element("code", { class: "hole" }, `?${hole.name}`), track, element("span", { class: "range" }, range));
  }));
}
