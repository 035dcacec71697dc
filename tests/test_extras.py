"""What is optional: refused with the command that installs it, named by the help, and known to pyproject.toml."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from srm.cli import VERBS, main
from srm.errors import ExtraError
from srm.extras import DISTRIBUTION, MODULE_OF, install, is_missing, require

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_a_missing_package_is_refused_with_what_needs_it_and_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert is_missing("ray")
    with pytest.raises(
        ExtraError, match=r'^--on ray needs ray \(.*\); install it with: pip install "symbolic-.*\[ray\]"$'
    ):
        require("ray", "--on ray")


def test_a_missing_part_is_refused_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "minari.data_collector", None)
    assert not is_missing("minari")
    with pytest.raises(ExtraError, match="data_collector"):
        require("minari", "it", "data_collector")


@pytest.mark.parametrize("verb", [verb for verb, row in VERBS.items() if row.extras])
def test_help_names_a_missing_extra_with_its_command(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for flag, extra in VERBS[verb].extras.items():
        monkeypatch.setitem(sys.modules, MODULE_OF[extra], None)
        with pytest.raises(SystemExit):
            main([*verb.split(), "--help"])
        assert f"{flag} needs {extra}: {install(extra)}" in " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_help_is_silent_about_what_is_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for extra in VERBS["train"].extras.values():
        monkeypatch.setitem(sys.modules, MODULE_OF[extra], SimpleNamespace())  # type: ignore[arg-type]
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    assert "pip install" not in capsys.readouterr().out


def test_every_extra_that_a_refusal_names_exists() -> None:
    assert PROJECT["name"] == DISTRIBUTION
    assert set(MODULE_OF) <= set(PROJECT["optional-dependencies"])


def test_pip_is_never_told_the_name_of_a_stranger() -> None:
    """On the index `srm` is somebody else's, and an extra of ours has one name, wherever it is written."""
    pages = [ROOT / "README.md", *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.ipynb")]
    for path in [*pages, *ROOT.glob("srm/**/*.py"), *ROOT.glob("examples/*.*"), *ROOT.glob("tests/**/*.py")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pip install ['\"`]*srm\b", text), path
        for extra in re.findall(rf"{DISTRIBUTION}\[(\w+)\]", text):
            assert extra in PROJECT["optional-dependencies"], f"{path}: {extra}"
