// Starts the page that compares curves.

function drawPanels(host, panels, axis, switches) {
  for (const panel of panels) {
    const { x, unit } = panel[axis];
    const lines = panel.curves.map((curve) => ({ ...curve, ...curve[axis] }));
    const [low, high] = extent(...lines.flatMap((line) => [line.low, line.high, line.y]));
    const range = [Math.min(0, low), Math.max(1, high)];
    const title = panels.length > 1 ? panel.title : null;
    new Chart(host, { x, unit, lines, title, range, height: 300, goal: panel.goal, switches });
  }
}

function drawShares(host, panels, switches) {
  for (const panel of panels) {
    const title = panels.length > 1 ? panel.title : null;
    new Chart(host, { ...panel.frames, lines: panel.shares, title, range: [0, 1], height: 220, switches });
  }
}

function startComparison() {
  const panels = dataNamed("panels");
  const profiles = dataNamed("profiles");
  const switches = new Switches();
  for (const axis of ["frames", "time"]) drawPanels(document.getElementById(`by-${axis}`), panels, axis, switches);
  drawShares(document.getElementById("share-charts"), panels, switches);
  if (profiles.lines.length) {
    new Chart(document.getElementById("profile-chart"), { ...profiles, unit: "final return", range: [0, 1], height: 260, switches });
  }
  offerChoices();
}

startComparison();
