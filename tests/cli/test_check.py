"""`srm check` from the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from srm.cli import main
from srm.machine.language.parse import find_machine, library

CLASH = "machine clash\nstart here\n    open_door // 1\n    see_target // 2 -> end\naccept end\n"


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["check", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_report_names_the_machine_the_constraint_and_its_findings(capsys):
    code, out, _ = run(capsys, "doorkey")
    assert code == 0
    assert out.startswith("doorkey under constraint relational\n")
    assert "can never fire once #closed >= 1" in out
    assert re.search(r"with \?goal = -[\d./]+, \?unlock = -", out)  # neither is forced to be a reward
    assert out.endswith("no errors, 3 warnings, 12 notes\n")
    assert "\x1b" not in out


def test_warnings_exit_with_1_only_when_strict(capsys):
    assert run(capsys, "doorkey")[0] == 0
    assert run(capsys, "doorkey", "--strict")[0] == 1
    assert run(capsys, "keycorridor", "--strict")[0] == 0


def test_errors_exit_with_1(capsys, tmp_path):
    file = tmp_path / "clash.srm"
    file.write_text(CLASH.replace("machine clash", "machine clash\nwords minigrid"))
    code, out, _ = run(capsys, str(file))
    assert code == 1
    assert "can hold at one step" in out
    assert "when open_door and see_target" in out


@pytest.mark.parametrize("text", ["machine\n", "machine m\nstart a\n    open_dor // ?x\n", "\0", ""])
def test_bad_files_exit_with_2(capsys, tmp_path, text):
    file = tmp_path / "bad.srm"
    file.write_text(text)
    code, out, err = run(capsys, str(file))
    assert (code, out) == (2, "")
    assert "bad.srm" in err


def test_unknown_machines_constraints_and_vocabularies_exit_with_2_and_a_near_name(capsys):
    assert "did you mean doorkey?" in run(capsys, "dorkey")[2]
    code, _, err = run(capsys, "doorkey", "--constraint", "relationl")
    assert code == 2
    assert "did you mean relational?" in err
    code, _, err = run(capsys, "doorkey", "--words", "minigird")
    assert code == 2
    assert "did you mean minigrid?" in err


def test_words_are_those_of_the_file_unless_told(capsys, tmp_path):
    file = tmp_path / "clash.srm"
    file.write_text(CLASH.replace("see_target", "close_door"))
    assert run(capsys, str(file))[0] == 1  # nothing is known of its events
    assert run(capsys, str(file), "--words", "minigrid")[0] == 0
    assert run(capsys, "doorkey", "--words", "none")[0] == 1
    file.write_text("machine m\nstart here\n    open_dor // 1\n")
    assert run(capsys, str(file), "--words", "minigrid")[0] == 2


def test_another_constraint_or_none_can_be_asked_for(capsys):
    assert (
        "?close: the constraint forces ?close = 0"
        in run(capsys, "obstructedmaze_1", "--constraint", "signs_printed")[1]
    )
    _, out, _ = run(capsys, "keycorridor", "--constraint", "none")
    assert out.startswith("keycorridor without a constraint\n")
    assert "pick_up_key, drop_key: can be repeated without end for gain" in out


def test_two_machines_are_compared(capsys, tmp_path):
    slip = tmp_path / "slip.srm"
    slip.write_text(str(find_machine("keycorridor")).replace("#rewarded * ?open", "#rewarded * ?drop_used"))
    code, out, _ = run(capsys, "keycorridor", "--against", str(slip))
    assert code == 1
    assert "2. pick_up_key at before_finding_key: pays ?find_key - ?open = " in out
    code, out, _ = run(capsys, "keycorridor", "--against", "keycorridor")
    assert code == 0
    assert "pays the same on every trace" in out


def test_json_has_the_same_findings(capsys):
    code, out, _ = run(capsys, "doorkey", "--json")
    report = json.loads(out)
    assert code == 0
    assert (report["machine"], report["constraint"]) == ("doorkey", "relational")
    assert (report["errors"], report["warnings"]) == (0, 3)
    (goal,) = [f for f in report["findings"] if f["place"].startswith('"reward reaching the goal"')]
    assert goal["severity"] == "warning"
    assert goal["witness"]["assignment"]["goal"].startswith("-")
    plain = run(capsys, "doorkey")[1]
    assert all(finding["message"] in plain for finding in report["findings"])


@pytest.mark.parametrize("name", library())
def test_each_shipped_machine_is_checked_without_an_error(name):
    done = subprocess.run([sys.executable, "-m", "srm", "check", name], capture_output=True, check=False, text=True)
    assert done.returncode == 0
    assert "no errors" in done.stdout
    assert "not decided" not in done.stdout


# --forbid-farming


def test_atoms_that_forbid_farming_can_be_pasted_into_the_file(capsys, tmp_path):
    code, out, _ = run(capsys, "keycorridor", "--constraint", "none", "--forbid-farming")
    assert code == 0
    assert out.startswith("constraint unfarmable\n")
    file = tmp_path / "pasted.srm"
    file.write_text(f"{find_machine('keycorridor')}\n{out}")
    assert "no loop can be repeated without end for gain" in run(capsys, str(file), "--constraint", "unfarmable")[1]


def test_atoms_that_forbid_farming_name_the_constraint_they_go_into(capsys):
    assert run(capsys, "doorkey", "--forbid-farming")[1] == (
        "constraint relational  # add to it:\n    # no loop can be repeated without end for gain: nothing to add\n"
    )


def test_what_no_atom_forbids_exits_with_1_only_when_strict(capsys):
    code, out, _ = run(capsys, "keycorridor_revised", "--forbid-farming")
    assert (code, out.count("# unproved: ")) == (0, 1)
    assert run(capsys, "keycorridor_revised", "--forbid-farming", "--strict")[0] == 1


def test_atoms_that_forbid_farming_as_json(capsys):
    told = json.loads(run(capsys, "doorkey", "--constraint", "none", "--forbid-farming", "--json")[1])
    assert told["atoms"][0] == '"no gain from pick_up_key, drop_key at before_unlocking" ?pick + ?drop <= 0'
    assert told["loops"][0] == "node before_unlocking: pick_up_key, drop_key"
    assert told["unproved"] == []


def test_two_questions_at_once_are_refused(capsys):
    code, _, err = run(capsys, "doorkey", "--against", "doorkey", "--forbid-farming")
    assert code == 2
    assert "give one of them" in err
