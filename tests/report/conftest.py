"""One sample run for all tests of its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from srm.report.run.learning import write_report
from tests.report.sample import write_run


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of DoorKey-5x5 with its report. Tests must not write into it."""
    folder = tmp_path_factory.mktemp("runs") / "sample"
    write_run(folder)
    write_report(folder)
    return folder
