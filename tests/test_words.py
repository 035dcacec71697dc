"""Names say what a thing is: a few rules that every module of the package keeps."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import srm

ROOT = Path(srm.__file__).parent
PARTICIPLES = {"told", "said", "found", "shown", "asked", "taken"}  # that something happened, not what the thing is
LONGEST = 60  # lines of a function
MODULES = {
    str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))
}
NODES = [(module, node) for module, tree in MODULES.items() for node in ast.walk(tree)]


def participles(node: ast.AST) -> Iterator[str]:
    """The name, if it is one, of a variable, parameter, attribute, function or class that is made here."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield from {name.strip("_")} & PARTICIPLES
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield from {name.strip("_").lower()} & PARTICIPLES


def test_no_name_is_a_participle() -> None:
    assert not [(module, node.lineno, name) for module, node in NODES for name in participles(node)]  # type: ignore[attr-defined]


def test_a_public_class_name_stands_once() -> None:
    classes = Counter(node.name for _, node in NODES if isinstance(node, ast.ClassDef))
    assert not [name for name, count in classes.items() if count > 1 and not name.startswith("_")]


def test_every_module_opens_with_its_idea() -> None:
    assert not [module for module, tree in MODULES.items() if not ast.get_docstring(tree)]


def test_no_function_is_long() -> None:
    functions = [(module, node) for module, node in NODES if isinstance(node, ast.FunctionDef)]
    assert not [(module, f.name) for module, f in functions if (f.end_lineno or 0) - f.lineno >= LONGEST]


@pytest.mark.parametrize(
    "text",
    ["told = 1", "def f(said): ...", "self.found = 1", "def _told(): ...", "for asked in x: ...", "taken: int = 1"],
)
def test_participles_are_noticed_wherever_they_are_made(text: str) -> None:
    assert any(list(participles(node)) for node in ast.walk(ast.parse(text)))
