"""An episode that a person plays, or a policy, or both in turn: a step forwards by an action, a step back by playing again from the seed.

Worlds that can be copied are looked at ahead: the answer to every action is known before a key is pressed, and goes to the page with
the answer to the last one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from srm.domains.base import EventReader, Task
from srm.domains.controls import action_count
from srm.domains.envs import numbers_of, space_of, stacked_info
from srm.domains.record import MOST_STEPS, Act
from srm.domains.scenes import Scene, look, tell
from srm.domains.spaces import ObservationSpace
from srm.errors import SettingError, SrmError
from srm.evaluate.live import LiveTrace, PlayedStep
from srm.machine.model import Machine
from srm.runs.episodes import step_json
from srm.trajectory import Numbers, Observations, Trajectory

MOST_AHEAD = 12  # actions that are tried ahead


@dataclass
class PlayedWorld:
    """An environment between two steps, and the machine that follows it."""

    env: gymnasium.Env
    space: ObservationSpace
    live: LiveTrace
    observation: Observations
    pose: Numbers
    scene: Scene | None
    last: PlayedStep | None = None

    def step(self, action: int) -> None:
        seen, reward, terminated, truncated, info = self.env.step(action)
        before, pose = self.observation, self.pose
        self.observation, self.pose = self.space.read(seen), self.space.pose(seen)
        self.last = PlayedStep(
            before,
            self.observation,
            pose,
            self.pose,
            action,
            float(reward),
            bool(terminated),
            bool(truncated),
            numbers_of(info),
        )
        self.live.add(self.last)
        self.scene = look(self.env)

    def copied(self) -> PlayedWorld:
        return PlayedWorld(
            copy.deepcopy(self.env, _screens(self.env)),
            self.space,
            self.live.fork(),
            self.observation,
            self.pose,
            self.scene,
        )

    @property
    def over(self) -> bool:
        return self.last is not None and (self.last.terminated or self.last.truncated)


class EpisodePlay:
    """One episode under way, of one tab."""

    def __init__(
        self,
        task: Task,
        seed: int,
        machine: Machine,
        event_reader: EventReader,
        values: Mapping[str, float],
        act: Act | None = None,
    ) -> None:
        self.task, self.seed = task, seed
        self._machine, self._event_reader, self._values, self._act = machine, event_reader, values, act
        self._env = task.environment(task.env_id)
        self.actions, self._space = action_count(task, self._env), space_of(self._env)
        self._ahead: dict[int, PlayedWorld] = {}
        self._can_copy = self.actions <= MOST_AHEAD
        self.stored: str | None = None  # the key of the episode, once it is over and kept
        self._begin()

    def _begin(self) -> None:
        seen, _ = self._env.reset(seed=self.seed)
        live = LiveTrace(self._machine, self._event_reader, self._values)
        space = self._space
        self.world = PlayedWorld(self._env, space, live, space.read(seen), space.pose(seen), look(self._env))
        self._first = (self.world.observation, self.world.pose)
        self.steps: list[PlayedStep] = []
        self._acted = 0  # observations that the policy has been shown

    @property
    def at(self) -> int:
        """How many steps were taken."""
        return len(self.steps)

    @property
    def over(self) -> bool:
        return self.world.over or self.at >= MOST_STEPS

    # Steps

    def step(self, action: int | None) -> None:
        """One action; None: the policy's."""
        if self.over:
            raise SettingError("this episode is over; begin a new one")
        chosen = self._chosen() if action is None else action
        if not 0 <= chosen < self.actions:
            raise SettingError(f"there is no action {chosen}; those of {self.task.env_id} are 0 to {self.actions - 1}")
        ready = self._ahead.get(chosen)
        if ready is not None:
            self.world = ready
        else:
            try:
                self.world.step(chosen)
            except SrmError:  # a word of the task that fails; the world went on, and goes back to where the page is
                self._play_again(self.steps)
                raise
        self._ahead = {}
        assert self.world.last is not None
        self.steps.append(self.world.last)

    def undo(self) -> None:
        """One step back."""
        if not self.steps:
            raise SettingError("there is no step to take back")
        self._play_again(self.steps[:-1])

    def _play_again(self, earlier: Sequence[PlayedStep]) -> None:
        """From the seed; each step must look as it did."""
        self._ahead, self._env = {}, self.world.env
        self._begin()
        for step in earlier:
            self.world.step(step.action)
            assert self.world.last is not None
            if not np.array_equal(self.world.last.after, step.after):
                raise SettingError(
                    "this world does not repeat itself, so no step of it can be taken back; begin a new one"
                )
            self.steps.append(self.world.last)

    def repay(self, machine: Machine, values: Mapping[str, float]) -> None:
        """The same episode, followed by another machine, or under other values."""
        self._machine, self._values, self._ahead = machine, values, {}
        self.world.live = LiveTrace(machine, self._event_reader, values)
        for step in self.steps:
            self.world.live.add(step)

    def _chosen(self) -> int:
        """What the policy does. It has seen the whole episode, whoever played it."""
        if self._act is None:
            raise SettingError("no policy plays here; start the studio with --policy RUN")
        observations = [self._first[0], *(step.after for step in self.steps)]
        action = 0
        for seen in range(self._acted, len(observations)):
            action = int(self._act(observations[: seen + 1]))
        self._acted = len(observations)
        return action

    # What the page is sent

    def moment(self, ahead: bool = True) -> dict[str, Any]:
        """The world as it stands, and what each action would lead to, unless a clock goes on before anybody chooses."""
        return {
            "at": self.at,
            "seed": self.seed,
            "over": self.over,
            **_moment_json(self.world),
            "ahead": self._look_ahead() if ahead else {},
        }

    def whole(self) -> dict[str, Any]:
        """The same with every step so far, for a page that knows nothing of the episode."""
        live = self.world.live
        steps = [_step_of(step, live, number) for number, step in enumerate(self.steps)]
        return {**self.moment(), "steps": steps, "start": live.walk.machine.start}

    def _look_ahead(self) -> dict[int, dict[str, Any]]:
        if self.over or not self._can_copy:
            return {}
        try:
            for action in range(self.actions):
                if action not in self._ahead:
                    world = self.world.copied()
                    world.step(action)
                    self._ahead[action] = world
        except Exception:  # of somebody else's environment that cannot be copied, or word; taking the step will say it
            self._can_copy, self._ahead = False, {}
        return {
            action: {"at": self.at + 1, "seed": self.seed, "over": world.over, **_moment_json(world)}
            for action, world in self._ahead.items()
        }

    def trajectory(self) -> Trajectory:
        return Trajectory(
            observations=np.stack([self._first[0], *(step.after for step in self.steps)]),
            actions=np.array([step.action for step in self.steps], np.int64),
            poses=np.stack([self._first[1], *(step.pose_after for step in self.steps)]).astype(np.int16),
            task_reward=np.array([step.reward for step in self.steps], np.float32),
            terminated=self.steps[-1].terminated,
            info=stacked_info([step.info for step in self.steps]),
        )

    def close(self) -> None:
        self.world.env.close()


