// Elements, data and numbers: what every other script uses.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; attributes that are null or false are left out. */
function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for a part of an SVG picture. */
function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** The data that the page carries under a name; null if it has none. */
function dataNamed(name) {
  const holder = document.getElementById(`data-${name}`);
  return holder ? JSON.parse(holder.textContent) : null;
}

/** Bytes of base64 text. */
function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** 0.314, −2, 12.5; a dash where there is none. */
function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  const text = String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
}

/** Three decimals at most, for numbers that stand beside their spread. */
function fixed(value) {
  return number(Number(value.toFixed(3)), 6);
}

/** +0.3, −0.5, 0. */
function signed(value) {
  return (value > 0 ? "+" : "") + number(value);
}

/** 950, 12 k, 1.2 M: for axes and large counts. */
function large(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${number(value / 1e6)} M`;
  return size >= 1e4 ? `${number(value / 1e3)} k` : number(value, 4);
}
