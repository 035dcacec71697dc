"""Python and C tell the compiled evaluator's records alike: the same fields in the same order, of the same kind."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from srm.domains.registry import KnownVocabularies
from srm.evaluate import reference
from srm.evaluate._native import compiled, tables
from srm.evaluate.program import Program
from srm.machine import vocabulary
from srm.machine.language.parse import find_machine, library

FOLDER = Path(compiled.__file__).parent
HEADER = re.sub(r"/\*.*?\*/", "", (FOLDER / "machine.h").read_text(), flags=re.DOTALL)
WALK = re.sub(r"/\*.*?\*/", "", (FOLDER / "walk.c").read_text(), flags=re.DOTALL)
POINTERS = {"Ints": np.int32, "Flags": np.uint8, "Reals": np.float64}


def fields_of(source: str, name: str) -> dict[str, str]:
    """The fields of a C struct in order, each with its type."""
    found = re.search(r"typedef struct \{([^{}]*)\} " + name + ";", source)
    assert found, name
    listed = {}
    for line in found.group(1).split(";"):
        kind, _, names = line.strip().partition(" ")
        listed.update({field.strip(): kind for field in names.split(",") if field.strip()})
    return listed


def test_the_tables_of_c_are_those_of_python() -> None:
    fields = fields_of(HEADER, "Tables")
    assert tuple(fields) == tables.Tables._fields
    assert tuple(name for name, kind in fields.items() if kind == "int32_t") == compiled.SCALARS


@pytest.mark.parametrize("name", library())
def test_the_tables_of_every_machine_have_the_types_of_c(name: str) -> None:
    machine = find_machine(name)
    found = Program(machine, KnownVocabularies()[machine.words or ""]).tables
    for field, kind in fields_of(HEADER, "Tables").items():
        if kind in POINTERS:
            assert getattr(found, field).dtype.itemsize == np.dtype(POINTERS[kind]).itemsize, field
            assert getattr(found, field).dtype.kind in ("b" if kind == "Flags" else np.dtype(POINTERS[kind]).kind), (
                field
            )


def test_the_entries_of_c_are_those_of_python() -> None:
    fields = fields_of(HEADER, "Entries")
    assert tuple(fields) == tuple(compiled.ENTRY_TYPES)
    for name, kind in fields.items():
        assert np.dtype(compiled.ENTRY_TYPES[name]).itemsize == np.dtype(POINTERS[kind]).itemsize, name


def test_what_the_walk_gives_and_takes_is_told_alike() -> None:
    assert tuple(fields_of(WALK, "Memory")) == tuple(compiled.ENTRY_TYPES)
    assert set(fields_of(WALK, "Memory").values()) == {"Grown"}
    happened = fields_of(WALK, "Happened")
    assert tuple(happened) == tuple(name for name, *_ in compiled._Happened._fields_)
    kinds = ["pointer" if kind in POINTERS else kind for kind in happened.values()]
    assert kinds == ["int64_t"] * 5 + ["pointer"] * 7
    assert [name.lstrip("*") for name in fields_of(WALK, "Grown")] == ["data", "length", "room"]


@pytest.mark.parametrize(
    "names",
    [
        ("EVENT", "COMPARE", "AND", "OR", "NOT", "TRUE_OP"),
        ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "UNEQUAL"),
        ("SAME", "OTHER", "NEXT_TO"),
        ("EVERY", "LAST"),
    ],
)
def test_codes_are_numbered_alike(names: tuple[str, ...]) -> None:
    assert f"enum {{ {', '.join(names)} }};" in HEADER
    numbers = [getattr(tables, name.removesuffix("_OP")) for name in names]
    assert numbers == list(range(len(names)))


def test_constants_are_alike() -> None:
    defined = dict(re.findall(r"#define (\w+) \(?([-\w.]+)\)?", HEADER))
    assert float(defined["ROUNDING"]) == reference.ROUNDING
    assert int(defined["NOTHING"]) == vocabulary.NOTHING
    assert int(defined["NONE"]) == tables.NONE
    assert int(defined["STRIDE"]) == vocabulary.pack_cell(1, 0)