def _screens(env: gymnasium.Env) -> dict[int, Any]:
    """What Gymnasium's environments draw on, as `deepcopy` takes what it is not to copy: it cannot, and every picture is drawn anew."""
    return {id(part): part for part in vars(env.unwrapped).values() if type(part).__module__.startswith("pygame.")}


def _moment_json(world: PlayedWorld) -> dict[str, Any]:
    live, last = world.live, world.last
    return {
        "scene": tell([world.scene]),
        "node": live.walk.node,
        "counters": dict(live.walk.counts),
        "paid": live.pay,
        "step": None if last is None else _step_of(last, live, -1),
    }


def _step_of(step: PlayedStep, live: LiveTrace, number: int) -> dict[str, Any]:
    traced = live.steps[number]
    return {
        "action": step.action,
        "reward": step.reward,
        "terminated": step.terminated,
        "trace": step_json(traced),
        "from": traced.node,
        "to": traced.target,
        "signals": dict(traced.signals),
    }


Policy = Callable[[int], Act]  # an actor for an episode of a seed


def policy_of(task: Task, named: str, folder: Path) -> Policy:
    """The policy of a run, ready to play in one environment of the task, which the user has `named`."""
    from srm.rl.actor import Actor
    from srm.rl.threads import one_thread
    from srm.runs.policy import read_policy

    trained = read_policy(folder, named if ":" in named else None)
    trained.refuse_other(task, task.env_id)
    envs = task.make_envs(1, 0)
    net = trained.net(envs)
    envs.close()

    def actor(seed: int) -> Act:
        playing = Actor(net, seed)

        def act(observations: Any) -> int:
            with one_thread():
                return int(playing(observations))

        return act

    return actor
