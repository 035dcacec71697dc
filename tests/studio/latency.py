"""How fast the studio answers: `python -m tests.studio.latency`. Numbers of a machine that does nothing else.

a key        from its event to the picture of the step that it leads to, in Chromium
a slider     until 100 episodes are paid anew
a check      of each machine that ships, as the studio asks for it while one types
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from srm.domains.record import play
from srm.machine.language.parse import library, library_text
from srm.studio.child import Child
from srm.studio.store import KEPT
from tests.conftest import BROWSERS, FLAGS
from tests.studio.serving import Served, opened, serving
from tests.studio.test_play import press

TIMED = """
window.times = [];
document.addEventListener("keydown", () => { window.pressed = performance.now(); }, true);
new MutationObserver(() => requestAnimationFrame(() => {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => window.times.push(performance.now() - window.pressed);
  channel.port2.postMessage(null);
})).observe(document.getElementById("world"), { attributes: true, attributeFilter: ["data-at"] });
"""


def of_keys(browser: Any, served: Served) -> list[float]:
    with opened(browser, served.address) as look:
        look.page.evaluate(TIMED)
        for step in range(30):
            press(look, step % 2)
            look.page.wait_for_timeout(60)
        times: list[float] = look.page.evaluate("window.times")
        return times


def of_sliders(served: Served) -> list[float]:
    library, rng = served.studio.library, np.random.default_rng(0)
    env = library.task.environment(library.task.env_id)
    for seed in range(100 - len(library.with_play())):
        served.studio.store.add(KEPT, (seed, play(env, lambda _: int(rng.integers(6)), seed, most=100)))
    session, pay = served.ask("open", session="")["session"], served.studio.questions["pay"]
    return [timed(lambda goal=goal: pay({"session": session, "values": {"goal": goal / 10}})) for goal in range(30)]


def of_checks() -> dict[str, float]:
    child, times = Child("doorkey"), {}
    for name in library():
        question = {"check": library_text(name), "constraint": None, "values": None}
        child.ask("a tab", question)
        times[name] = timed(lambda question=question: child.ask("a tab", question))
    child.close()
    return times


def timed(act: Any) -> float:
    """Milliseconds."""
    begin = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - begin)


def main() -> None:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        os.chdir(folder)
        with serving(task="examples.mountain_car:TASK") as served:
            print(row("a key, pictures", of_keys(browser, served)))
        with serving(task="DoorKey-8x8") as served:
            print(row("a key, cells", of_keys(browser, served)))
            print(row("a slider", of_sliders(served)))
        print(row("a check", [*of_checks().values()]))
        browser.close()
        os.chdir("/")


def row(name: str, times: list[float]) -> str:
    return (
        f"{name:15} median {statistics.median(times):.1f} ms, {min(times):.1f} to {max(times):.1f} ms of {len(times)}"
    )


if __name__ == "__main__":
    main()
