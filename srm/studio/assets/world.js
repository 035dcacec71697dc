// A scene of an environment on the page: MiniGrid's cells drawn here, any other environment as the picture it rendered.

import { GridEnv, drawEnv, nameThing } from "./report.js";

const LOOKS = ["right", "down", "left", "up"];

/** Paints a scene into a figure with a canvas and an img; `most` is the edge in pixels that it may have. Returns what is seen, in words. */
export function paint(figure, scene, moment = 0, most = 560, steps = 0) {
  const canvas = figure.querySelector("canvas");
  const picture = figure.querySelector("img");
  canvas.hidden = !scene.grid;
  picture.hidden = !scene.pictures;
  if (scene.pictures) {
    picture.src = scene.pictures.images[scene.pictures.at[moment]];
    picture.alt = "The environment";
    return "";
  }
  if (!scene.grid) return "This environment cannot be shown.";
  scene.env ??= new GridEnv(scene.grid, steps);
  const { env } = scene;
  const dots = window.devicePixelRatio || 1;
  const room = Math.min(figure.clientWidth || most, most);
  const edge = Math.max(6, Math.min(64, Math.floor(room / Math.max(env.width, env.height))));
  drawEnv(canvas, env.at(moment), Math.round(edge * dots));
  canvas.style.width = `${canvas.width / dots}px`;
  canvas.style.height = `${canvas.height / dots}px`;
  const [x, y, direction] = env.pose(moment);
  const words = `The agent is at (${x}, ${y}), looks ${LOOKS[direction]} and carries ${nameThing(env.hands[moment])}.`;
  canvas.setAttribute("aria-label", words);
  return words;
}

/** Parses the text of a drawing; scripts in it, of which there are none, would not run. */
export function drawingOf(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}
