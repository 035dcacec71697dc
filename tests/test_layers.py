"""Imports go one way: data flows down the list of layers, and a module imports only from those above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import srm
from srm.cli import VERBS

ROOT = Path(srm.__file__).parent
LAYERS = (
    "errors",
    "seeding extension extras files interrupt settings",
    "machine",
    "trajectory",
    "domains",
    "evaluate",
    "rl",
    "infer",
    "runs",
    "suites",
    "report",
    "studio",
    "results",
    "api",
    "cli",
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
ENTRIES = ("__init__.py", "__main__.py")  # of the package itself, above all layers
TORCH = ("rl", "infer", "runs", "suites", "cli")  # the last three only for the verbs below
LEARNERS = ("learn", "train", "eval")  # verbs that need torch; every other one starts without it
INFERRING = "infer"  # needs no torch, but what infers

MODULES = sorted(path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).as_posix() not in ENTRIES)


def layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and module of every import, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_go_down(path: Path) -> None:
    here = layer(path)
    assert here in LEVEL, f"{path}: which layer is {here}?"
    for line, module in imports(path):
        top, *rest = module.split(".")
        if top == "srm":
            assert rest, f"{path}:{line}: write `from srm.x import y`"
            assert rest[0] == here or LEVEL[rest[0]] < LEVEL[here], f"{path}:{line}: {here} imports {rest[0]}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_internal_imports_have_the_one_form(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] == "srm" for alias in node.names), f"{path}:{node.lineno}"
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            assert node.module != "srm", f"{path}:{node.lineno}: write `from srm.x import y`"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_stay_where_they_belong(path: Path) -> None:
    here = layer(path)
    for line, module in imports(path):
        package = module.split(".")[0]
        if package == "torch":
            assert here in TORCH, f"{path}:{line}: {here} imports torch"
        if package in ("numpy", "numba", "scipy", "gymnasium", "minigrid", "envpool"):
            assert here != "machine", f"{path}:{line}: machines are symbols only, and this imports {package}"
        if package in ("minigrid", "envpool"):
            assert here not in ("evaluate", "infer", "rl"), f"{path}:{line}: {here} knows nothing of MiniGrid"


def loaded(code: str, *packages: str) -> list[str]:
    """Which of the packages are loaded once a fresh Python has run the code."""
    code += f"; import sys; print(*(m for m in {packages!r} if m in sys.modules))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_reading_a_machine_loads_nothing_heavy() -> None:
    heavy = "numpy", "torch", "gymnasium", "minigrid", "z3", "matplotlib"
    assert loaded("from srm.machine.language.parse import find_machine; find_machine('doorkey')", *heavy) == []


@pytest.mark.parametrize("module", sorted({row.module for verb, row in VERBS.items() if verb not in LEARNERS}))
def test_verbs_that_learn_nothing_start_without_torch(module: str) -> None:
    of_infer = () if module == VERBS[INFERRING].module else ("srm.infer",)
    assert loaded(f"import {module}", "torch", "srm.rl", *of_infer) == []
