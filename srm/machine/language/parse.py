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
from srm.machine.words import Words


def load(path: str | Path, words: Mapping[str, Words] | None = None) -> Machine:
    """The machine in a file. `words` are the known vocabularies by name: the one the machine names is checked against."""
    return _parse(read_source(path), words)


def parse(text: str | bytes, words: Mapping[str, Words] | None = None, file: str = "<text>") -> Machine:
    """The machine in a text."""
    return _parse(source_of(text, file), words)


def library() -> tuple[str, ...]:
    """The names of the machines that ship with the package."""
    folder = files("srm.machine") / "library"
    return tuple(sorted(entry.name.removesuffix(".srm") for entry in folder.iterdir() if entry.name.endswith(".srm")))


def find_machine(name: str | Path, words: Mapping[str, Words] | None = None) -> Machine:
    """A machine by path or, where there is no such file, by its name in the library."""
    if not str(name):
        raise MachineError(f"name a machine: an .srm file, or one of the library ({', '.join(library())})")
    if not re.fullmatch(r"\w{1,100}", str(name)) or Path(name).exists():
        return load(name, words)
    known = library()
    if str(name) not in known:
        raise MachineError(
            f"{name}: neither a file nor a machine of the library ({', '.join(known)}){near(str(name), known)}"
        )
    return parse((files("srm.machine") / "library" / f"{name}.srm").read_bytes(), words, f"{name}.srm")


def _parse(source: Source, words: Mapping[str, Words] | None) -> Machine:
    reader = MachineReader(source)
    reader.read()
    machine = reader.machine()
    if words is not None and machine.words is not None:
        reader.refuse(_foreign(machine, machine.words, words))
    return machine


def _foreign(machine: Machine, named: str, words: Mapping[str, Words]) -> Iterator[Problem]:
    if named in words:
        yield from find_foreign_words(machine, words[named])
    else:
        known = f"known are {', '.join(words)}" if words else "none is known here"
        own = "; one of your own comes with its task, PACKAGE.MODULE:NAME: --words of `srm check`, the task of other verbs"
        yield Problem(f"unknown vocabulary {named}; {known}{near(named, words) or own}", machine, named)
