"""A machine's pay of B envs step by step, for whoever is paid at once.

    payer = StepPayer(machine, event_reader, values, envs=B)
    payer.begin(seen)                                     every env begins an episode
    payer.step(actions, after, terminated, truncated)     `pay`, `rule`, `nodes` and `counts` are those after the step

The event reader is shown a rollout of one step, which is made once; its arrays are written anew at every step. `srm.evaluate.reference`
says what the pay is. Hindsight comes too late here: `corrected` has what it makes of an episode.

    B envs   C counters   R rules
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from srm.domains.base import EventReader
from srm.domains.info import task_of
from srm.domains.reading import EventStream
from srm.domains.spaces import ActionSpace, Choice, describe
from srm.errors import MachineError, SettingError, TaskError
from srm.evaluate import batched, symbolic
from srm.evaluate._native.compiled import CompiledStep, CompiledTables
from srm.evaluate._native.tables import tables_of
from srm.evaluate.potential import potential, shaping
from srm.evaluate.program import Program
from srm.evaluate.reference import Ambiguous
from srm.machine.model import Machine
from srm.trajectory import Events, Mask, Numbers, Observations, Rollout

Seen = tuple[Observations, Numbers]  # observations [B, ...] and poses [B, P]
MISREAD = (IndexError, ValueError, TypeError, KeyError)  # what numpy says of an observation of another shape


class StepPayer:
    """The machine under one assignment, for each of B envs."""

    def __init__(
        self,
        machine: Machine,
        event_reader: EventReader | None,
        values: Mapping[str, float] | None,
        *,
        envs: int,
        outside_constraint: bool = False,
        action_space: ActionSpace | None = None,
        discount: float | None = None,
    ) -> None:
        """`action_space`: what may be done; one of several things unless given. `discount`: the learner's, if pay is shaped for it."""
        if not isinstance(machine, Machine):
            raise MachineError(f"{machine!r} is no machine; write srm.load({machine!r}, task)")
        if event_reader is not None and not hasattr(event_reader, "read"):
            raise TaskError(f"{type(event_reader).__name__} is no event reader; write task.event_reader()")
        if discount is not None and not 0 <= discount <= 1:
            raise SettingError(f"shaping={discount!r}: give the learner's discount, 0..1")
        self.discount = discount
        event_reader = event_reader or own_reader(machine)
        self.program, self.event_reader, self.envs = Program(machine, event_reader.vocabulary), event_reader, envs
        self.labels = np.array([*(label for _, _, label in machine.rules), None], object)  # [R + 1], by `rule`
        self.node_names = np.array([node.name for node in machine.nodes], object)
        hindsight = [rule.hindsight is not None for _, rule, _ in machine.rules]
        self.repaying = np.array([*hindsight, False], np.bool_)  # [R + 1], by `rule`
        self.repays = self.program.repays
        self._rollout: Rollout | None = None
        self._action_space = action_space or Choice(1)
        self._stream = EventStream(event_reader)
        self._past: list[Events] = []  # the steps of the episodes under way, where hindsight may ask for them
        self._ages = np.zeros(envs, np.int64)  # steps of each
        self._steps: CompiledStep | None = None
        self.concretize(values, outside_constraint=outside_constraint)

    def concretize(self, values: Mapping[str, float] | None, *, outside_constraint: bool = False) -> None:
        """Gives the holes other values, from the next step on. The machines stay where they are."""
        machine, before = self.program.machine, self._steps
        self.assignment = batched.assignment_of(machine, values, outside_constraint=outside_constraint)
        self.values = dict(zip(machine.hole_names, self.assignment.tolist(), strict=True))
        self.tables = CompiledTables(tables_of(machine, self.program.vocabulary, self.values))
        self._steps = steps = CompiledStep(self.tables, self.envs)
        if before is not None:
            steps.nodes[:], steps.counts[:] = before.nodes, before.counts
        self.nodes, self.counts = steps.nodes[:, 0], steps.counts[:, 0]  # [B], [B, C]
        self.potential = (
            None if self.discount is None else potential(machine, self.program.vocabulary, self.values, self.discount)
        )
        self.pay, self.rule = steps.pay[:, 0], steps.rule[:, 0]  # [B], [B] of the last step

    # Episodes

    def begin(self, seen: Seen, envs: Mask | slice = slice(None)) -> None:
        """These envs begin an episode; `seen` is what all of them observe."""
        if self._rollout is None:
            self._rollout = self._empty(seen)
        self._rollout.observations[0], self._rollout.poses[0] = seen
        self.restart(envs)

    def restart(self, envs: Mask | slice | int = slice(None)) -> None:
        """Puts the machines of these envs back to the start."""
        self.nodes[envs] = self.tables.structure.start
        self.counts[envs] = 0
        self._ages[envs] = 0
        self._stream.begin(envs)
        if self._past:
            del self._past[: len(self._past) - int(self._ages.max())]

    def step(
        self,
        actions: npt.NDArray[Any],
        after: Seen,
        terminated: Mask | bool,
        truncated: Mask | bool,
        *,
        valid: Mask | bool = True,
        info: Mapping[str, npt.NDArray[np.float64]] | None = None,
    ) -> None:
        """Pays one step of every env that is `valid`. `after` is of the old episode where a new one has begun; who terminated is not truncated."""
        rollout = self._rollout
        if rollout is None:
            raise TaskError("a step before the first reset; call reset() first, as learners do when they begin")
        steps = self._steps
        assert steps is not None
        self.nodes_before, self.counts_before = self.nodes.copy(), self.counts.copy()
        rollout.observations[1] = after[0]
        if rollout.poses.shape[2]:
            rollout.poses[1] = after[1]
        rollout.actions[0] = np.reshape(actions, rollout.actions.shape[1:]) if self._action_space.shape else actions
        rollout.terminated[0], rollout.truncated[0] = terminated, truncated
        rollout.valid[0] = steps.valid[:] = valid
        if info or rollout.info:
            assert isinstance(rollout.info, dict)
            rollout.info.clear()
            rollout.info.update(info or {})
        events = self._read(rollout)
        self.happened = self._fitting(events)
        steps(*self.happened)
        if steps.clash[0] >= 0:
            self._refuse_clash(steps.clash)
        rollout.observations[0] = rollout.observations[1]
        if rollout.poses.shape[2]:
            rollout.poses[0] = rollout.poses[1]
        self._events = events
        if self.repays:
            self._past.append(self.last_events())
            self._ages += steps.valid

    def shaping(self, terminated: Mask | bool) -> npt.NDArray[np.float64] | float:
        """[B] what is added to the pay of the last step, if pay is shaped; nothing where it was not valid."""
        if self.potential is None or self.discount is None or self._steps is None:
            return 0.0
        return self._steps.valid * shaping(self.potential, self.discount, self.nodes_before, self.nodes, terminated)

    def last_events(self) -> Events:
        """What happened at the last step, to be kept: signals may be a view of what was observed."""
        return replace(self._events, signals=self._events.signals.copy())

    def show(self, seen: Seen) -> None:
        """What the envs observe before the next step, where that is not what they observed after the last."""
        assert self._rollout is not None
        self._rollout.observations[0], self._rollout.poses[0] = seen

    # The parts of a step

    def _empty(self, seen: Seen) -> Rollout:
        """T = 1, to be written into."""
        envs = self.envs
        no = np.zeros((3, 1, envs), np.bool_)
        reward = np.zeros((1, envs), np.float32)
        observations, poses = (np.stack([part, part]) for part in seen)
        return Rollout(
            observations,
            np.zeros((1, envs, *self._action_space.shape), self._action_space.dtype),
            poses,
            reward,
            no[0],
            no[1],
            ~no[2],
            info={},
        )

    def _read(self, rollout: Rollout) -> Events:
        try:
            return self._stream.read(rollout)
        except MISREAD as problem:
            observed = describe(rollout.observations.dtype, rollout.observations.shape[2:])
            raise TaskError(
                f"the words {self.program.vocabulary.name} cannot read observations of {observed}: {problem}; "
                "give those of this environment, or look= to bring its observations into their form"
            ) from problem

    def _fitting(self, events: Events) -> tuple[npt.NDArray[Any], ...]:
        """As the compiled code takes them, which looks things up by these numbers unchecked."""
        vocabulary, signals = self.program.vocabulary, events.signals
        if (
            signals.shape != (1, self.envs, len(vocabulary.signals))
            or events.attributes.shape[1] != len(vocabulary.attributes)
            or (len(events.event) and events.event.max() >= len(vocabulary.events))
        ):
            raise TaskError(
                f"the event reader returned other events than its vocabulary {vocabulary.name} has, or of other steps"
            )
        if len(events.event) == 0:
            return events.env, events.event, events.attributes, np.ascontiguousarray(signals[0], np.float64)
        kinds = (
            (events.env, np.int32),
            (events.event, np.int32),
            (events.attributes, np.int32),
            (signals[0], np.float64),
        )
        return tuple(np.ascontiguousarray(array, kind) for array, kind in kinds)

    def _refuse_clash(self, clash: npt.NDArray[np.int64]) -> None:
        _, env, first, second = clash.tolist()
        node = self.program.machine.rules[first][0].name
        raise Ambiguous(node, self.labels[first], self.labels[second], f"a step of env {env}", self.values)

    # Hindsight

    def corrected(self, env: int) -> npt.NDArray[np.float64]:
        """What each step of the env's episode so far should have been paid, [steps]. Of a machine with hindsight."""
        past = self._past[len(self._past) - int(self._ages[env]) :]
        mine = [events.env == env for events in past]
        step = np.repeat(np.arange(len(past)), [mask.sum() for mask in mine]).astype(np.int32)
        event, attributes = (
            np.concatenate([getattr(events, name)[mask] for events, mask in zip(past, mine, strict=True)])
            for name in ("event", "attributes")
        )
        signals = np.stack([events.signals[0, env] for events in past])[:, None]
        episode = Events(len(past), 1, step, np.zeros(len(step), np.int32), event, attributes, signals)
        over = np.zeros((len(past), 1), np.bool_)
        residual, _ = symbolic.read(self.program, episode, over, ~over)
        corrected: npt.NDArray[np.float64] = batched.pay(residual, self.assignment[None]).dense()[0, :, 0]
        return corrected


def own_reader(machine: Machine) -> EventReader:
    """Of a machine that brings its words along; every other needs an event reader."""
    if machine.info is None:
        raise TaskError(
            f"machine {machine.name} has words that somebody must read: give the event reader of its task, task.event_reader()"
        )
    return task_of(machine).event_reader()
