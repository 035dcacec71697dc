// A MiniGrid grid on a canvas, cell by cell in the unit square, with the shapes and colours of MiniGrid's own renderer.

const RGB = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [112, 39, 195], [255, 255, 0], [100, 100, 100]];
const COLOUR_NAMES = ["red", "green", "blue", "purple", "yellow", "grey"];
const KIND_NAMES = ["nothing", "nothing", "wall", "floor", "door", "key", "ball", "box", "goal", "lava"];
const LINE = 0.031; // at the upper and left edge of a cell

function ink(colour, strength = 1) {
  return `rgb(${RGB[colour].map((part) => Math.round(part * strength)).join(" ")})`;
}

function fillBox(brush, left, right, top, bottom, style) {
  brush.fillStyle = style;
  brush.fillRect(left, top, right - left, bottom - top);
}

function fillDisc(brush, x, y, radius, style) {
  brush.fillStyle = style;
  brush.beginPath();
  brush.arc(x, y, radius, 0, 2 * Math.PI);
  brush.fill();
}

function drawDoor(brush, colour, state) {
  const own = ink(colour);
  if (state === 0) { // open
    fillBox(brush, 0.88, 1, 0, 1, own);
    fillBox(brush, 0.92, 0.96, 0.04, 0.96, "black");
  } else if (state === 2) { // locked
    fillBox(brush, 0, 1, 0, 1, own);
    fillBox(brush, 0.06, 0.94, 0.06, 0.94, ink(colour, 0.45));
    fillBox(brush, 0.52, 0.75, 0.5, 0.56, own);
  } else {
    fillBox(brush, 0, 1, 0, 1, own);
    fillBox(brush, 0.04, 0.96, 0.04, 0.96, "black");
    fillBox(brush, 0.08, 0.92, 0.08, 0.92, own);
    fillBox(brush, 0.12, 0.88, 0.12, 0.88, "black");
    fillDisc(brush, 0.75, 0.5, 0.08, own);
  }
}

function drawKey(brush, colour) {
  const own = ink(colour);
  fillBox(brush, 0.5, 0.63, 0.31, 0.88, own);
  fillBox(brush, 0.38, 0.5, 0.59, 0.66, own);
  fillBox(brush, 0.38, 0.5, 0.81, 0.88, own);
  fillDisc(brush, 0.56, 0.28, 0.19, own);
  fillDisc(brush, 0.56, 0.28, 0.064, "black");
}

function drawBoxThing(brush, colour) {
  fillBox(brush, 0.12, 0.88, 0.12, 0.88, ink(colour));
  fillBox(brush, 0.18, 0.82, 0.18, 0.82, "black");
  fillBox(brush, 0.16, 0.84, 0.47, 0.53, ink(colour));
}

function drawLava(brush) {
  fillBox(brush, 0, 1, 0, 1, "rgb(255 128 0)");
  brush.strokeStyle = "black";
  brush.lineWidth = 0.06;
  brush.lineCap = "round";
  for (const lift of [0, 0.2, 0.4]) {
    brush.beginPath();
    [0.1, 0.3, 0.5, 0.7, 0.9].forEach((x, n) => brush.lineTo(x, (n % 2 ? 0.4 : 0.3) + lift));
    brush.stroke();
  }
}

const DRAWN = { // by type
  2: (brush, colour) => fillBox(brush, 0, 1, 0, 1, ink(colour)),
  3: (brush, colour) => fillBox(brush, LINE, 1, LINE, 1, ink(colour, 0.5)),
  4: drawDoor,
  5: drawKey,
  6: (brush, colour) => fillDisc(brush, 0.5, 0.5, 0.31, ink(colour)),
  7: drawBoxThing,
  8: (brush, colour) => fillBox(brush, 0, 1, 0, 1, ink(colour)),
  9: drawLava,
};

function drawAgent(brush, direction) {
  brush.translate(0.5, 0.5);
  brush.rotate((direction * Math.PI) / 2);
  brush.translate(-0.5, -0.5);
  brush.fillStyle = "red";
  brush.beginPath();
  brush.moveTo(0.12, 0.19);
  brush.lineTo(0.87, 0.5);
  brush.lineTo(0.12, 0.81);
  brush.fill();
}

/** env: {width, height, cell(x, y) -> [type, colour, state], pose [x, y, direction], seen(x, y)}; edge: pixels of a cell. */
function drawEnv(canvas, env, edge) {
  canvas.width = env.width * edge;
  canvas.height = env.height * edge;
  const brush = canvas.getContext("2d");
  for (let x = 0; x < env.width; x += 1) {
    for (let y = 0; y < env.height; y += 1) {
      const [kind, colour, state] = env.cell(x, y);
      brush.save();
      brush.translate(x * edge, y * edge);
      brush.scale(edge, edge);
      brush.beginPath();
      brush.rect(0, 0, 1, 1);
      brush.clip();
      fillBox(brush, 0, 1, 0, 1, "black");
      fillBox(brush, 0, LINE, 0, 1, ink(5));
      fillBox(brush, 0, 1, 0, LINE, ink(5));
      brush.save();
      DRAWN[kind]?.(brush, colour, state);
      brush.restore();
      if (x === env.pose[0] && y === env.pose[1]) {
        brush.save();
        drawAgent(brush, env.pose[2]);
        brush.restore();
      }
      if (env.seen(x, y)) fillBox(brush, 0, 1, 0, 1, "rgb(255 255 255 / 0.3)");
      brush.restore();
    }
  }
}

/** `a yellow key` for a cell. */
function nameThing([kind, colour]) {
  return kind < 2 ? "nothing" : `a ${COLOUR_NAMES[colour]} ${KIND_NAMES[kind]}`;
}
