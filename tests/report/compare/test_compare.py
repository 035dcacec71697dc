"""Which runs make a curve, what is told of it, and the files that come of it."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from srm.cli import main
from srm.errors import RunError
from srm.report.compare.collect import common_folder, find_runs, sure
from srm.report.compare.curves import panels
from srm.report.compare.figures import palette
from srm.report.compare.keep import thinned
from srm.report.compare.measure import compare, horizon, on_grid, reach
from srm.report.html.strip import colour_name, dash
from tests.report.compare.curves import write_measured, write_suite

NAN, INF = np.nan, np.inf


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "doors")


def curves_in(*folders: Path) -> dict[str, list[int]]:
    """Seeds of each curve, by environment and name."""
    found = panels(find_runs(folders))
    return {
        f"{panel.env_id}: {curve.name}": [run.seed for run in curve.runs] for panel in found for curve in panel.curves
    }


# Finding and grouping


def test_seeds_below_a_folder_make_the_curve_of_its_name(suite: Path):
    assert curves_in(suite) == {
        "MiniGrid-DoorKey-5x5-v0: machine": [0, 1, 2],  # first, as in suite.json
        "MiniGrid-DoorKey-5x5-v0: plain": [0, 1, 2],
    }


def test_runs_that_differ_by_seed_alone_make_a_curve_wherever_they_lie(tmp_path: Path):
    for seed in (10, 2):
        write_measured(tmp_path / f"run-{seed}", [0.5], seed=seed)
    write_measured(tmp_path / "other", [0.5], reward="machines/door.srm")
    write_measured(tmp_path / "learnt", [0.5], kind="learn")
    assert curves_in(tmp_path) == {
        "MiniGrid-DoorKey-5x5-v0: doorkey · learnt · ppo cnn": [0],
        "MiniGrid-DoorKey-5x5-v0: doorkey · door · ppo cnn": [0],
        "MiniGrid-DoorKey-5x5-v0: doorkey · task reward · ppo cnn": [2, 10],
    }


def test_curves_that_would_be_called_the_same_tell_where_they_differ(tmp_path: Path):
    for frames in (1000, 2000):
        write_measured(tmp_path / f"run-{frames}", [0.5], frames=frames)
    names = [name.partition(": ")[2] for name in curves_in(tmp_path)]
    assert names == [f"doorkey · task reward · ppo cnn · frames {frames}" for frames in (1000, 2000)]


def test_curves_of_one_name_in_two_suites_are_told_apart_by_these(tmp_path: Path):
    for folder in ("first", "second"):
        write_measured(tmp_path / folder / "ppo" / "seed0", [0.5])
    assert [name.partition(": ")[2] for name in curves_in(tmp_path)] == ["first/ppo", "second/ppo"]


def test_each_environment_has_a_panel_and_a_name_one_colour(tmp_path: Path):
    for env_id in ("A-v0", "B-v0"):
        for name in ("ppo", "srm"):
            write_measured(tmp_path / env_id / name / "seed0", [0.5], env_id=env_id)
    found = panels(find_runs([tmp_path]))
    told = [(panel.env_id, [(curve.name, curve.colour) for curve in panel.curves]) for panel in found]
    assert told == [("A-v0", [("ppo", 0), ("srm", 1)]), ("B-v0", [("ppo", 0), ("srm", 1)])]
    (ppo, _) = compare(find_runs([tmp_path]), 0.8).profiles
    assert ppo.share.seeds[0] == 2  # of both environments


def test_a_run_that_is_named_twice_counts_once(suite: Path):
    assert len(find_runs([suite, suite / "plain", suite / "plain" / "seed1"])) == 6


def test_the_common_folder_is_told_from_here(suite: Path, monkeypatch: pytest.MonkeyPatch):
    seeds = [suite / "plain" / "seed0", suite / "plain" / "seed1"]
    assert common_folder(seeds) == suite / "plain"
    assert common_folder(seeds[:1]) == seeds[0]
    monkeypatch.chdir(suite)
    assert common_folder(seeds) == Path("plain")
    assert common_folder([Path("plain"), Path("machine")]) == Path()


# What cannot be compared


def refused(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """The one line that is said; nothing else happens."""
    assert main(["report", *map(str, arguments)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    return told.err.strip()


def test_a_folder_without_runs_is_refused_by_name(tmp_path: Path, suite: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "empty").mkdir()
    told = refused(capsys, suite, tmp_path / "empty")
    assert told.startswith(
        f"{tmp_path / 'empty'} is not a run: it has no config.json, nor has a folder in it; give runs"
    )
    assert refused(capsys, suite, tmp_path / "gone").startswith(
        f"{tmp_path / 'gone'}: there is no such folder; give runs"
    )
    assert refused(capsys) == "name the runs to report on, or a folder that holds them: srm report RUNS..."


SPREADLESS = '{"name": "goal", "value": 1, "spread": null}'


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("config.json", "{", "config.json cannot be read"),
        ("config.json", "[]", "config.json is not the config of a run"),
        ("config.json", '{"vocab_size": 3}', "config.json is not of a run; leave its folder out"),
        ("config.json", '{"kind": ["train"]}', "config.json is not of a run; leave its folder out"),
        ("config.json", '{"kind": "train"}', "has no training with a seed, or no env_id, so another version wrote it"),
        ("log.csv", "round,frames\n1,2\n", "log.csv has no seconds, return, success, so another version wrote it"),
        (
            "log.csv",
            "frames,seconds,return\n1,2,high\n",
            "log.csv is not the log of a run: a cell of it is not a number",
        ),
        ("log.csv", "frames,seconds,return\n1\n", "log.csv is not the log of a run"),
        ("log.csv", b"\xff\xfe\n\n", "log.csv cannot be read"),
        ("summary.json", "[]", "summary.json is not what a run writes there"),
        (
            "posterior.json",
            '{"quantiles": [0, 1], "constraint": null, "margin": 0, "holes": [{}]}',
            "holes[0].name is not",
        ),
        (
            "posterior.json",
            f'{{"kind": "posterior", "constraint": null, "holes": [{SPREADLESS}]}}',
            "has a hole without",
        ),
        ("../../suite.json", "{}", "suite.json has no title, curves"),
    ],
)
def test_a_damaged_or_foreign_run_is_refused_by_name(suite: Path, name: str, content: Any, told: str, capsys):
    path = suite / "machine" / "seed1" / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = refused(capsys, suite)
    assert told in said
    assert str(path.resolve().parent) in said
    assert not (suite / "report").exists()


def test_runs_that_share_no_folder_need_to_be_told_where():
    with pytest.raises(RunError, match=r"^/a and /b have no folder in common; say where to write with -o"):
        common_folder([Path("/a"), Path("/b")])


# Numbers


def test_returns_of_the_first_hundred_episodes_are_not_believed():
    returns, episodes = np.array([NAN, 0.9, 0.2, 0.3]), np.array([0, 2, 98, 50])
    assert sure(returns, episodes) == pytest.approx([NAN, NAN, 0.2, 0.3], nan_ok=True)
    assert sure(returns, episodes / 10) is returns  # a run with fewer has nothing better
    assert sure(returns, np.array([])) is returns


def test_runs_at_their_goal_are_carried_on_and_those_under_way_are_cut(tmp_path: Path):
    write_measured(tmp_path / "c" / "seed0", [0.1, 0.9], stop_at=0.9)
    write_measured(tmp_path / "c" / "seed1", [None, 0.5], seed=1, finished=False)
    write_measured(tmp_path / "c" / "seed2", [0.1, 0.2, 0.3, 0.4], seed=2, stop_at=0.9)  # ended short of it
    runs = find_runs([tmp_path])
    assert [run.goal for run in runs] == [0.9, None, None]
    values = on_grid(runs, [run.frames for run in runs], np.array([0.0, 1000, 2000, 3000, 4000, 9000]))
    # The second has no value at 1000, so the curve begins at 2000; it counts until its next row would have come.
    assert values == pytest.approx(
        np.array([[NAN, NAN, 0.9, 0.9, 0.9, 0.9], [NAN, NAN, 0.5, 0.5, NAN, NAN], [NAN, NAN, 0.2, 0.3, 0.4, NAN]]),
        nan_ok=True,
    )
    # Average returns are taken over 4000 frames, as the third played: (0.1 + 2 x 0.9) / 3 and (0.1 + 0.2 + 0.3) / 3.
    assert horizon(runs) == 4000
    (panel,) = compare(runs, 0.8).panels
    assert panel.curves[0].average.value == pytest.approx((1.9 / 3 + 0.2) / 2)
    assert panel.curves[0].final.value == pytest.approx((0.9 + 0.4) / 2)  # of the two that are over


def test_frames_to_a_return_count_those_that_never_get_there_as_later_than_all(tmp_path: Path):
    for seed, (returns, finished) in enumerate([([0.8], True), ([0.1, 0.9], False), ([0.1], True), ([0.1], False)]):
        write_measured(tmp_path / "c" / f"seed{seed}", returns, seed=seed, finished=finished)
    found = reach(find_runs([tmp_path]), 0.8)
    assert (found.frames, found.seconds) == ((1000, 2000, INF), (2, 4, INF))
    assert (found.reached, found.undecided, found.median_frames, found.median_seconds) == (2, 1, 2000, 4)


def test_a_run_without_an_episode_has_no_curve_but_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_measured(tmp_path / "silent" / "seed0", [None, None], finished=False)
    write_measured(tmp_path / "unborn" / "seed0", [], finished=False)
    assert main(["report", str(tmp_path), "--csv"]) == 0
    out = tmp_path / "report"
    assert (out / "curves.csv").read_text() == "env_id,curve,frames,iqm,low,high,seeds\n"
    page = (out / "index.html").read_text()
    assert "silent/seed0" in page
    assert "unborn/seed0" in page
    assert "In MiniGrid-DoorKey-5x5-v0 no run is over." in page
    assert sorted(path.name for path in out.iterdir()) == ["curves.csv", "final.csv", "index.html"]


def test_runs_that_are_over_without_an_episode_are_not_said_to_be_under_way(tmp_path: Path):
    write_measured(tmp_path / "silent" / "seed0", [None, None])
    assert main(["report", str(tmp_path)]) == 0
    assert "In MiniGrid-DoorKey-5x5-v0 no episode has ended." in (tmp_path / "report" / "index.html").read_text()


# Files


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_the_verb_writes_page_figures_and_numbers_and_tells_where(suite: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(suite), "--csv", "--reach", "0.6"]) == 0
    out = suite / "report"
    assert capsys.readouterr().out == f"{out / 'index.html'}\n"
    figures = [f"{name}.{kind}" for name in ("curves", "holes", "profiles", "reached") for kind in ("png", "svg")]
    assert sorted(path.name for path in out.iterdir()) == sorted([*figures, "curves.csv", "final.csv", "index.html"])
    machine, plain = rows(out / "final.csv")
    assert (machine["curve"], machine["seeds"], machine["finished"]) == ("machine", "3", "3")
    assert float(machine["return"]) == pytest.approx(0.91)
    assert (float(machine["return_low"]), float(machine["return_high"])) == pytest.approx((0.9, 0.92))
    assert (machine["reach"], machine["reached"], machine["frames_to_reach"]) == ("0.6", "3", "3000")
    assert (plain["frames_to_reach"], plain["horizon"]) == ("7000", "9000")
    last = [row for row in rows(out / "curves.csv") if row["curve"] == "plain"][-1]
    assert (last["frames"], last["iqm"], last["seeds"]) == ("9000", "0.82", "3")


def test_figures_and_page_are_the_same_whenever_they_are_written(suite: Path, tmp_path: Path):
    for name in ("a", "b"):
        assert main(["report", str(suite), "-o", str(tmp_path / name)]) == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    assert "<dc:date>" not in (tmp_path / "a" / "curves.svg").read_text()


def test_a_curve_may_have_any_name(tmp_path: Path):
    for name in ("_hidden", "$x^2", "%s {} &amp;", "?hole", "a" * 120):
        write_measured(tmp_path / "runs" / name / "seed0", [0.1, 0.5], kind="learn", holes={"$y": 1.0})
    assert main(["report", str(tmp_path / "runs")]) == 0
    drawn = (tmp_path / "runs" / "report" / "curves.svg").read_text()
    assert "<!-- _hidden -->" in drawn
    assert "<!-- $x^2 -->" in drawn


def test_a_report_inside_the_folder_is_not_taken_for_a_run(suite: Path):
    assert main(["report", str(suite)]) == 0
    assert main(["report", str(suite)]) == 0


def test_one_training_run_is_compared_with_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run = write_measured(tmp_path / "run", [0.1, 0.5])
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out == f"{run / 'report' / 'index.html'}\n"


def test_one_learning_run_is_compared_where_it_is_told_where(folder: Path, tmp_path: Path):
    run = Path(shutil.copytree(folder, tmp_path / "run"))
    assert main(["report", str(run), "-o", str(tmp_path / "out")]) == 0
    assert "hole.goal" not in (tmp_path / "out" / "index.html").read_text()
    assert "?goal" in (tmp_path / "out" / "index.html").read_text()


def test_comparing_loads_no_learner(suite: Path):
    code = f"""
