"""A run folder that was damaged, or made to harm: `srm report` says so in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from srm.cli import main
from srm.errors import RunError
from srm.files import DEEPEST, parse_json, read_json
from srm.runs.folder import read_weights, write_weights
from srm.suites.runs import claimed
from srm.suites.suite import Suite, curve
from tests.report.sample import write_run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged") / "run"
    write_run(folder)
    return folder


def edited(path: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("summary.json", lambda x: x.update({"return": "high"}), "summary.json: return is not what a run writes"),
        ("summary.json", lambda x: x.update(frames=None), "summary.json: frames is not"),
        ("summary.json", lambda x: x.update(seconds=float("inf")), "Infinity is no finite number"),
        ("summary.json", lambda x: x.update(frames=10**400), "has more than 64 bits"),
        ("summary.json", lambda x: x.update(more=nested(300)), "nested too deep"),
        ("summary.json", lambda x: x.update(solution={"plain": 3}), "no comparison of demonstrations and policy"),
        ("posterior.json", lambda x: x.update(holes={}), "posterior.json: holes is not"),
        ("posterior.json", lambda x: x["holes"][0].update(quantiles=[1]), "holes[0].quantiles is not"),
        ("posterior.json", lambda x: x["holes"][1].update(name="\ud800"), "surrogates not allowed"),
        ("check.json", lambda x: x["findings"].append(7), "check.json: findings"),
        ("check.json", lambda x: x["findings"].append({"severity": "grave"}), "severity is not"),
        ("episodes.json", lambda x: x["episodes"][0].pop("pay"), "episodes[0].pay is not"),
        ("episodes.json", lambda x: x["episodes"][0].update(kind="x"), "episodes[0].kind is not"),
        ("config.json", lambda x: x.update(versions=[]), "config.json: versions is not"),
        ("config.json", lambda x: x["learning"].update(stop_at="soon"), "config.json: learning.stop_at is not"),
    ],
)
def test_a_page_of_a_damaged_run_is_refused_in_one_line(
    name: str, change: Callable[[Any], object], problem: str, sample: Path, capsys: Capture
) -> None:
    path = sample / name
    whole = path.read_bytes()
    try:
        edited(path, change)
        assert main(["report", str(sample)]) == 2
    finally:
        path.write_bytes(whole)
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1


def nested(depth: int) -> list[Any]:
    return [nested(depth - 1)] if depth else []


def test_json_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_json(json.dumps(nested(DEEPEST - 1))) == nested(DEEPEST - 1)
    for text in (json.dumps(nested(DEEPEST)), "[" * 100_000, "NaN", "-Infinity", "1e999", str(2**63)):
        with pytest.raises(ValueError, match=r"too deep|no finite number|64 bits"):
            parse_json(text)
    assert parse_json(str(-(2**63))) == -(2**63)
    monkeypatch.setattr("srm.files.MOST_JSON", 10)
    (tmp_path / "long.json").write_text('"' + "a" * 10 + '"')
    with pytest.raises(ValueError, match="longer than"):
        read_json(tmp_path / "long.json")


@pytest.mark.parametrize("about", [{"state": nested(40)}, {"state": float("nan")}])
def test_words_beside_weights_have_the_same_limits(about: dict[str, Any], tmp_path: Path) -> None:
    write_weights(tmp_path / "round", {}, about)
    with pytest.raises(RunError, match=r"nested too deep|no finite number"):
        read_weights(tmp_path / "round")


@pytest.mark.parametrize("content", ['{"curves": []}', '{"curves": {"a": 1}}', "[]", '{"curves": ' + "[" * 9999])
def test_the_file_of_a_suite_is_refused_in_one_line(content: str, tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(content)
    suite = Suite("small", "Small", {"a": curve("a", "train doorkey")})
    with pytest.raises(RunError, match=r"suite\.json.*; delete it"), claimed(suite, tmp_path):
        pass


@pytest.mark.parametrize("curves", [[], {"a": 1}, None])
def test_a_comparison_refuses_it_as_well(curves: Any, tmp_path: Path, capsys: Capture) -> None:
    write_run(tmp_path / "a" / "seed0")
    (tmp_path / "suite.json").write_text(json.dumps({"title": "t", "curves": curves}))
    assert main(["report", str(tmp_path)]) == 2
    assert "suite.json: curves" in capsys.readouterr().err
