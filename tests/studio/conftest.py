"""A studio of DoorKey-5x5 in an empty folder, and its page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.look import Look
from tests.studio.serving import Served, opened, serving


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.chdir(tmp_path)
    with serving(task="DoorKey-5x5") as served:
        yield served


@pytest.fixture
def look(browser: Any, served: Served) -> Iterator[Look]:
    with opened(browser, served.address) as look:
        yield look
        assert look.complaints == []
