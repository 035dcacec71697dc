"""Once over the events with the holes left open.

`read` walks a machine through a rollout and keeps, for each of the few steps at which anything can be paid, the rules that may
hold there: what of their guards is still open, and what they pay, both affine in the holes. Nodes, counters of events and
hindsight's windows and milestones are worked out here, once, for all assignments (`srm.evaluate.batched` pays them). If the way
through the machine itself depends on the holes, each step keeps what moves the dynamic counters as well, so that an assignment
can follow its own way; see `srm.evaluate.tables` for what is static and what is dynamic.

Episodes run across rollouts: `Carry` holds where each world's machine stands and, for machines with dynamic parts, the
entries of its unfinished episode, since another assignment would have come another way.

    T steps   B worlds   N entries (steps that matter)   M candidates (rules that may hold at an entry)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from srm.errors import TrajectoryError
from srm.evaluate.compiled import walk
from srm.evaluate.program import Program
from srm.evaluate.reference import Ambiguous
from srm.evaluate.tables import Array
from srm.trajectory import Events, Mask


class Entries(NamedTuple):
    """What remains of a rollout. Lists of lists are one array and the offsets where each list begins (`*_from`)."""

    step: Array  # [N]
    world: Array  # [N], grouped by world
    first: Array  # [N] an episode began since the world's last entry
    candidate_from: Array  # [N + 1]
    rule: Array  # [M]
    coefficient_from: Array  # [M] where the candidate's coefficients begin: open comparisons, then pay
    sure: Array  # [M] the guard holds whatever the holes are
    truth_from: Array  # [M] if not sure: what is known of each operation of its guard
    truth: Array
    coefficients: Array
    repay_from: Array  # [M + 1]
    repay_entry: Array
    repay_change: Array
    repay_coefficient_from: Array
    effect_from: Array  # [N + 1]
    effect_counter: Array
    effect_kind: Array


@dataclass(frozen=True, eq=False)
class Residual:
    """A rollout as the machine saw it, with the holes still open."""

    program: Program
    steps: int  # T
    worlds: int  # B
    entries: Entries
    past: tuple[Entries, ...]  # of the episodes that were under way when the rollout began


@dataclass(frozen=True, eq=False)
class Carry:
    """Where each world's machine stands between two rollouts."""

    node: Array  # [B]
    counts: Array  # [B, C] of the static counters
    past: tuple[Entries, ...] = ()


def begin(program: Program, worlds: int) -> Carry:
    """Every world at the start of an episode."""
    counters = len(program.machine.counters)
    return Carry(np.full(worlds, program.tables.start, np.int32), np.zeros((worlds, counters), np.int32))


def read(
    program: Program, events: Events, over: Mask, real: Mask, carry: Carry | None = None
) -> tuple[Residual, Carry]:
    """The rollout with the holes left open, and what the next rollout of the same worlds goes on from.

    `over` [T, B] says where an episode ended or ran out of time; steps that are not `real` [T, B] are not shown.
    """
    if events.attributes.shape[1] != len(program.words.attributes) or events.signals.shape[2] != len(
        program.words.signals
    ):
        raise TrajectoryError(f"these events were not read with the vocabulary {program.words.name} of the machine")
    if over.shape != (events.steps, events.worlds) or real.shape != over.shape:
        raise TrajectoryError(
            f"ends {over.shape} and real steps {real.shape} for events of {(events.steps, events.worlds)}"
        )
    carry = carry or begin(program, events.worlds)
    if len(carry.node) != events.worlds:
        raise TrajectoryError(
            f"{events.worlds} worlds after a rollout of {len(carry.node)}; begin anew for other worlds"
        )
    node, counts = carry.node.copy(), carry.counts.copy()
    happened: dict[str, Array] = {
        "step": events.step.astype(np.int32),
        "world": events.world.astype(np.int32),
        "event": events.event.astype(np.int32),
        "attribute": events.attributes.astype(np.int32),
        "signal": events.signals,
        "over": over,
        "real": real,
    }
    found, clash = walk(program.compiled, happened, node, counts)
    entries = Entries(**found)
    if clash[0] >= 0:
        raise clash_error(program, clash[0], clash[1], clash[2], clash[3])
    residual = Residual(program, events.steps, events.worlds, entries, carry.past)
    past: tuple[Entries, ...] = ()
    if program.tables.dynamic or program.tables.dynamic_node:
        past = _unfinished((*carry.past, entries), over)
    return residual, Carry(node, counts, past)


def clash_error(
    program: Program, step: int, world: int, first: int, second: int, assignment: Mapping[str, float] | None = None
) -> Ambiguous:
    """The error of two rules, given by their indices, that hold together."""
    node, _, label = program.machine.rules[first]
    other = program.machine.rules[second][2]
    return Ambiguous(node.name, label, other, f"step {step} of world {world}", assignment or {})


def _unfinished(chunks: tuple[Entries, ...], over: Mask) -> tuple[Entries, ...]:
    """What is left of the chunks (the last of them this rollout's) when ended episodes are forgotten."""
    *earlier, latest = chunks
    steps = np.arange(over.shape[0])[:, None]
    last_end = np.where(over, steps, -1).max(axis=0, initial=-1)  # [B]
    kept = [_select(chunk, last_end[chunk.world] < 0) for chunk in earlier]
    kept.append(_select(latest, latest.step > last_end[latest.world]))
    return tuple(chunk for chunk in kept if len(chunk.step))


def _select(entries: Entries, keep: npt.NDArray[np.bool_]) -> Entries:
    """Some of the entries; coefficients and truths stay where they are, and re-payments go, their steps being paid."""
    chosen = np.flatnonzero(keep)
    candidates = np.diff(entries.candidate_from)
    effects = np.diff(entries.effect_from)
    of_candidate, of_effect = np.repeat(keep, candidates), np.repeat(keep, effects)
    none = np.zeros(0, np.int32)
    return entries._replace(
        step=entries.step[chosen],
        world=entries.world[chosen],
        first=entries.first[chosen],
        candidate_from=_offsets(candidates[chosen]),
        rule=entries.rule[of_candidate],
        coefficient_from=entries.coefficient_from[of_candidate],
        sure=entries.sure[of_candidate],
        truth_from=entries.truth_from[of_candidate],
        repay_from=np.zeros(int(of_candidate.sum()) + 1, np.int32),
        repay_entry=none,
        repay_change=none,
        repay_coefficient_from=none,
        effect_from=_offsets(effects[chosen]),
        effect_counter=entries.effect_counter[of_effect],
        effect_kind=entries.effect_kind[of_effect],
    )


def _offsets(lengths: Array) -> Array:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
