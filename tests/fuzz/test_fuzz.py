"""Files that were damaged or made to harm: read or refused, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from srm.report.run import read as report_read
from tests.fuzz.cases import TARGETS, make_case, write_seeds
from tests.fuzz.run import fuzz
from tests.fuzz.worker import attempt, outcome

CASES = 20 * 14  # of the numbers below 1000
KEPT = (
    Path(__file__).parent / "kept"
)  # TARGET/CASE/...: files that were read wrongly once, in the place of the whole ones


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "seeds"
    write_seeds(folder)
    return folder


def test_whole_files_are_read(seeds: Path, tmp_path: Path) -> None:
    for name, target in TARGETS.items():
        shutil.copytree(seeds / target.seed, tmp_path / name / "case")
        if target.seed == "machine":
            for other in set((tmp_path / name / "case").glob("*")) - {tmp_path / name / "case" / "doorkey.srm"}:
                other.unlink()
        assert outcome(target.read, tmp_path / name / "case") == "read", name


def test_a_case_is_the_same_whenever_it_is_made(seeds: Path, tmp_path: Path) -> None:
    for number, name in enumerate(TARGETS):
        first, second = (make_case(seeds, name, number, tmp_path / str(number) / copy) for copy in "ab")
        assert [path.name for path in first] == [path.name for path in second]
        for one, other in zip(first, second, strict=True):
            assert not one.is_file() or one.stat().st_size > 1 << 30 or one.read_bytes() == other.read_bytes()


def test_damaged_files_are_read_or_refused_and_most_get_past_the_first_look(seeds: Path, tmp_path: Path) -> None:
    attempts = fuzz(seeds, 0, 1, 600, CASES, tmp_path / "tried.tsv")
    assert len(attempts) == CASES
    assert [attempt for attempt in attempts if attempt.is_defect] == []
    assert sum(attempt.is_stopped_at_the_gate for attempt in attempts) < CASES / 2
    assert len({attempt.outcome for attempt in attempts}) > 30  # places that refuse


def test_a_reader_that_raises_waits_or_fills_the_memory_is_noticed(seeds: Path, tmp_path: Path) -> None:
    attempts = fuzz(seeds, 0, 1, 600, 3, tmp_path / "tried.tsv", worker="tests.fuzz.planted")
    outcomes = [attempt.outcome for attempt in attempts]
    assert [outcome.split(" at ")[0] for outcome in outcomes] == [
        "defect AttributeError",
        "defect: the worker ended with -27",
        "defect MemoryError",
    ]


def test_a_check_that_is_left_out_is_noticed(seeds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_read, "read_record", lambda path: __import__("json").loads(path.read_text()))
    assert any(attempt(seeds, "report", number).startswith("defect") for number in range(40))


@pytest.mark.parametrize("case", sorted(KEPT.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_read_wrongly_once_is_read_or_refused(case: Path, seeds: Path, tmp_path: Path) -> None:
    target = TARGETS[case.parent.name]
    shutil.copytree(seeds / target.seed, tmp_path / "case")
    for path in case.rglob("*"):
        if path.is_symlink() or path.is_file():
            whole = tmp_path / "case" / path.relative_to(case)
            whole.unlink(missing_ok=True)
            shutil.copy(path, whole, follow_symlinks=False)
    assert not outcome(target.read, tmp_path / "case").startswith("defect")
