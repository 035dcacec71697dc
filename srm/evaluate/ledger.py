"""What happened at the latest steps of B envs, so that they can be paid again: under other values, or when hindsight has changed them.

    ledger.add(events, over, valid, paid)   the next step, or the next few, and what they were paid
    ledger.pay(assignment) -> [N, B]        what all N steps that are kept should be paid

Older steps are dropped, but where the machines stood after them is known, whatever the values are. Steps are numbered from 0.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from srm.evaluate import batched, symbolic
from srm.evaluate._native.tables import Array
from srm.evaluate.program import Program
from srm.trajectory import Events, Mask


class LedgerEntry(NamedTuple):
    """A few successive steps."""

    events: Events
    over: Mask  # [T, B]
    valid: Mask  # [T, B]
    paid: batched.Floats  # [T, B] when they were made


@dataclass(frozen=True)
class PayShares:
    """What a stretch of steps was paid, by rule and by hole; both add up to the same."""

    rules: dict[str, float]
    holes: dict[str, float]
    constant: float  # what is no hole's


BLOCK = 256  # single steps are laid together: an object for each would take more room than what happened


class Ledger:
    """Successive steps of the same envs; at least the last `steps` of them are kept, and all from number `needed` on."""

    def __init__(self, program: Program, steps: int) -> None:
        self.program, self._room, self._kept = program, steps, 0
        self.count, self.needed = 0, inf  # steps ever added
        self._entries: deque[LedgerEntry] = deque()
        self._latest: list[LedgerEntry] = []
        self._carry: symbolic.Carry | None = None  # before the first entry

    def __len__(self) -> int:
        return self._kept

    def add(self, events: Events, over: Mask, valid: Mask, paid: batched.Floats) -> None:
        self._latest.append(LedgerEntry(events, over, valid, paid))
        self._kept += events.steps
        self.count += events.steps
        if len(self._latest) >= BLOCK:
            self._entries.append(_joined(self._latest))
            self._latest = []
        while self._entries and self._kept - self._entries[0].events.steps >= self._room:
            if self.count - self._kept + self._entries[0].events.steps > self.needed:
                break
            oldest = self._entries.popleft()
            self._kept -= oldest.events.steps
            self._carry = symbolic.read(self.program, *oldest[:3], self._carry)[1]

    def end_episodes(self) -> None:
        """Every env was reset after the last step that was added, whether or not its episode was over."""
        if self._kept:
            (self._latest or self._entries)[-1].over[-1] = True

    def clear(self) -> None:
        """Drops all steps; episodes go on."""
        if self._kept:
            self._carry = self._read()[1]
            self._entries.clear()
            self._latest, self._kept = [], 0

    def pay(self, assignment: batched.Floats) -> batched.Floats:
        """[N, B], oldest first, under an assignment [H]."""
        paid: batched.Floats = batched.pay(self._read()[0], assignment[None]).dense()[0]
        return paid

    def paid(self) -> batched.Floats:
        """[N, B] what the steps were paid when they were made."""
        paid: batched.Floats = np.concatenate([entry.paid for entry in (*self._entries, *self._latest)])
        return paid

    def shares(self, assignment: batched.Floats) -> PayShares:
        """By whom all that is kept was paid."""
        machine = self.program.machine
        paid = batched.pay(self._read()[0], assignment[None], coefficients=True, by_rule=True)
        assert paid.coefficients is not None
        assert paid.contribution is not None
        by_hole = np.zeros(len(machine.holes))
        np.add.at(by_hole, paid.coefficients.hole, paid.coefficients.value[:, 0])
        by_hole *= assignment
        labels = [label for _, _, label in machine.rules]
        by_rule = np.bincount(
            paid.rule[0] + 1, np.nan_to_num(paid.contribution[0]), minlength=len(labels) + 1
        )  # the first: idle
        return PayShares(
            dict(zip(labels, by_rule[1:].tolist(), strict=True)),
            dict(zip(machine.hole_names, by_hole.tolist(), strict=True)),
            float(paid.pay.sum() - by_hole.sum()),
        )

    def side_by_side(self) -> tuple[Array, ...]:
        """What happened at each step of each env, as an env of its own: [n] step * B + env, [n] event, [n, attributes],
        [N * B, signals]."""
        events = _joined([*self._entries, *self._latest]).events
        order = np.lexsort((events.event, events.env, events.step))
        signals = events.signals.reshape(events.steps * events.envs, -1)
        return (
            (events.step[order] * events.envs + events.env[order]).astype(np.int32),
            events.event[order].astype(np.int32),
            np.ascontiguousarray(events.attributes[order], np.int32),
            np.ascontiguousarray(signals, np.float64),
        )

    def _read(self) -> tuple[symbolic.Residual, symbolic.Carry]:
        return symbolic.read(self.program, *_joined([*self._entries, *self._latest])[:3], self._carry)


def _joined(entries: list[LedgerEntry]) -> LedgerEntry:
    columns = (np.concatenate(column) for column in zip(*(entry[1:] for entry in entries), strict=True))
    return LedgerEntry(joined_events([entry.events for entry in entries]), *columns)


def joined_events(parts: list[Events]) -> Events:
    """Successive rollouts of the same envs as one."""
    begin = np.cumsum([0, *(part.steps for part in parts)])
    step = np.concatenate([part.step + offset for part, offset in zip(parts, begin[:-1], strict=True)])
    env, event, attributes, signals = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("env", "event", "attributes", "signals")
    )
    order = np.lexsort((event, step, env))
    return Events(
        int(begin[-1]),
        parts[0].envs,
        step[order].astype(np.int32),
        env[order],
        event[order],
        attributes[order],
        signals,
    )
