// The picture of the machine, cut down to its cards and arrows, lighting up where the machine stands and what it did.

class MachineDrawing {
  /** `smallest` is the scale below which it scrolls. */
  constructor(host, original, smallest = 0.85) {
    this.smallest = smallest;
    this.picture = original.cloneNode(true);
    for (const part of this.picture.querySelectorAll(".panel, .canvas, title, desc")) part.remove();
    for (const child of [...this.picture.children]) if (child.tagName === "text") child.remove();
    this.picture.removeAttribute("aria-labelledby");
    this.picture.setAttribute("aria-label", "The machine; its current node and the rule that fired are lit");
    this.host = host;
    host.append(this.picture);
    const observer = new ResizeObserver(() => (this.picture.isConnected ? this.crop() : observer.disconnect()));
    observer.observe(host);
  }

  /** Only what is left of the picture; it must be on the screen to be measured. */
  crop() {
    const boxes = [...this.picture.querySelectorAll(".node, .arrow, .start-mark")].map((part) => part.getBBox());
    const left = Math.min(...boxes.map((box) => box.x)) - 8;
    const top = Math.min(...boxes.map((box) => box.y)) - 8;
    const width = Math.max(...boxes.map((box) => box.x + box.width)) + 8 - left;
    const height = Math.max(...boxes.map((box) => box.y + box.height)) + 8 - top;
    this.picture.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
    // As wide as there is room, but never so small that it cannot be read: then it scrolls.
    const shown = Math.min(Math.max(this.host.clientWidth, width * this.smallest), width);
    this.picture.setAttribute("width", shown);
    this.picture.setAttribute("height", (shown * height) / width);
    this.reveal();
  }

  show(node, rule) {
    for (const part of this.picture.querySelectorAll(".active")) part.classList.remove("active");
    for (const part of this.picture.querySelectorAll("[data-node], [data-rule]")) {
      if (part.dataset.node === node || (rule && part.dataset.rule === rule)) part.classList.add("active");
    }
    this.reveal();
  }

  /** Brings the rule that fired, or else the current node, into the frame, without moving the page. */
  reveal() {
    const part = this.picture.querySelector(".rule.active") ?? this.picture.querySelector(".node.active");
    if (!part) return;
    const own = part.getBoundingClientRect();
    const frame = this.host.getBoundingClientRect();
    if (own.left < frame.left || own.right > frame.right) {
      this.host.scrollLeft += own.left - frame.left - Math.max(8, (frame.width - own.width) / 2);
    }
    if (own.top < frame.top || (own.bottom > frame.bottom && own.top > frame.top + 60)) {
      this.host.scrollTop += own.top - frame.top - Math.max(8, (frame.height - own.height) / 2);
    }
  }
}
