"""One sample run for all tests of its page, and Chromium to look at it with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from srm.report.run.learning import write_report
from tests.report.sample import write_run

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of DoorKey-5x5 with its report. Tests must not write into it."""
    folder = tmp_path_factory.mktemp("runs") / "sample"
    write_run(folder)
    write_report(folder)
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium. Without one these tests are left out, but not where CI must run them."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None and not os.environ.get("CI"):
        pytest.skip("no Chromium here to look at the page with (Debian: apt install chromium)")
    assert path, "CI must have a Chromium"
    api = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: pip install 'symbolic-reward-machines[dev]'"
    )
    # Debian's chromium is a script that calls other programs, which a test's PATH may lack.
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/bin:/bin"}
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(FLAGS), env=environment)
        yield running
        running.close()
