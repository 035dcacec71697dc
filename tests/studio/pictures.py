"""The pictures of docs/studio.md: `python -m tests.studio.pictures` draws them anew, with Chromium."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from srm.domains.tasks import find_task
from srm.seeding import stream
from tests.conftest import BROWSERS, FLAGS
from tests.studio.serving import opened, serving
from tests.studio.test_play import KEYS

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
RUNS = tuple(f"doorkey/learn-ppo-cnn/seed{seed}" for seed in range(3))  # that were published
TASK = find_task("doorkey")
WIDTH = 1280


def play(look: Any) -> None:
    """Up to the door that is unlocked."""
    env = TASK.environment(TASK.env_id)
    env.reset(seed=int(look.page.get_attribute("#world", "data-seed")))
    actions = TASK.expert(env)  # type: ignore[misc]
    for step, action in enumerate(actions, start=1):
        look.page.keyboard.press(KEYS[action])
        look.page.wait_for_selector(f"#world[data-at='{step}']")
        if action == 5:
            return


def main() -> None:
    home = Path.cwd()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        os.chdir(folder)
        for run in RUNS:
            shutil.copytree(ROOT / "results" / run, Path("runs") / run)
        with serving(task="doorkey", infer=True) as served:
            served.studio._seeds = stream(4, "a picture")
            with opened(browser, served.address, WIDTH) as look:
                look.page.wait_for_selector("#now-values:empty", state="attached", timeout=300_000)
                play(look)
                look.page.locator("#panel-play > section").first.screenshot(path=PICTURES / "studio_play.png")
                look.page.click("#tab-edit")
                look.page.wait_for_selector("#edit-proofs:has-text('notes')", timeout=120_000)
                look.page.wait_for_selector("#edit-ranking li", timeout=120_000)
                look.page.wait_for_selector("#edit-breaks-state:not(:has-text('checking'))", timeout=120_000)
                look.page.set_viewport_size({"width": WIDTH, "height": 1320})
                look.page.screenshot(path=PICTURES / "studio_edit.png")
                look.page.set_viewport_size({"width": WIDTH, "height": 980})
                look.page.click("#tab-compare")
                look.page.wait_for_selector("#compare-stage:not([hidden])", timeout=300_000)
                look.page.keyboard.press("ArrowLeft")
                look.page.wait_for_selector("#compare-state:has-text('answered')")
                look.page.wait_for_timeout(1500)
                look.page.screenshot(path=PICTURES / "studio_compare.png")
                look.page.click("#tab-watch")
                look.page.click("#run-rows button:has-text('seed1')")
                look.page.wait_for_selector("#run-curves svg")
                look.page.wait_for_timeout(500)
                look.page.screenshot(path=PICTURES / "studio_watch.png")
        os.chdir(home)
        browser.close()


if __name__ == "__main__":
    main()
