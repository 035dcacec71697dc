"""What a reward pays for on given play: which term dominates, what is paid while the task's return stands still, and loops that pay.

    T steps   B envs   H terms

A reward is a sum of terms: numbers of `info` times their weights, or what a machine pays for each of its holes. Everything here is counted on
what was played. What *could* be played is for the proofs (`srm check`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from srm.domains.base import EventReader
from srm.domains.reading import read_events
from srm.evaluate import batched
from srm.evaluate.payer import walk_rollout
from srm.evaluate.program import Program
from srm.machine.language.print import columns
from srm.machine.model import Machine
from srm.trajectory import Events, Mask, Observations, Rollout, plain_arrays

Floats = npt.NDArray[np.float64]

NUMBERS = "numbers"  # what a machine pays without any hole
CELLS = 20  # parts into which the range of each number of an observation is divided, to see where play returns to
MOST_LOOPS = 3
LEAST_SHARE = 0.02  # of all that is paid: a loop that pays less is not listed
STILL = 1e-9  # up to this a number is 0


@dataclass(frozen=True)
class TermShare:
    """What one term pays."""

    name: str
    per_step: float
    per_episode: float | None  # None: no episode came to its end
    share: float  # of all pay, either sign counted as paid
    signed: float | None  # of the sum of all pay; None: that is 0
    correlation: float | None  # of its total in an episode with the task's return; None: one of them never changes
    still: (
        float | None
    )  # share of what it pays above 0 that is paid at steps at which the task's return does not rise; None: it pays nothing above 0


@dataclass(frozen=True)
class PaidLoop:
    """A state that play returned to, and what coming back paid while the task's return did not rise."""

    what: str
    rounds: int
    steps: float  # of a round
    pay: float  # of a round
    share: float  # of all that is paid above 0


@dataclass(frozen=True)
class Audit:
    """What a reward pays for on some play."""

    env_id: str
    player: str
    reward: str
    steps: int
    episodes: int  # that came to their end
    mean_return: float | None  # of these
    terms: tuple[TermShare, ...]
    is_task_reward: bool  # whether the terms are the task's own reward, so that they cannot part ways
    still: float | None  # of all pay above 0: paid at steps at which the task's return does not rise
    loops: tuple[PaidLoop, ...]
    warnings: tuple[str, ...] = ()  # what proofs say of the machine

    @property
    def dominant(self) -> TermShare:
        return max(self.terms, key=lambda term: term.share)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        earned = "" if self.mean_return is None else f", mean return {self.mean_return:.4g}"
        played = f"{self.steps:,} steps, {self.episodes:,} whole episodes{earned}"
        lines = [f"{self.reward} on {self.player} in {self.env_id}: {played}", ""]
        lines += [*columns(self._rows()), ""]
        lines.append(f"{self.dominant.name} dominates: {self.dominant.share:.0%} of what is paid")
        if self.is_task_reward:
            lines.append("the terms are the task's own reward, so that nothing is paid beside it")
        elif self.still is not None:
            lines.append(
                f"{self.still:.0%} of what is paid above 0 is paid while the task's return stands still or falls"
            )
        for loop in self.loops:
            lines.append(
                f"a loop pays: {loop.what}: {loop.rounds:,} rounds of {loop.steps:.3g} steps, {loop.pay:.4g} each, "
                f"{loop.share:.0%} of what is paid above 0, and the task's return does not rise by it"
            )
        return "\n".join([*lines, *(f"srm check: {warning}" for warning in self.warnings)])

    def _rows(self) -> list[tuple[str, ...]]:
        head = ("term", "a step", "an episode", "share", "signed", "with the return", "while it stands still")
        rows = [head, *map(_row, self.terms)]
        return [row[:-1] for row in rows] if self.is_task_reward else rows

    def __repr__(self) -> str:
        return str(self)


