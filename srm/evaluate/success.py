"""Whether an episode is solved: the task says so (`Task.success`); else it is if the machine that pays has reached an accepting node; else
if it earned a return above 0.

    T steps   B envs

`solved` judges one episode. `SuccessReader` follows successive rollouts of the same envs, in which an episode may take several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from srm.domains.base import EventReader, Task, ended_with_reward
from srm.evaluate import batched
from srm.evaluate.payer import read_rollout
from srm.evaluate.program import Program
from srm.machine.model import Machine
from srm.trajectory import Mask, Rollout, Trajectory, as_rollout


def solved(task: Task, trajectory: Trajectory, machine: Machine | None = None) -> bool:
    """Of one episode. Holes of the machine that have no value count as 0, or as what is nearest to it in their space."""
    if task.success is None and accepts_anything(machine):
        assert machine is not None
        return _accepted(machine, task.event_reader(), trajectory)
    return task.solved(trajectory)


def accepts_anything(machine: Machine | None) -> bool:
    return machine is not None and any(node.accepting for node in machine.nodes)


def accepting_rules(machine: Machine) -> np.ndarray:
    """[R] whether a rule leads to an accepting node."""
    return np.array(
        [machine.node(rule.target or node.name).accepting for node, rule, _ in machine.rules], np.bool_
    ).reshape(-1)


def _accepted(machine: Machine, event_reader: EventReader, trajectory: Trajectory) -> bool:
    if machine.node(machine.start).accepting:
        return True
    residual, _ = read_rollout(
        Program(machine, event_reader.vocabulary), event_reader, as_rollout([trajectory]), "episode"
    )
    paid = batched.pay(residual, np.array([_some_values(machine)]))
    return bool(accepting_rules(machine)[paid.rule[0][paid.rule[0] != batched.IDLE]].any())


def _some_values(machine: Machine) -> list[float]:
    known: Mapping[str, float] = {hole.name: hole.value for hole in machine.holes if hole.value is not None}
    spaces = {within.hole: within.space for within in machine.spaces}
    return [
        known.get(name, min(max(0.0, spaces[name].low), spaces[name].high) if name in spaces else 0.0)
        for name in machine.hole_names
    ]


class SuccessReader:
    """Successive rollouts of the same envs: which of the steps that end an episode end a solved one.

    `pay` gives what the machine made of a rollout, where one pays."""

    def __init__(
        self, task: Task, machine: Machine | None = None, pay: Callable[[Rollout], batched.Paid | None] | None = None
    ) -> None:
        self._machine = machine if task.success is None and accepts_anything(machine) else None
        self._success = None if task.success is ended_with_reward else task.success
        self._pay = pay
        self._reached: Mask | None = None  # [B] whether the episode under way has been accepted
        self._pieces: list[list[Piece]] | None = None  # [B] of the episodes under way, where the task judges them whole

    def read(self, rollout: Rollout) -> Mask | None:
        """[T, B], False at steps that end no episode; None: whoever counts returns knows."""
        if self._success is not None:
            return self._judged(rollout, self._success)
        paid = None if self._machine is None or self._pay is None else self._pay(rollout)
        return None if paid is None else self._accepting(rollout, paid)

    def _accepting(self, rollout: Rollout, paid: batched.Paid) -> Mask:
        assert self._machine is not None
        accepted = np.zeros(rollout.valid.shape, np.bool_)
        fired = np.flatnonzero(paid.rule[0] != batched.IDLE)
        accepted[paid.step[fired], paid.env[fired]] = accepting_rules(self._machine)[paid.rule[0, fired]]
        at_start = self._machine.node(self._machine.start).accepting
        over = rollout.terminated | rollout.truncated
        reached = np.full(rollout.envs, at_start) if self._reached is None else self._reached
        solved = np.zeros_like(accepted)
        for t, row in enumerate(accepted):
            reached = reached | row
            solved[t] = reached & over[t]
            reached = np.where(over[t], at_start, reached)
        self._reached = reached
        return solved

    def _judged(self, rollout: Rollout, success: Callable[[Trajectory], bool]) -> Mask:
        if self._pieces is None:
            self._pieces = [[] for _ in range(rollout.envs)]
        over, solved = rollout.terminated | rollout.truncated, np.zeros(rollout.valid.shape, np.bool_)
        after, poses_after = rollout.after(), rollout.poses_after()
        for env, pieces in enumerate(self._pieces):
            first = 0
            for end in np.flatnonzero(over[:, env]).tolist():
                pieces.append(_piece(rollout, env, first, end + 1))
                last = {"observations": after[end, env], "poses": poses_after[end, env]}
                solved[end, env] = success(_trajectory(pieces, last, bool(rollout.terminated[end, env])))
                pieces.clear()
                first = end + 1
            pieces.append(_piece(rollout, env, first, rollout.steps))
        return solved


Piece = dict[str, np.ndarray]  # steps of an episode; what was seen is that before each


def _piece(rollout: Rollout, env: int, first: int, last: int) -> Piece:
    steps = first + np.flatnonzero(rollout.valid[first:last, env])
    names = ("observations", "actions", "poses", "task_reward")
    info = {f"info {key}": numbers[steps, env] for key, numbers in rollout.info.items()}
    return {name: getattr(rollout, name)[steps, env] for name in names} | info


def _trajectory(pieces: Sequence[Piece], last: Piece, terminated: bool) -> Trajectory:
    keys = dict.fromkeys(key for piece in pieces for key in piece)
    absent = [np.full(len(piece["actions"]), np.nan) for piece in pieces]
    whole = {
        key: np.concatenate([piece.get(key, nothing) for piece, nothing in zip(pieces, absent, strict=True)])
        for key in keys
    }
    seen = {key: np.concatenate([whole[key], value[None]]) for key, value in last.items()}
    info = {key.removeprefix("info "): numbers for key, numbers in whole.items() if key.startswith("info ")}
    return Trajectory(
        actions=whole["actions"], task_reward=whole["task_reward"], terminated=terminated, info=info, **seen
    )
