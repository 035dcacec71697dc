"""Files that were damaged or made to harm: read or refused, and nothing else."""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest

from tests.fuzz.cases import TARGETS, damage, write_seeds
from tests.fuzz.run import fuzz

CASES = 270  # of the numbers below 1000


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "seeds"
    write_seeds(folder)
    return folder


def test_whole_files_are_read(seeds: Path) -> None:
    for target in TARGETS.values():
        target.read(seeds / target.seed)


def test_a_case_is_the_same_whenever_it_is_made(seeds: Path, tmp_path: Path) -> None:
    for number, name in enumerate(TARGETS):
        first, second = (damage(seeds, name, number, tmp_path / str(number) / copy) for copy in "ab")
        assert filecmp.cmp(first, second, shallow=False)


def test_damaged_files_are_read_or_refused(seeds: Path) -> None:
    attempts = fuzz(seeds, 0, 1, 600, CASES)
    assert len(attempts) == CASES
    assert not [attempt for attempt in attempts if attempt.outcome.startswith("defect")]
