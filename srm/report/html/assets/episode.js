// One recorded episode, unfolded: the environment, the machine and what was paid at each of its T + 1 moments.
// Moment m is after m steps; the step that led to it has index m - 1.

class Episode {
  constructor(record, start) {
    this.record = record;
    this.steps = record.actions.length;
    this.entries = new Map(record.trace.map((entry) => [entry.step, entry]));
    this.nodes = this.unfold(start, (node, step) => this.entries.get(step)?.to ?? node);
    this.counters = record.counters.length ? this.unfoldCounters() : [];
    this.unfoldPay();
    if (record.grid) this.env = new GridEnv(record.grid, this.steps);
  }

  /** What holds at each moment, from what held before and the step between. */
  unfold(first, next) {
    const states = [first];
    for (let step = 0; step < this.steps; step += 1) states.push(next(states[step], step));
    return states;
  }

  /** The counters as each step read them. */
  unfoldCounters() {
    const changes = new Map(this.record.counters);
    const states = [];
    for (let step = 0; step < this.steps; step += 1) {
      const change = changes.get(step);
      states.push(change ? { ...states[step - 1], ...change } : states[step - 1]);
    }
    return states;
  }

  /** What was paid up to each moment, as it was known then: hindsight changes it later. */
  unfoldPay() {
    const rewards = new Map(this.record.rewards);
    this.returns = this.unfold(0, (sum, step) => sum + (rewards.get(step) ?? 0));
    this.paid = this.unfold(0, (sum, step) => {
      const entry = this.entries.get(step);
      const changed = (entry?.repaid ?? []).reduce((change, repaid) => change + repaid.now - repaid.before, 0);
      return sum + (entry?.pay?.value ?? 0) + changed;
    });
  }

  /** What each signal read at each step, as [name, values]. */
  get signals() {
    const read = this.record.signals ?? [];
    return Object.keys(read[0] ?? {}).map((name) => [name, read.map((step) => step[name])]);
  }

  /** What each hole had paid up to each moment, as [name, sums]; "" is what no hole is in. Hindsight is not among it. */
  get shares() {
    const paid = (hole, step) => this.entries.get(step)?.pay?.shares[hole] ?? 0;
    const holes = new Set([...this.entries.values()].flatMap((entry) => Object.keys(entry.pay?.shares ?? {})));
    return [...holes].map((hole) => [hole, this.unfold(0, (sum, step) => sum + paid(hole, step))]);
  }

  /** What the step was paid in the end, hindsight included. */
  kept(step) {
    const entry = this.entries.get(step);
    return entry?.kept ?? entry?.pay?.value ?? 0;
  }

  /** Whether the step was paid, or changed what others were paid. */
  isPaid(step) {
    const entry = this.entries.get(step);
    return Boolean(entry?.pay || entry?.repaid || entry?.kept);
  }

  get name() {
    const kind = this.record.kind === "demonstration" ? "Demonstration" : "Policy episode";
    return `${kind} ${this.record.number}`;
  }

  get outcome() {
    if (this.record.solved ?? (this.record.terminated && this.record.return > 0)) return "solved";
    return this.record.terminated ? "ended unsolved" : "time ran out";
  }
}

/** The cells of a MiniGrid environment at every moment; moments between which nothing changed share theirs. */
class GridEnv {
  constructor(record, steps) {
    Object.assign(this, { width: record.width, height: record.height, poses: record.poses, edge: record.view });
    this.grids = [bytesOf(record.cells)];
    this.hands = [[0, 0, 0]];
    this.visible = bytesOf(record.seen);
    this.row = Math.ceil((record.view * record.view) / 8); // bytes of a moment
    const changes = groupedByFirst(record.changes);
    const carried = groupedByFirst(record.carried);
    if (carried.has(0)) this.hands[0] = carried.get(0)[0];
    for (let moment = 1; moment <= steps; moment += 1) {
      let grid = this.grids[moment - 1];
      if (changes.has(moment)) {
        grid = grid.slice();
        for (const [x, y, ...cell] of changes.get(moment)) grid.set(cell, (x * this.height + y) * 3);
      }
      this.grids.push(grid);
      this.hands.push(carried.has(moment) ? carried.get(moment)[0] : this.hands[moment - 1]);
    }
  }

  pose(moment) {
    return this.poses.slice(moment * 3, moment * 3 + 3);
  }

  cell(moment, x, y) {
    const from = (x * this.height + y) * 3;
    return this.grids[moment].subarray(from, from + 3);
  }

  /** Whether the agent sees a cell of its view. */
  sees(moment, column, row) {
    const bit = column * this.edge + row;
    return Boolean((this.visible[moment * this.row + (bit >> 3)] >> (7 - (bit & 7))) & 1);
  }

  /** The environment as `drawEnv` takes it, with the cells that the agent sees. */
  at(moment) {
    const pose = this.pose(moment);
    const seen = (x, y) => {
      const [column, row] = this.toView(pose, x, y);
      const inside = column >= 0 && column < this.edge && row >= 0 && row < this.edge;
      return inside && this.sees(moment, column, row);
    };
    return { width: this.width, height: this.height, pose, seen, cell: (x, y) => this.cell(moment, x, y) };
  }

  /** What the agent sees, as a grid of its own: it stands in the middle of the lowest row and looks up. */
  view(moment) {
    const pose = this.pose(moment);
    const middle = Math.floor(this.edge / 2);
    const cell = (column, row) => {
      if (!this.sees(moment, column, row)) return [0, 0, 0];
      if (column === middle && row === this.edge - 1) return this.hands[moment];
      const [x, y] = this.fromView(pose, column, row);
      const inside = x >= 0 && x < this.width && y >= 0 && y < this.height;
      return inside ? this.cell(moment, x, y) : [2, 5, 0];
    };
    const seen = (column, row) => this.sees(moment, column, row);
    return { width: this.edge, height: this.edge, pose: [middle, this.edge - 1, 3], seen, cell };
  }

  toView([x, y, direction], cellX, cellY) {
    const [ahead, right] = axesOf(direction);
    const away = [cellX - x, cellY - y];
    const along = (axis) => axis[0] * away[0] + axis[1] * away[1];
    return [Math.floor(this.edge / 2) + along(right), this.edge - 1 - along(ahead)];
  }

  fromView([x, y, direction], column, row) {
    const [ahead, right] = axesOf(direction);
    const far = this.edge - 1 - row;
    const aside = column - Math.floor(this.edge / 2);
    return [x + ahead[0] * far + right[0] * aside, y + ahead[1] * far + right[1] * aside];
  }
}

/** Ahead and to the right of an agent that looks in a direction; y grows downwards. */
function axesOf(direction) {
  const ahead = [[1, 0], [0, 1], [-1, 0], [0, -1]][direction];
  return [ahead, [-ahead[1], ahead[0]]];
}

function groupedByFirst(rows) {
  const groups = new Map();
  for (const [key, ...rest] of rows) groups.set(key, [...(groups.get(key) ?? []), rest]);
  return groups;
}
