"""The machine that one tab works on: its text, what is wrong with it, and the values that its holes have here.

A machine whose holes are open pays nothing, so that each hole gets a value: the one in the text, the one it had before the text was
changed, or one from the middle of what the constraint allows. A task that comes with no machine begins with one that pays nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from srm.domains.base import Task
from srm.errors import AssignmentError, MachineError, SettingError
from srm.infer.posterior.prior import Prior, spaces
from srm.infer.project import Polytope
from srm.infer.rounding import tidied
from srm.machine.drawing.draw import svg
from srm.machine.holes import Constraint
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.report.run.checks import margins

FILE = "machine"  # what messages call the text
BLANK = """\
# This machine pays nothing yet. Write below `start` what pays:
# an event // an amount. Words are completed as you type.

machine mine
words {words}

start playing
"""
_PLACE = re.compile(rf"^{FILE}:(\d+):(\d+): (.*)$")


@dataclass(frozen=True)
class Bench:
    """A text, and the machine in it with a value for each hole."""

    text: str
    machine: Machine  # with its holes open
    constraint: Constraint | None
    values: Mapping[str, float]
    guessed: bool = False  # whether a hole has its value from the middle of the constraint

    @staticmethod
    def of(task: Task, text: str, before: Mapping[str, float], constraint: str | None = None) -> Bench:
        """Refuses a text that is no machine for the task."""
        written = parse(text, {task.vocabulary.name: task.vocabulary}, FILE)
        names = [chosen.name for chosen in written.constraints]
        chosen = None if constraint == "none" else written.constraint(constraint if constraint in names else None)
        known = {hole.name: hole.value for hole in written.holes if hole.value is not None}
        known |= {name: value for name, value in before.items() if name in written.hole_names and name not in known}
        guessed = any(name not in known for name in written.hole_names)
        return Bench(text, written.opened(), chosen, _filled(written.opened(), chosen, known), guessed)

    def with_values(self, values: Mapping[str, float]) -> Bench:
        unknown = [name for name in values if name not in self.machine.hole_names]
        if unknown:
            raise SettingError(f"machine {self.machine.name} has no hole ?{unknown[0]}")
        return replace(self, values={**self.values, **values}, guessed=False)

    @property
    def assignment(self) -> np.ndarray:
        """[H]."""
        return np.array([self.values[name] for name in self.machine.hole_names], np.float64)

    @property
    def concrete(self) -> Machine:
        return self.machine.concretize(self.values) if self.machine.holes else self.machine

    def as_json(self) -> dict[str, Any]:
        machine = self.machine
        return {
            "text": self.text,
            "name": machine.name,
            "start": machine.start,
            "holes": [
                {
                    "name": hole.name,
                    "value": self.values[hole.name],
                    "low": space.low,
                    "high": space.high,
                    "whole": space.whole,
                }
                for hole, space in zip(machine.holes, spaces(machine), strict=True)
            ],
            "constraints": [constraint.name for constraint in machine.constraints],
            "constraint": None if self.constraint is None else self.constraint.name,
            "rules": {label: str(replace(rule, name=None)) for _, rule, label in machine.rules},
            "drawing": svg(machine, constraint="none" if self.constraint is None else self.constraint.name),
            "margins": self.margins(),
            "guessed": self.guessed,
        }

    def margins(self) -> list[dict[str, Any]]:
        """Of each atom of the constraint, the room that the values leave; below 0 it is broken."""
        if self.constraint is None:
            return []
        return [
            {"atom": str(replace(margin.atom, label=None)), "label": margin.atom.label, "room": margin.room}
            for margin in margins(self.concrete, self.constraint)
        ]


def _filled(machine: Machine, constraint: Constraint | None, known: Mapping[str, float]) -> dict[str, float]:
    """A value for each hole; those not known come from the middle, and none is larger than 1 where that can be."""
    names = machine.hole_names
    if all(name in known for name in names):
        return {name: known[name] for name in names}
    try:
        centre = Prior.of(machine, constraint).centre[:-1]
        smaller = centre / max(np.abs(centre).max(initial=0.0), 1e-9)
        fits = (Polytope.of(machine, constraint).excess(smaller) <= 0).all()
        middle = tidied(machine, constraint, smaller if fits else centre)
    except AssignmentError:  # a constraint that allows nothing, which the checks say
        middle = np.zeros(len(names))
    rounded = [
        round(value, 2) if not space.whole else round(value)
        for value, space in zip(middle.tolist(), spaces(machine), strict=True)
    ]
    return {name: known.get(name, value) for name, value in zip(names, rounded, strict=True)}


def places(error: MachineError) -> list[dict[str, Any]]:
    """Each mistake with its line and column, counted from 1, and its length."""
    mistakes = []
    for problem in error.problems:
        first, *rest = problem.split("\n")
        place = _PLACE.match(first)
        carets = rest[-1].count("^") if rest else 1
        if place:
            line, column, message = place.groups()
            mistakes.append({"line": int(line), "column": int(column), "length": max(1, carets), "message": message})
        else:
            mistakes.append({"line": 1, "column": 1, "length": 1, "message": problem})
    return mistakes
