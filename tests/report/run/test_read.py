"""Which folders a report is made of, and what is said to the others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from srm.cli import main
from srm.errors import RunError
from srm.report.run.learning import REPORT, learning_page, sampled
from srm.report.run.read import read_log, read_run


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "run"))


def test_a_finished_run_is_read_whole(folder: Path):
    run = read_run(folder)
    assert run.rounds == 60
    assert run.learnt is not None
    assert run.learnt.opened() == run.machine
    assert [run.posterior, run.check, run.episodes, run.summary].count(None) == 0
    assert run.last("frames") == 8192 * 60


def test_the_verb_writes_the_page_and_tells_where(copied: Path, capsys: pytest.CaptureFixture[str]):
    (copied / REPORT).unlink()
    assert main(["report", str(copied)]) == 0
    assert capsys.readouterr().out == f"{copied / REPORT}\n"
    assert (copied / REPORT).stat().st_size < 3_000_000


def test_a_page_of_a_run_without_an_episode_says_so_in_a_sentence(copied: Path):
    summary = json.loads((copied / "summary.json").read_text())
    (copied / "summary.json").write_text(json.dumps({**summary, "return": None, "success": None}))
    assert "and the policy paid by it ended no episode after" in str(learning_page(read_run(copied)))


def test_a_page_is_the_same_whenever_it_is_written(folder: Path, copied: Path):
    assert main(["report", str(copied)]) == 0
    assert (copied / REPORT).read_text().replace("run</span>", "sample</span>") == (folder / REPORT).read_text()


def test_rules_are_drawn_where_the_log_has_them(folder: Path, copied: Path):
    assert 'id="rule-charts"' in (folder / REPORT).read_text()
    log = copied / "log.csv"
    rows = [line.split(",") for line in log.read_text().splitlines()]
    kept = [i for i, name in enumerate(rows[0]) if not name.startswith("rule.")]
    log.write_text("".join(",".join(row[i] for i in kept) + "\n" for row in rows))
    assert 'id="rule-charts"' not in learning_page(read_run(copied))


def refused(folder: Path) -> str:
    with pytest.raises(RunError) as caught:
        read_run(folder)
    return str(caught.value)


def test_a_folder_that_is_not_there_is_refused_by_name(tmp_path: Path):
    assert refused(tmp_path / "gone") == (
        f"{tmp_path / 'gone'}: there is no such folder; give the run that `srm learn TASK -o RUN` made"
    )


def test_a_folder_that_is_no_run_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert str(tmp_path) in told
    assert "it has no config.json" in told
    assert "`srm learn TASK -o RUN`" in told
    assert not (tmp_path / REPORT).exists()


def test_a_run_of_another_verb_is_refused_by_its_verb(copied: Path):
    (copied / "config.json").write_text(json.dumps({"kind": "train"}))
    assert "is a run of `srm train`, and a report is made of a run of `srm learn`" in refused(copied)


def test_a_run_before_its_first_round_is_asked_to_wait(copied: Path):
    (copied / "log.csv").unlink()
    assert "no round has ended; try again later" in refused(copied)
    (copied / "log.csv").write_text("round,frames\n")
    assert "has no round yet" in refused(copied)


@pytest.mark.parametrize("name", ["posterior.json", "check.json", "episodes.json", "summary.json"])
def test_a_damaged_file_is_refused_by_name(copied: Path, name: str):
    (copied / name).write_text('{"half": ')
    assert str(copied / name) in refused(copied)
    (copied / name).write_text("[]")
    assert str(copied / name) in refused(copied)
    (copied / name).write_text("{}")
    assert f"{copied / name} has no " in refused(copied)


def test_a_log_with_a_torn_last_row_is_read_without_it(tmp_path: Path):
    path = tmp_path / "log.csv"
    path.write_text("round,frames,seconds,return,success\n1,64,0.1,,\n2,128,0.2,0.5,1\n3,192,0.")
    log = read_log(path)
    assert log["round"] == [1.0, 2.0]
    assert log["return"] == [None, 0.5]


def test_a_log_of_something_else_is_refused(tmp_path: Path):
    path = tmp_path / "log.csv"
    path.write_text("round,return\n1,high\n")
    with pytest.raises(RunError, match="a cell of it is not a number"):
        read_log(path)


def test_long_curves_keep_their_ends():
    log = {"round": [float(n) for n in range(1000)], "return": [None, *(n / 1000 for n in range(1, 1000))]}
    short = sampled(log, most=7)
    assert short["round"] == [0.0, 166.0, 333.0, 500.0, 666.0, 832.0, 999.0]
    assert short["return"][0] is None
    assert sampled(log, most=1000) == log