def _row(term: TermShare) -> tuple[str, ...]:
    return (
        term.name,
        f"{term.per_step:.4g}",
        "" if term.per_episode is None else f"{term.per_episode:.4g}",
        f"{term.share:.0%}",
        "" if term.signed is None else f"{term.signed:.0%}",
        "" if term.correlation is None else f"{term.correlation:.2f}",
        "" if term.still is None else f"{term.still:.0%}",
    )


def audit_terms(
    rollout: Rollout,
    terms: Mapping[str, Floats],
    env_id: str,
    player: str,
    reward: str,
    events: Events | None = None,
    names: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Audit:
    """`terms` are what each pays, [T, B]; `events` and their `names` say what happens in a loop."""
    paid = np.stack([np.where(rollout.valid, pay, 0.0) for pay in terms.values()])  # [H, T, B]
    task = np.where(rollout.valid, rollout.task_reward.astype(np.float64), 0.0)
    total, still = paid.sum(axis=0), (task < STILL) & rollout.valid
    episode, whole = _episodes(rollout)
    is_task = bool(np.abs(total - task).max(initial=0.0) <= 1e-4 * max(1.0, np.abs(task).max(initial=0.0)))
    everything, above = float(np.abs(paid).sum()), float(np.maximum(total, 0).sum())
    returns = _sums(task, episode, rollout.valid, whole)
    shares = []
    for name, pay in zip(terms, paid, strict=True):
        totals = _sums(pay, episode, rollout.valid, whole)
        shares.append(
            TermShare(
                name,
                float(pay.sum() / max(1, rollout.valid.sum())),
                float(totals.mean()) if len(totals) else None,
                float(np.abs(pay).sum() / everything) if everything else 0.0,
                float(pay.sum() / total.sum()) if abs(total.sum()) > STILL else None,
                _correlation(totals, returns),
                _share(np.maximum(pay, 0), still),
            )
        )
    return Audit(
        env_id,
        player,
        reward,
        int(rollout.valid.sum()),
        int(whole.sum()),
        float(returns.mean()) if len(returns) else None,
        tuple(shares),
        is_task,
        None if is_task else _share(np.maximum(total, 0), still),
        () if is_task or above == 0 else _loops(rollout, total, task, above, events, names),
        tuple(warnings),
    )


def _share(pay: Floats, where: Mask) -> float | None:
    return float(pay[where].sum() / pay.sum()) if pay.sum() > 0 else None


def _correlation(left: Floats, right: Floats) -> float | None:
    if len(left) < 3 or left.std() < STILL or right.std() < STILL:
        return None
    return float(np.corrcoef(left, right)[0, 1])


def _episodes(rollout: Rollout) -> tuple[npt.NDArray[np.intp], Mask]:
    """The number of the episode of each step, [T, B], and whether each was played to its end."""
    over = rollout.terminated | rollout.truncated
    first = np.concatenate([[0], np.cumsum(over.sum(axis=0) + 1)])
    whole = np.ones(first[-1], np.bool_)
    whole[first[1:] - 1] = False
    return first[:-1] + np.cumsum(over, axis=0) - over, whole


def _sums(pay: Floats, episode: npt.NDArray[np.intp], valid: Mask, whole: Mask) -> Floats:
    """Of the whole episodes."""
    return np.bincount(episode[valid], pay[valid], minlength=len(whole))[whole].astype(np.float64)


# Loops


def _loops(
    rollout: Rollout, pay: Floats, task: Floats, above: float, events: Events | None, names: Sequence[str]
) -> tuple[PaidLoop, ...]:
    """The ways back to a state that were paid, most first. Each step counts for the shortest way back that ends with it."""
    cells, happened = _cells(rollout), _happened(rollout, events, names)
    episode, _ = _episodes(rollout)
    rounds: dict[str, list[tuple[int, float]]] = {}
    for env in range(rollout.envs):
        last: dict[tuple[int, int], int] = {}
        begun = 0  # rounds do not overlap
        for step in np.flatnonzero(rollout.valid[:, env]).tolist():
            number = int(episode[step, env])
            last.setdefault((number, int(cells[step, env])), step)
            if (rollout.terminated | rollout.truncated)[step, env]:
                continue
            key = (number, int(cells[step + 1, env]))
            start = last.get(key, -1)
            last[key] = step + 1
            if start < begun:
                continue
            way = slice(start, step + 1)
            if pay[way, env].sum() > STILL and task[way, env].sum() < STILL:
                what = ", ".join(happened[step_] for step_ in _moments(way, env) if step_ in happened)
                rounds.setdefault(what or "nothing happens", []).append((step + 1 - start, float(pay[way, env].sum())))
                begun = step + 1
    listed = [_loop(what, listed_rounds, above) for what, listed_rounds in rounds.items()]
    listed = sorted((loop for loop in listed if loop.share >= LEAST_SHARE), key=lambda loop: -loop.share)
    return tuple(listed[:MOST_LOOPS])


def _moments(way: slice, env: int) -> list[tuple[int, int]]:
    return [(step, env) for step in range(way.start, way.stop)]


def _loop(what: str, rounds: Sequence[tuple[int, float]], above: float) -> PaidLoop:
    steps, pays = np.array([steps for steps, _ in rounds]), np.array([pay for _, pay in rounds])
    return PaidLoop(what, len(rounds), float(steps.mean()), float(pays.mean()), float(pays.sum() / above))


def _cells(rollout: Rollout) -> npt.NDArray[np.intp]:
    """A number for each state, [T + 1, B], by which nearly equal observations and equal poses are the same."""
    parts = [_binned(part) for _, part in plain_arrays(rollout.observations)]
    parts.append(rollout.poses.reshape(rollout.steps + 1, rollout.envs, -1).astype(np.int64))
    rows = np.concatenate(parts, axis=2).reshape((rollout.steps + 1) * rollout.envs, -1)
    _, number = np.unique(rows, axis=0, return_inverse=True)
    cells: npt.NDArray[np.intp] = number.reshape(rollout.steps + 1, rollout.envs)
    return cells


def _binned(observations: Observations) -> npt.NDArray[np.int64]:
    flat = observations.reshape(*observations.shape[:2], -1)
    if flat.dtype.kind != "f":
        return flat.astype(np.int64)
    low, high = flat.min(axis=(0, 1)), flat.max(axis=(0, 1))
    width = np.where(high > low, (high - low) / CELLS, 1.0)
    cells: npt.NDArray[np.int64] = np.floor((flat - low) / width).astype(np.int64)
    return cells


def _happened(rollout: Rollout, events: Events | None, names: Sequence[str]) -> dict[tuple[int, int], str]:
    """The events of each step at which there are any."""
    listed: dict[tuple[int, int], str] = {}
    for step, env, event in zip(events.step, events.env, events.event, strict=True) if events else ():
        place = (int(step), int(env))
        listed[place] = f"{listed[place]} and {names[event]}" if place in listed else names[event]
    return listed


# Machines


def machine_terms(
    machine: Machine, event_reader: EventReader, rollout: Rollout, values: Mapping[str, float] | None = None
) -> tuple[dict[str, Floats], Events]:
    """What a machine pays for each of its holes, [T, B], and without any; and what happened."""
    program = Program(machine, event_reader.vocabulary)
    events = read_events(event_reader, rollout)
    residual, _ = walk_rollout(program, rollout, events)
    assignment = batched.assignment_of(machine, values, outside_constraint=True)
    paid = batched.pay(residual, assignment[None], coefficients=True)
    assert paid.coefficients is not None
    by_hole = paid.coefficients.dense()[0] * assignment  # [N, H]
    parts = {f"?{name}": by_hole[:, index] for index, name in enumerate(machine.hole_names)}
    rest = paid.pay[0] - by_hole.sum(axis=1)
    if np.abs(rest).max(initial=0.0) > STILL or not parts:
        parts[NUMBERS] = rest
    spread = {name: np.zeros((rollout.steps, rollout.envs)) for name in parts}
    for name, pay in parts.items():
        spread[name][paid.step, paid.env] = pay
    return spread, events
