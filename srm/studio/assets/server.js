// Questions to the studio's server. The token came behind the # of the address; no other page can have it.

const TOKEN = "srm-studio-token"; // of this address and port, for all its tabs
const SESSION = "srm-studio-session"; // of this tab

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  localStorage.setItem(TOKEN, given);
  history.replaceState(null, "", location.pathname);
}

/** What the server refuses, in its own words. */
export class Trouble extends Error {}

// A tab that is loaded again goes on with its session. One that is duplicated copies the storage, so that the session lies there only
// while no page has it.
export const session = { id: sessionStorage.getItem(SESSION) ?? "" };
window.addEventListener("pagehide", () => sessionStorage.setItem(SESSION, session.id));
window.addEventListener("pageshow", () => sessionStorage.removeItem(SESSION));

/** The answer to a question; a `signal` can take the question back. */
export async function ask(name, body = {}, signal = undefined) {
  return send(name, JSON.stringify({ session: session.id, ...body }), "application/json", signal);
}

/** Hands a file in. */
export async function upload(file) {
  return send("upload", file, "application/octet-stream");
}

async function send(name, body, kind, signal) {
  const headers = { "content-type": kind, "x-studio-token": localStorage.getItem(TOKEN) ?? "" };
  let response;
  try {
    response = await fetch(`/api/${name}`, { method: "POST", headers, body, signal });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Trouble("The studio does not answer. What was kept is on disk; start it again with srm studio.");
  }
  if (response.status >= 500) throw new Trouble("The studio failed at this; its terminal says how. What was kept is on disk.");
  const answer = await response.json();
  if (answer.error) throw new Trouble(answer.error);
  return answer;
}

/** Says what went wrong at the top of the page, or takes it back. */
export function complain(message) {
  const place = document.getElementById("trouble");
  place.hidden = !message;
  place.textContent = message ?? "";
}

/** Runs something that asks, and says what went wrong. */
export async function tried(act) {
  try {
    const result = await act();
    complain(null);
    return result;
  } catch (problem) {
    if (problem.name === "AbortError") return undefined;
    if (!(problem instanceof Trouble)) throw problem;
    complain(problem.message);
    return undefined;
  }
}
