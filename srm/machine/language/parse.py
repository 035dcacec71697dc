"""From the text of a machine to a `Machine`, or to every mistake of the text with its place.

Three passes, each of which reports all it finds before the next begins: the lines (what may stand where, and the grammar of
each), the machine (names, affinity), and its words (whether the vocabulary has them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from srm.errors import MachineError, near
from srm.machine.fit import find_foreign_words
from srm.machine.language.reader import MachineReader
from srm.machine.language.source import Source, read_source, source_of
from srm.machine.model import Machine, Problem
from srm.machine.vocabulary import Vocabulary


def load(path: str | Path, vocabularies: Mapping[str, Vocabulary] | None = None) -> Machine:
    """The machine in a file. `vocabularies` are those that are known, by name: the one the machine names is checked against."""
    return _parse(read_source(path), vocabularies)


def parse(text: str | bytes, vocabularies: Mapping[str, Vocabulary] | None = None, file: str = "<text>") -> Machine:
    """The machine in a text."""
    return _parse(source_of(text, file), vocabularies)


def library() -> tuple[str, ...]:
    """The names of the machines that ship with the package."""
    folder = files("srm.machine") / "library"
    return tuple(sorted(entry.name.removesuffix(".srm") for entry in folder.iterdir() if entry.name.endswith(".srm")))


def library_text(name: str) -> str:
    """The text of a machine that ships."""
    return (files("srm.machine") / "library" / f"{name}.srm").read_text(encoding="utf-8")


def find_machine(name: str | Path, vocabularies: Mapping[str, Vocabulary] | None = None) -> Machine:
    """A machine by path or, where there is no such file, by its name in the library."""
    if not str(name):
        raise MachineError(f"name a machine: an .srm file, or one of the library ({', '.join(library())})")
    if not re.fullmatch(r"\w{1,100}", str(name)) or Path(name).exists():
        return load(name, vocabularies)
    known = library()
    if str(name) not in known:
        raise MachineError(
            f"{name}: neither a file nor a machine of the library ({', '.join(known)}){near(str(name), known)}"
        )
    return parse(library_text(str(name)), vocabularies, f"{name}.srm")


def _parse(source: Source, vocabularies: Mapping[str, Vocabulary] | None) -> Machine:
    reader = MachineReader(source)
    reader.read()
    machine = reader.machine()
    if machine.info is not None:
        reader.refuse(find_foreign_words(machine, machine.info.vocabulary))
    elif vocabularies is not None and machine.words is not None:
        reader.refuse(_foreign(machine, machine.words, vocabularies))
    return machine


def _foreign(machine: Machine, named: str, vocabularies: Mapping[str, Vocabulary]) -> Iterator[Problem]:
    if named in vocabularies:
        yield from find_foreign_words(machine, vocabularies[named])
    else:
        known = f"known are {', '.join(vocabularies)}" if vocabularies else "none is known here"
        own = "; one of your own comes with its task, PACKAGE.MODULE:NAME (--task), or with an installed package that adds it"
        yield Problem(f"unknown vocabulary {named}; {known}{near(named, vocabularies) or own}", machine, named)
