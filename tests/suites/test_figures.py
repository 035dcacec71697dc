"""Suites: the paper's figures as data that can be run, and files of one's own that are refused where they are wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from srm.cli.suite import refuse_unfit
from srm.domains.tasks import find_task
from srm.errors import RunError
from srm.machine.language.parse import find_machine
from srm.suites.runs import runs_of
from srm.suites.shipped import SUITES, find_suite
from srm.suites.suite import Suite, read_suite, suite

OWN = """
title = "Does the machine help?"
seeds = 2

[curves]
task = "train doorkey --frames 600_000"
learn = "learn doorkey"
learnt = "train DoorKey-16x16 --frames=3000000 --reward=learnt:learn"
"""


def own(tmp_path: Path, text: str = OWN) -> Suite:
    path = tmp_path / "own.toml"
    path.write_text(text)
    return read_suite(path)


@pytest.mark.parametrize("shipped", SUITES.values(), ids=SUITES)
def test_every_command_that_ships_can_be_parsed(shipped: Suite) -> None:
    refuse_unfit(shipped)


@pytest.mark.parametrize("shipped", SUITES.values(), ids=SUITES)
def test_every_machine_and_constraint_that_a_suite_names_is_there(shipped: Suite) -> None:
    for line in shipped.curves.values():
        vocabulary = find_task(line.task).vocabulary
        named = line.value("--machine") or line.value("--reward", "task")
        if line.verb == "learn" and not line.value("--machine"):
            named = find_task(line.task).machines[0]
        if named in ("task", "gail", "gan_gcl", "proposed") or line.needs:
            continue
        machine = find_machine(named, {vocabulary.name: vocabulary})
        if line.value("--constraint", "none") != "none":
            machine.constraint(line.value("--constraint"))
        if line.verb == "learn":
            assert machine.holes
        else:
            assert machine.is_concrete != ("--holes" in line.words)


def test_the_suites_are_those_of_the_paper_and_ours() -> None:
    assert list(SUITES) == [
        "motivating", "doorkey", "keycorridor", "obstructedmaze", "transfer-doorkey", "transfer-keycorridor",
        "transfer-obstructedmaze", "demonstrations", "constraints", "random-holes", "maze-machines",
        "deciding", "propose", "control-lunarlander", "control-hopper", "control-highway", "control-truth",
    ]  # fmt: skip


def test_a_suite_may_begin_at_another_seed(tmp_path: Path) -> None:
    fresh = replace(own(tmp_path), first_seed=100)
    assert sorted({run.seed for run in runs_of(fresh, Path("out"), seeds=2)}) == [100, 101]
    with pytest.raises(RunError, match="first_seed = -1"):
        replace(fresh, first_seed=-1)


def test_runs_have_their_seed_folder_and_machine(tmp_path: Path) -> None:
    runs = runs_of(own(tmp_path), Path("out"), seeds=2)
    assert [(run.curve, run.seed) for run in runs] == [
        ("learn", 0), ("task", 0), ("learnt", 0), ("learn", 1), ("task", 1), ("learnt", 1),
    ]  # fmt: skip
    learn, _, learnt = runs[3:]
    assert learn.words == ("learn", "doorkey", "--cores", "1")
    assert learnt.needs == learn.folder == Path("out/learn/seed1")
    assert learnt.words[-2:] == ("--reward", "out/learn/seed1/learnt.srm")
    assert [run.frames for run in runs[:3]] == [1_000_000, 600_000, 3_000_000]


def test_a_linecan_begin_with_the_policy_that_another_has_trained(tmp_path: Path) -> None:
    text = "[curves]\nlearn = 'learn doorkey'\nlarge = 'train DoorKey-16x16 --from-run learnt:learn'"
    learn, large = runs_of(own(tmp_path, text), Path("out"), seeds=1)
    assert large.needs == learn.folder
    assert large.words[-2:] == ("--from-run", "out/learn/seed0")


def test_scale_multiplies_the_frames_of_every_run_also_of_those_that_name_none(tmp_path: Path) -> None:
    small = own(tmp_path).scaled(0.1)
    assert {name: line.frames for name, line in small.curves.items()} == {
        "task": 60_000, "learn": 100_000, "learnt": 300_000,
    }  # fmt: skip
    assert small.curves["learn"].words[-2:] == ("--frames", "100000")
    assert small.curves["learnt"].command == "train DoorKey-16x16 --frames 300000 --reward learnt:learn"


def test_only_some_curves_with_what_they_need(tmp_path: Path) -> None:
    chosen = own(tmp_path)
    assert list(chosen.only(("learnt",)).curves) == ["learn", "learnt"]
    assert list(chosen.only(("task",)).curves) == ["task"]
    with pytest.raises(RunError, match="did you mean task"):
        chosen.only(("tusk",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("title = ", "own.toml is not TOML: Invalid value"),
        ("title = '" + "x" * (1 << 20) + "'", "own.toml is not TOML: it is longer than 1 MB"),
        ('title = "\\u001b[2J"\n[curves]\na = "train doorkey"', "its title has signs that cannot be printed"),
        ('[curves]\na = "train doorkey --reward \\u001b[2J"', "curve a: its command has signs that cannot be printed"),
        ("a" + ".a" * 500_000 + " = 1", "own.toml is not TOML: a line has more than 200 dots"),
        ("seeds = 1000000000\n[curves]\na = 'train doorkey'", "at most 1,000 curves and 10,000 seeds"),
        (f"first_seed = 1{'0' * 400}\n[curves]\na = 'train doorkey'", "at most 1,000 curves and 10,000 seeds"),
        ("", "has no curves"),
        ("seed = 3\n[curves]\na = 'train doorkey'", "seed is not known here.*did you mean seeds"),
        ("seeds = '3'\n[curves]\na = 'train doorkey'", "seeds = '3': a number is needed"),
        ("seeds = 0\n[curves]\na = 'train doorkey'", "at least one"),
        ("[curves]\na = 3", "curve a: write a command in quotes"),
        ("[curves]\n'a/b' = 'train doorkey'", "curve 'a/b': a name is letters"),
        ("[curves]\na = ''", "begins with train or learn"),
        ("[curves]\na = 'tran doorkey'", "curve a = 'tran doorkey': .*did you mean train"),
        ("[curves]\na = 'train'", "name the task after train"),
        ("[curves]\na = 'train doorkee'", "curve a = .*there is no task doorkee.*did you mean doorkey"),
        ("[curves]\na = 'train doorkey --seed 3'", "leave --seed out"),
        ("[curves]\na = 'learn doorkey -o x'", "leave -o out"),
        ("[curves]\na = 'learn doorkey --out=x'", "leave --out out"),
        ("[curves]\na = 'learn doorkey -o../x'", r"leave -o\.\./x out"),
        ("[curves]\na = 'train doorkey --frames many'", "--frames: many is no number"),
        ('[curves]\na = "train \'doorkey"', "No closing quotation"),
        ("[curves]\na = 'train doorkey --reward learnt:b'", "there is no curve b"),
        ("[curves]\na = 'train doorkey --reward learnt:a'", "curve a is no `learn`"),
        (
            "[curves]\na = 'train doorkey --reward learnt:b'\nb = 'train doorkey --reward learnt:a'",
            "curve b is no `learn`",
        ),
        (
            "[curves]\na = 'train doorkey --reward learnt:b --from-run learnt:c'",
            "--reward and --from-run must name the same curve",
        ),
    ],
    ids=lambda value: value[:40],
)
def test_a_wrong_file_is_refused_with_the_place_and_the_remedy(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(RunError, match=problem) as refused:
        own(tmp_path, text)
    assert str(refused.value).startswith(str(tmp_path / "own.toml"))
    assert "\n" not in str(refused.value)


def test_flags_that_do_not_parse_are_refused_in_one_line() -> None:
    with pytest.raises(RunError) as refused:
        refuse_unfit(suite("own", "", {"a": "train doorkey --framez 3"}))
    assert str(refused.value) == (
        "suite own: curve a = 'train doorkey --framez 3': Unrecognized options: --framez, 3; did you mean --frames? `srm train --help` lists the flags"
    )


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("train doorkey --reward doorkey", "machine doorkey has no value for ?goal"),
        ("train doorkey --reward gail --demos nofile.npz", "nofile.npz: there is no such file"),
        ("train doorkey --ppo.num-envs 0", "--ppo.num-envs 0: give a number"),
        ("train doorkey --holes uniform", "--holes would change nothing"),
        ("train doorkey --reward learnt:learn -n 3", "-n would change nothing"),
        ("train doorkey --reward no_such_machine --from-run learnt:learn", "no_such_machine"),
        ("train doorkey --from-run no_such_run", "no_such_run is not a run"),
        ("train doorkey --learner ride --net mlp", "--learner ride looks at cells of a grid"),
        ("learn doorkey --machine nofile.srm", "nofile.srm: cannot be read"),
        ("learn doorkey --constraint loose", "machine doorkey has no constraint loose"),
        ("learn doorkey -n 11", "-n must lie in 1..10"),
        ("learn doorkey --learner bc", "--learner bc reads no pay"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused_in_one_line(command: str, problem: str) -> None:
    with pytest.raises(RunError) as refused:
        refuse_unfit(suite("own", "", {"learn": "learn doorkey", "a": command}))
    told = str(refused.value)
    assert told.startswith(f"suite own: curve a = '{command}': ")
    assert problem in told
    assert "\n" not in told


def test_an_unknown_suite_is_told_a_near_one() -> None:
    with pytest.raises(RunError, match="did you mean doorkey"):
        find_suite("doorkeys")
    with pytest.raises(RunError, match=r"nowhere\.toml does not exist"):
        find_suite("nowhere.toml")


def test_the_page_about_suites_names_each_and_its_own_suite_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_machine.srm").write_text(str(find_machine("doorkey_handset")))
    page = (Path(__file__).parents[2] / "docs" / "suites.md").read_text()
    assert [name for name in SUITES if f"`{name}`" not in page] == []
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    refuse_unfit(own(tmp_path, text))
