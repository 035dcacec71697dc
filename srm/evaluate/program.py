"""A machine made ready for a vocabulary: its tables, and the same as the compiled code takes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from srm.evaluate._native.compiled import CompiledTables
from srm.evaluate._native.tables import Tables, tables_of
from srm.machine.fit import require_words
from srm.machine.model import Machine
from srm.machine.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Program:
    """A machine compiled for a vocabulary; whatever it asks for that the vocabulary lacks is refused when it is made."""

    machine: Machine
    vocabulary: Vocabulary

    def __post_init__(self) -> None:
        require_words(self.machine, self.vocabulary)

    @cached_property
    def repays(self) -> bool:
        """Whether a rule has hindsight."""
        return any(rule.hindsight is not None for _, rule, _ in self.machine.rules)

    @cached_property
    def tables(self) -> Tables:
        return tables_of(self.machine, self.vocabulary)

    @cached_property
    def compiled(self) -> CompiledTables:
        return CompiledTables(self.tables)
