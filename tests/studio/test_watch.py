"""Runs that are begun from the page: ordinary folders that go on by themselves, and are shown as they grow."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from srm.report.run.summary import read_summary
from srm.runs.folder import read_config
from tests.report.sample import write_run
from tests.studio.serving import Served, opened, serving


def test_a_run_is_started_and_seen_to_end(browser: Any, served: Served, tmp_path: Path) -> None:
    with opened(browser, served.address) as look:
        look.page.click("#tab-watch")
        look.page.wait_for_selector("#run-rows:has-text('No run yet')")
        look.page.click("#run-start")
        look.page.wait_for_selector("#run-rows tr[data-state=running]")
        look.page.wait_for_selector("#run-rows tr[data-state=finished]", timeout=300_000)
        look.page.wait_for_selector("#run-known .track")
        assert look.page.locator("#run-known .slider").count() == 5
        look.page.click("#run-edit")
        look.page.wait_for_selector("#editor .keyword")
        assert look.page.input_value("#edit-name") == "doorkey-doorkey-infer-seed0.srm"
        assert look.complaints == []
    folder = tmp_path / "runs" / "doorkey-doorkey-infer-seed0"
    assert read_config(folder)["kind"] == "infer"
    assert read_summary(folder / "posterior.json").demonstrations == 10


@pytest.mark.slow
def test_a_run_is_stopped_resumed_and_replayed(browser: Any, served: Served, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "doorkey-doorkey-learn-seed0"
    with opened(browser, served.address) as look:
        page = look.page
        page.click("#tab-watch")
        page.select_option("#run-verb", "learn")
        page.fill("#run-frames", "300000")  # long enough to be stopped: a quiet core plays 40,000 in a second
        page.click("#run-start")
        page.wait_for_selector("#run-curves svg", timeout=300_000)
        page.click("#run-rows button:has-text('stop')")
        page.wait_for_selector("#run-rows tr[data-state=stopped]", timeout=300_000)
        assert not (folder / "summary.json").exists()
        page.click("#run-rows button:has-text('resume')")
        page.wait_for_selector("#run-rows tr[data-state=running]", timeout=300_000)
        page.wait_for_selector("#run-rows tr[data-state=finished]", timeout=300_000)
        page.wait_for_selector("#run-replay:not([hidden])")
        page.click("#run-replay")
        page.wait_for_selector("#replay[open] #env")
        assert page.locator("#episode-choice option").count() > 10
        assert look.complaints == []


def test_runs_begun_elsewhere_are_shown_and_replayed(browser: Any, served: Served) -> None:
    write_run(Path("runs/sample"))
    write_run(Path("runs/suite/other"), episodes=0)
    Path("runs/suite/other/log.csv").write_text("round,frames\n1,x\n")
    Path("runs/suite/other/summary.json").unlink()
    with opened(browser, served.address) as look:
        look.page.click("#tab-watch")
        look.page.wait_for_selector("#run-rows tr[data-run='runs/sample'][data-state=finished]")
        assert look.page.locator("#run-rows tr").count() == 2
        assert "97 %" in look.text("#run-rows tr[data-run='runs/sample']")
        look.page.click("#run-rows button:has-text('runs/sample')")
        look.page.wait_for_selector("#run-curves svg path.line")
        look.page.click("#run-one summary:has-text('rule')")
        assert look.page.locator("#rule-charts svg").count() > 2
        look.page.click("#run-replay")
        look.page.wait_for_selector("#replay[open]")
        look.page.click("#paid-after")
        assert "pick_up_key" in look.text("#step-facts")
        look.page.keyboard.press("Escape")
        assert look.complaints == []


def test_the_page_stays_narrow_with_runs_in_it(browser: Any, served: Served) -> None:
    write_run(Path("runs/sample"))
    with opened(browser, served.address, 390, "dark") as look:
        look.page.click("#tab-watch")
        look.page.click("#run-rows button:has-text('runs/sample')")
        look.page.wait_for_selector("#run-curves svg")
        assert look.overflow <= 0


def test_folders_behind_links_and_outside_are_not_read(served: Served, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    write_run(outside)
    Path("runs").mkdir()
    os.symlink(outside, "runs/link")
    write_run(Path("runs/inner"), episodes=0)
    Path("runs/inner/log.csv").unlink()
    os.symlink(outside / "log.csv", "runs/inner/log.csv")
    listed = {run["name"]: run["state"] for run in served.ask("runs")["runs"]}
    assert set(listed) == {"runs/inner"}
    for name in ("runs/link", f"../{outside.name}", str(outside)):
        body = json.dumps({"session": served.session, "name": name}).encode()
        assert "error" in json.loads(served.request("/api/run", body)[2]), name
    shutil.rmtree(outside)


def test_runs_are_not_begun_outside(served: Served, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    os.symlink(outside, "runs")
    body = json.dumps({"session": served.ask("open", session="")["session"], "verb": "infer", "seed": 0}).encode()
    assert "is a link out of" in json.loads(served.request("/api/run.start", body)[2])["error"]
    assert served.ask("runs")["runs"] == []
    assert list(outside.iterdir()) == []
    outside.rmdir()


def test_what_a_run_prints_is_added_to_no_link(served: Served, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    watch: Any = served.studio.questions["run.start"]
    Path("runs").mkdir()
    os.symlink(precious, "runs/next.txt")
    with pytest.raises(OSError, match="symbolic"):
        watch.__self__._launch(watch.__self__.home / "next", ["--version"])
    assert precious.read_text() == "mine"


def test_a_run_goes_on_when_the_studio_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(task="DoorKey-5x5") as served:
        name = served.ask("run.start", verb="learn", seed=0, frames=10**7)["name"]
        process = served.studio.questions["runs"].__self__._started[name].process  # type: ignore[attr-defined]
        assert f"{name}: goes on by itself" in served.studio.saved()
    assert process.poll() is None
    assert os.getsid(process.pid) == process.pid  # so that neither Ctrl-C nor a closed terminal reaches it
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_run_that_cannot_begin_says_why(served: Served) -> None:
    for body, problem in [
        ({"verb": "train", "seed": 0}, "expected infer or learn"),
        ({"verb": "learn", "seed": "0"}, "whole number"),
    ]:
        asked = json.dumps({"session": served.ask("open", session="")["session"], **body}).encode()
        assert problem in json.loads(served.request("/api/run.start", asked)[2])["error"]
    served.ask("run.start", verb="infer", seed=-5)
    for _ in range(600):
        (run,) = served.ask("runs")["runs"]
        time.sleep(0.1)
        if run["state"] != "running":
            break
    assert run["state"] == "failed"
    assert "--seed" in " ".join(served.ask("run", name=run["name"])["output"])