import sys
from srm.cli import main
assert main(["report", {str(suite)!r}]) == 0
print(*(name for name in ("torch", "srm.rl", "srm.infer", "minigrid", "matplotlib.pyplot") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == ""


# Keeping


def test_kept_runs_give_the_same_numbers_again(suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for run in suite.glob("*/seed*"):
        (run / "policy.safetensors").write_bytes(b"large")
    kept = tmp_path / "kept"
    assert main(["report", str(suite), "--keep", str(kept)]) == 0
    assert capsys.readouterr().out == f"{kept}\n"
    assert not (suite / "report").exists()
    assert sorted(path.name for path in (kept / "plain" / "seed0").iterdir()) == [
        "config.json",
        "log.csv",
        "summary.json",
    ]
    for folder in (suite, kept):
        assert main(["report", str(folder), "--csv"]) == 0
    for name in ("curves.csv", "final.csv", "curves.svg", "holes.png"):
        assert (suite / "report" / name).read_bytes() == (kept / "report" / name).read_bytes()


def test_a_kept_learning_run_still_has_its_own_page(folder: Path, tmp_path: Path):
    assert main(["report", str(folder), "--keep", str(tmp_path)]) == 0
    (run,) = tmp_path.glob("*/seed3")
    assert run.parent.name == "DoorKey-5x5-learnt"
    assert {path.name for path in run.iterdir()} == {
        *("config.json", "log.csv", "summary.json", "machine.srm", "learnt.srm", "posterior.json", "check.json")
    }
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").exists()


def test_kept_runs_of_several_suites_stay_apart_and_so_do_runs_of_one_seed(tmp_path: Path):
    for name in ("first", "second"):
        write_measured(tmp_path / "runs" / name / "ppo" / "seed0", [0.5])
    for name in ("again", "once"):
        write_measured(tmp_path / "runs" / name, [0.5])
    assert main(["report", str(tmp_path / "runs"), "--keep", str(tmp_path / "kept")]) == 0
    found = {path.parent.relative_to(tmp_path / "kept").as_posix() for path in (tmp_path / "kept").rglob("config.json")}
    alike = "doorkey-task-reward-ppo-cnn"
    assert found == {"first/ppo/seed0", "second/ppo/seed0", f"{alike}/seed0", f"{alike}/seed0-2"}
    assert curves_in(tmp_path / "kept") == {
        f"MiniGrid-DoorKey-5x5-v0: {name}": seeds
        for name, seeds in ((alike, [0, 0]), ("first/ppo", [0]), ("second/ppo", [0]))
    }


def test_what_was_kept_before_is_not_overwritten(suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(suite), "--keep", str(tmp_path / "kept")]) == 0
    capsys.readouterr()
    told = refused(capsys, suite, "--keep", tmp_path / "kept")
    assert "exists, and a run is never overwritten: choose another --keep, or delete it" in told


def test_a_run_is_not_kept_inside_of_itself(suite: Path, capsys: pytest.CaptureFixture[str]):
    run = suite / "plain" / "seed0"
    before = sorted(suite.rglob("*"))
    for place in (run, run / "kept"):
        assert f"--keep {place} lies in the run {run}; choose a folder outside" in refused(capsys, run, "--keep", place)
    assert "--reach nan: give a number" in refused(capsys, suite, "--reach", "nan")
    assert sorted(suite.rglob("*")) == before


def test_a_thinned_log_keeps_its_ends_and_its_episodes():
    lines = ["round,frames,loss,episodes,hole.x", *(f"{n},{n * 8},0.5,{n % 3},0.1" for n in range(1, 1001))]
    short = thinned(lines, most=5)
    assert short[0] == "round,frames,episodes,hole.x"
    assert [line.split(",")[0] for line in short[1:]] == ["1", "251", "501", "750", "1000"]
    assert sum(int(line.split(",")[2]) for line in short[1:]) == sum(n % 3 for n in range(1, 1001))
    assert thinned(lines[:4], most=5)[1:] == ["1,8,1,0.1", "2,16,2,0.1", "3,24,0,0.1"]


# Colours

# What protan, deutan and tritan eyes see of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
BLINDNESS = {
    "none": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour: str, blindness: Any) -> np.ndarray:
    """CIE L*a*b* of a colour as seen."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(blindness) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ seen / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_of_curves_can_be_told_apart_by_everybody(blindness: str, scheme: int):
    seen = {colour: lab(colour, BLINDNESS[blindness]) for colour in palette(scheme)}
    assert len(seen) == 7
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 20, f"{one} and {other}"


def test_more_curves_than_colours_are_told_apart_by_their_lines():
    assert len({(colour_name(index), dash(index)) for index in range(28)}) == 28


def test_the_config_of_a_run_is_kept_to_the_letter(suite: Path, tmp_path: Path):
    assert main(["report", str(suite / "plain" / "seed0"), "--keep", str(tmp_path)]) == 0
    kept = tmp_path / "plain" / "seed0" / "config.json"
    assert json.loads(kept.read_text()) == json.loads((suite / "plain" / "seed0" / "config.json").read_text())
