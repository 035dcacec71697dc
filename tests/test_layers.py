"""Imports go one way: data flows down the list of layers, and a module imports only from those above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import srm

ROOT = Path(srm.__file__).parent
LAYERS = (
    "errors chance",
    "machine",
    "trajectory",
    "task",
    "evaluate",
    "train",
    "infer",
    "experiment",
    "report",
    "studio",
    "cli",
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
ENTRIES = ("__init__.py", "__main__.py")  # of the package itself, above all layers
TORCH = ("train", "infer")  # layers that may import torch at their top; those below may do so inside functions
LATE_TORCH = ("experiment", "cli", "report")

MODULES = sorted(path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).as_posix() not in ENTRIES)


def layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line, module, and whether it is imported when the module is."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]
    late = {id(inner) for function in functions for inner in ast.walk(function)}
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        at_once = id(node) not in late and id(node) not in typing_only
        if isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or ""), at_once
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, at_once


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_go_down(path: Path) -> None:
    here = layer(path)
    assert here in LEVEL, f"{path}: which layer is {here}?"
    for line, module, _ in imports(path):
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
    for line, module, at_once in imports(path):
        package = module.split(".")[0]
        if package == "torch":
            assert here in TORCH or (here in LATE_TORCH and not at_once), f"{path}:{line}: {here} imports torch"
        if package in ("numpy", "numba", "scipy", "gymnasium", "minigrid", "envpool"):
            assert here != "machine", f"{path}:{line}: machines are symbols only, and this imports {package}"
        if package in ("minigrid", "envpool"):
            assert here not in ("evaluate", "infer", "train"), f"{path}:{line}: {here} knows nothing of MiniGrid"


def test_reading_a_machine_loads_nothing_heavy() -> None:
    code = (
        "import sys; from srm.machine.parse import find_machine; find_machine('doorkey'); "
        "print([m for m in ('numpy', 'torch', 'numba', 'gymnasium', 'z3', 'matplotlib') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
