"""Once over the events with the holes left open.

`read` walks a machine through a rollout and keeps, for each of the few steps at which anything can be paid, the rules that may
hold there: what of their guards is still open, and what they pay, both affine in the holes. Nodes, counters of events and
hindsight's windows and milestones are worked out here, once, for all assignments (`srm.evaluate.batched` pays them). If the way
through the machine itself depends on the holes, each step keeps what moves the dynamic counters as well, so that an assignment
can follow its own way; see `srm.evaluate._native.dynamic` for what is static and what is dynamic.

Episodes run across rollouts: `Carry` holds where each env's machine stands and, for machines with dynamic parts, the
entries of its unfinished episode, since another assignment would have come another way.

    T steps   B envs   N entries (steps that matter)   M candidates (rules that may hold at an entry)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from srm.errors import TrajectoryError
from srm.evaluate._native.compiled import Entries, walk
from srm.evaluate._native.tables import Array
from srm.evaluate.program import Program
from srm.evaluate.reference import Ambiguous
from srm.trajectory import Events, Mask


@dataclass(frozen=True, eq=False)
class Unfinished:
    """Entries of an earlier rollout, and which of them belong to episodes that are still under way."""

    entries: Entries
    chosen: Array  # [n] int32


@dataclass(frozen=True, eq=False)
class Residual:
    """A rollout as the machine saw it, with the holes still open."""

    program: Program
    steps: int  # T
    envs: int  # B
    entries: Entries
    past: tuple[Unfinished, ...]  # of the episodes that were under way when the rollout began


@dataclass(frozen=True, eq=False)
class Carry:
    """Where each env's machine stands between two rollouts."""

    node: Array  # [B]
    counts: Array  # [B, C] of the static counters
    past: tuple[Unfinished, ...] = ()


def begin(program: Program, envs: int) -> Carry:
    """Every env at the start of an episode."""
    counters = len(program.machine.counters)
    return Carry(np.full(envs, program.tables.start, np.int32), np.zeros((envs, counters), np.int32))


def read(
    program: Program, events: Events, over: Mask, valid: Mask, carry: Carry | None = None
) -> tuple[Residual, Carry]:
    """The rollout with the holes left open, and what the next rollout of the same envs goes on from.

    `over` [T, B] says where an episode ended or ran out of time; steps that are not `valid` [T, B] are not shown.
    """
    carry = carry or begin(program, events.envs)
    _refuse_misfits(program, events, over, valid, carry)

    # The walk, which moves node and counts on in place
    node, counts = carry.node.copy(), carry.counts.copy()
    happened: dict[str, Array] = {
        "step": events.step.astype(np.int32, copy=False),
        "env": events.env.astype(np.int32, copy=False),
        "event": events.event.astype(np.int32, copy=False),
        "attribute": events.attributes.astype(np.int32, copy=False),
        "signal": events.signals.astype(np.float64, copy=False),
        "over": over,
        "valid": valid,
    }
    entries, begun, clash = walk(program.compiled, happened, node, counts)
    if clash[0] >= 0:
        raise clash_error(program, clash[0], clash[1], clash[2], clash[3])

    # What is left of the rollout, and what the next one needs of it
    residual = Residual(program, events.steps, events.envs, entries, carry.past)
    past: tuple[Unfinished, ...] = ()
    if program.tables.dynamic or program.tables.dynamic_node:
        past = _unfinished(residual, begun, np.logical_or.reduce(over))
    return residual, Carry(node, counts, past)


def _refuse_misfits(program: Program, events: Events, over: Mask, valid: Mask, carry: Carry) -> None:
    """Refuses what compiled code could not be trusted with: it looks things up by these numbers unchecked."""
    vocabulary = program.vocabulary
    if (events.attributes.shape[1], events.signals.shape[2]) != (len(vocabulary.attributes), len(vocabulary.signals)):
        raise TrajectoryError(f"these events were not read with the vocabulary {vocabulary.name} of the machine")
    if events.event.max(initial=-1) >= len(vocabulary.events):
        raise TrajectoryError(
            f"event {events.event.max()}: the vocabulary {vocabulary.name} has {len(vocabulary.events)}"
        )
    if over.shape != (events.steps, events.envs) or valid.shape != over.shape:
        raise TrajectoryError(
            f"ends {over.shape} and valid steps {valid.shape} for events of {(events.steps, events.envs)}"
        )
    if not valid[events.step, events.env].all():
        raise TrajectoryError(
            "an event happens at a step that is not valid: an event reader reports none where an env was reset"
        )
    if len(carry.node) != events.envs:
        raise TrajectoryError(f"{events.envs} envs after a rollout of {len(carry.node)}; begin anew for other envs")


def clash_error(
    program: Program, step: int, env: int, first: int, second: int, assignment: Mapping[str, float] | None = None
) -> Ambiguous:
    """The error of two rules, given by their indices, that hold together."""
    node, _, label = program.machine.rules[first]
    other = program.machine.rules[second][2]
    return Ambiguous(node.name, label, other, f"step {step} of env {env}", assignment or {})


def _unfinished(residual: Residual, begun: Array, anew: Mask) -> tuple[Unfinished, ...]:
    """What is left of the past and of this rollout when ended episodes are forgotten.

    `begun` [B] is the step at which the episode under way began, and `anew` [B] whether it did so in this rollout.
    """
    latest = residual.entries
    remaining = [
        replace(earlier, chosen=earlier.chosen[~anew[earlier.entries.env[earlier.chosen]]]) for earlier in residual.past
    ]
    under_way = np.flatnonzero(latest.step >= begun[latest.env]).astype(np.int32)
    return tuple(some for some in (*remaining, Unfinished(latest, under_way)) if len(some.chosen))
