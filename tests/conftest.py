"""Settings of the random tests: no deadline, since a busy machine is not a fault of the code. And Chromium, to look at pages with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

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
