"""`srm terms` and `srm audit`, and the way from an environment's id to weights through one file; docs/terms.md is what they print."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import examples.runner  # registers Runner-v0
from srm.cli import main
from srm.machine.language.parse import load, parse
from tests.test_readme import matches

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "terms.md").read_text(encoding="utf-8")
QUICK = ["--posterior.first-look", "30", "--posterior.sweeps", "30", "--frames", "960"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def run(capsys: Capture, *arguments: str) -> str:
    assert main(list(arguments)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys: Capture, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


def test_one_file_goes_from_an_id_to_weights_and_on(capsys: Capture, here: Path) -> None:
    assert "reward_effort" in run(capsys, "terms", "Runner-v0", "-o", "dash.srm", "--frames", "640")
    assert load("dash.srm").name == "dash"
    assert "0 to 60 times ?alive" not in run(capsys, "check", "dash.srm")  # no range is declared
    assert "any number to any number times ?alive" in run(capsys, "check", "dash.srm")
    assert "reward_effort of info" in run(capsys, "words", "dash.srm")
    run(capsys, "demo", "dash.srm", "--expert", "examples.runner:Steady", "-n", "3", "-o", "d.npz")
    out = run(capsys, "infer", "dash.srm", "--demos", "d.npz", *QUICK, "-o", "inferred")
    assert "relative to ?" in out
    assert "farmed" not in out
    learnt = load("inferred/learnt.srm")
    assert learnt.info == load("dash.srm").info
    assert "paid by the machine" in run(capsys, "trace", "inferred/learnt.srm", "d.npz")
    assert "?forward" in run(capsys, "audit", "d.npz", "--machine", "inferred/learnt.srm")
    summary = json.loads((here / "inferred" / "posterior.json").read_text())
    assert {ratio["of"] for ratio in summary["ratios"]} < {"forward", "effort", "alive"}


def test_without_a_file_the_machine_is_printed_and_an_existing_one_is_kept(capsys: Capture, here: Path) -> None:
    out = run(capsys, "terms", "Runner-v0", "--info", "reward_effort", "--frames", "320")
    assert parse(out[out.index("machine ") :]).hole_names == ("effort",)
    (here / "kept.srm").write_text("mine")
    assert "is not written over" in refused(capsys, "terms", "Runner-v0", "-o", "kept.srm")


def test_what_is_no_term_is_one_line(capsys: Capture) -> None:
    assert "did you mean reward_alive?" in refused(
        capsys, "terms", "Runner-v0", "--info", "reward_aliv", "--frames", "64"
    )
    assert "its info is empty" in refused(capsys, "terms", "CartPole-v1", "--frames", "64")
    assert "its info is empty" in refused(capsys, "audit", "CartPole-v1", "--frames", "64")
    assert "--horizon 0" in refused(capsys, "check", "doorkey", "--horizon", "0")
    assert "give --horizon N" in refused(capsys, "check", "doorkey", "--forbid-outweighing")
    assert "ask different questions" in refused(capsys, "check", "doorkey", "--forbid-outweighing", "--forbid-farming")


def test_an_audit_is_json_too(capsys: Capture) -> None:
    audit = json.loads(run(capsys, "audit", "Runner-v0", "--frames", "960", "--json"))
    assert audit["is_task_reward"]
    assert [term["name"] for term in audit["terms"]] == ["reward_forward", "reward_effort", "reward_alive"]


def test_commands_print_what_the_page_shows(capsys: Capture, here: Path) -> None:
    text = "".join(re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    commands = re.findall(r"^\$ srm (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    assert len(commands) == 6
    for command, output in commands:
        main(shlex.split(command))
        printed = capsys.readouterr().out
        assert matches(printed, output), f"srm {command} printed\n{printed}"
    (here / "runner.srm").unlink()
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(code, "docs/terms.md", "exec"), {})
    assert "relative to ?" in capsys.readouterr().out


def test_machines_of_the_page_are_machines() -> None:
    hopper, parking = (text for text in re.findall(r"^```srm\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    assert parse(hopper).info is not None
    assert (ROOT / "examples" / "parking.srm").read_text() == parking
    assert examples.runner.TASK.env_id == "Runner-v0"
