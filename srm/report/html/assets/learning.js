// Starts the page of a learning run.

function start() {
  const log = dataNamed("log");
  drawLearning(document.getElementById("curve-charts"), log, dataNamed("goal"));
  drawHoles(document.getElementById("hole-charts"), log);
  const rules = document.getElementById("rule-charts");
  if (rules) drawRules(rules, log);
  drawLosses(document.getElementById("loss-charts"), log);
  offerChoices();
  const recorded = dataNamed("episodes");
  if (!recorded) return;
  const original = document.querySelector("#machine svg.srm-machine");
  const drawing = new MachineDrawing(document.getElementById("replay-drawing"), original);
  const replay = new Replay(recorded, drawing);
  for (const link of document.querySelectorAll("[data-episode]")) {
    link.addEventListener("click", () => replay.open(Number(link.dataset.episode)));
  }
}

start();
