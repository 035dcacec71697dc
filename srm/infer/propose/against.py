"""Where two machines pay differently for the same demonstrations, step by step, in the words of their holes.

Both walk along every demonstration with holes at a value in the middle of what their constraint allows, so that guards are decided. What is
compared is what a step is paid as it is written: `?pick_up_key` against `?find_key - #rewarded * ?open`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srm.domains.base import EventReader
from srm.evaluate.trace import Trace, TracedStep, trace
from srm.infer.posterior.prior import Prior
from srm.machine.language.print import columns
from srm.machine.model import Machine
from srm.trajectory import Trajectory

IDLE = "-"


@dataclass(frozen=True)
class PaidApart:
    """Steps of this kind, what each machine pays for them, and the demonstrations that have one."""

    events: str
    pay: str
    other_pay: str
    numbers: tuple[int, ...]


def compare_pay(
    machine: Machine, other: Machine, event_reader: EventReader, trajectories: Sequence[Trajectory]
) -> tuple[PaidApart, ...]:
    """Every kind of step that either machine pays, in the order in which they first happen."""
    values, other_values = middle_values(machine), middle_values(other)
    rows: dict[tuple[str, str, str], list[int]] = {}
    for number, trajectory in enumerate(trajectories):
        ours = trace(machine, event_reader, trajectory, values)
        theirs = trace(other, event_reader, trajectory, other_values)
        for key in dict.fromkeys(_kinds(ours, theirs)):
            rows.setdefault(key, []).append(number)
    return tuple(PaidApart(*key, tuple(numbers)) for key, numbers in rows.items())


def middle_values(machine: Machine) -> dict[str, float]:
    """Its own values, or a point with room on every side of its constraint."""
    if machine.is_concrete:
        return machine.values()
    prior = Prior.of(machine, machine.constraint())
    return dict(zip(machine.hole_names, prior.rounded(prior.centre[None])[0, :-1].tolist(), strict=True))


def _kinds(ours: Trace, theirs: Trace) -> list[tuple[str, str, str]]:
    pairs = zip(ours.steps, theirs.steps, strict=True)
    return [
        (", ".join(happening.event for happening in one.happened) or "nothing", _written(one), _written(two))
        for one, two in pairs
        if one.kept is not None or two.kept is not None
    ]


def _written(step: TracedStep) -> str:
    return step.kept.written if step.kept is not None else IDLE


def table(rows: Sequence[PaidApart], name: str, other: str, total: int) -> list[str]:
    """Lines for the terminal."""
    cells = [("events of a step", name, other, "demonstrations")]
    cells += [(row.events, row.pay, row.other_pay, f"{len(row.numbers)} of {total}") for row in rows]
    return columns(cells)
