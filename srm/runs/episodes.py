"""Episodes to replay: every demonstration, and some that the policy plays, with what the machine said of each step.

`record_episodes` gives plain data for a page; it is written into a run as episodes.json.

    format, task, env_id, machine
    values     {hole: number} under which the machine paid
    actions    {number: name} of those that were taken
    rules      {label: text} of the machine's rules
    thresholds {signal: {comparison that cuts it: number}}
    episodes   a list; of each
        kind       "demonstration" or "policy"        number   counted from 1 within its kind
        env_id, seed (-1: not known)                  terminated  False: time ran out        solved
        return     the task's reward in all           pay      the machine's, hindsight included
        actions    [T], or [T] lists of several       rewards  [step, task reward] where there was any
        trace      what the machine said, of the steps at which anything happened (`step_json`)
        counters   [step, {counter: count before the step}], where one differs from the step before
        signals    [T] of {signal: number}; left out where the vocabulary has none
        holes      {hole: amount}, and                rules    {label: [times fired, amount]}; both add up to `pay`
        the scene's kind, `grid` or `pictures`, as in `srm.domains.scenes`; left out if the environment cannot be shown
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from srm.domains.base import Task
from srm.domains.captions import action_name
from srm.domains.record import UNKNOWN_SEED, Act, play, replay
from srm.domains.registry import domain_of, domain_of_env
from srm.domains.scenes import Picture, Scene, look, tell
from srm.errors import DemonstrationError
from srm.evaluate.explain import Amount
from srm.evaluate.success import solved
from srm.evaluate.thresholds import thresholds
from srm.evaluate.trace import Reason, Trace, TracedStep, total, trace
from srm.machine.model import Machine
from srm.seeding import stream
from srm.trajectory import Demonstrations, Trajectory

if TYPE_CHECKING:
    import gymnasium

FORMAT = "srm-episodes 1"
MOST_PICTURES = 750_000  # bytes of rendered pictures of demonstrations, and of the policy: a page of 3 MB opens at once


@dataclass(frozen=True, eq=False)
class Episode:
    """One episode and what it looked like, T + 1 moments."""

    kind: str
    number: int
    env_id: str
    seed: int
    trajectory: Trajectory
    moments: Sequence[Scene | None]


def record_episodes(
    task: Task, machine: Machine, demonstrations: Demonstrations, act: Act | None, count: int = 10, seed: int = 0
) -> dict[str, Any]:
    """All demonstrations, then `count` episodes of a policy in the task's environment, if it can act there. The machine is a concrete one."""
    episodes = [*_demonstrated(task, demonstrations), *(() if act is None else _played(task, act, count, seed))]
    values, records = machine.values(), []
    for episode in episodes:
        traced = trace(machine, task.event_reader(), episode.trajectory, values)
        known = {"solved": solved(task, episode.trajectory, machine)}
        records.append(episode_json(machine, episode, traced) | known | tell(episode.moments))
    actions = sorted({action for record in records for action in record["actions"] if isinstance(action, int)})
    return {
        "format": FORMAT,
        "task": task.name,
        "env_id": task.env_id,
        "machine": machine.name,
        "values": values,
        "actions": {action: action_name(task.vocabulary, action) for action in actions},
        "rules": {label: str(rule) for _, rule, label in machine.rules},
        "thresholds": thresholds(machine, values),
        "episodes": records,
    }


# Playing


class Camera:
    """Keeps what an episode looks like, unless its pictures take more than `room` bytes. Rendering takes longer than playing (LunarLander: 7 ms a
    picture, 0.1 ms a step), so nothing is rendered that would not be kept."""

    def __init__(self, room: float = inf) -> None:
        self.moments: list[Scene | None] = []
        self.left = room  # below 0: the pictures do not fit, and no others are looked at
        self._distinct: set[bytes] = set()

    def __call__(self, env: gymnasium.Env) -> None:
        if self.left < 0:
            return
        moment = look(env)
        self.moments.append(moment)
        if isinstance(moment, Picture) and moment.webp not in self._distinct:
            self._distinct.add(moment.webp)
            self.left -= len(moment.webp)
        if self.left < 0:
            self.moments.clear()


def _demonstrated(task: Task, demonstrations: Demonstrations) -> Iterator[Episode]:
    camera = Camera(MOST_PICTURES)
    for index, trajectory in enumerate(demonstrations.trajectories):
        camera = Camera(camera.left)
        moments = moments_of(task, demonstrations, index, camera)
        seed = demonstrations.seeds[index]
        yield Episode("demonstration", index + 1, demonstrations.env_id, seed, trajectory, moments)


def moments_of(
    task: Task, demonstrations: Demonstrations, index: int, camera: Camera | None = None
) -> Sequence[Scene | None]:
    """What an episode looked like, T + 1 moments: replayed in its environment, or as its observations alone show it."""
    camera = camera or Camera()
    if demonstrations.seeds[index] != UNKNOWN_SEED and _replay(task, demonstrations, index, camera):
        return camera.moments
    domain = domain_of(task.vocabulary)
    glance = None if domain is None else domain.look_through
    observations = demonstrations.trajectories[index].observations
    return [None if glance is None else glance(observation) for observation in observations]


def _replay(task: Task, demonstrations: Demonstrations, index: int, camera: Camera) -> bool:
    """Not where the environment cannot be made again as it was (another version of the package made it)."""
    try:
        for env in replay(demonstrations, index, task.environment):
            camera(env)
    except DemonstrationError:
        return False
    return True


def _played(task: Task, act: Act, count: int, seed: int) -> Iterator[Episode]:
    env = task.environment(task.env_id)
    domain = domain_of_env(env)
    if domain is not None and domain.compile_env is not None:
        env = domain.compile_env(env)
    seeds = stream(seed, "worlds of recorded episodes").integers(2**31, size=count).tolist()
    camera = Camera(MOST_PICTURES)
    for number, env_seed in enumerate(seeds, start=1):
        camera = Camera(camera.left)
        yield Episode("policy", number, task.env_id, env_seed, play(env, act, env_seed, watch=camera), camera.moments)
    env.close()


# As plain data


def episode_json(machine: Machine, episode: Episode, traced: Trace) -> dict[str, Any]:
    """All but its scenes. The machine is a concrete one."""
    trajectory, sums = episode.trajectory, total(machine, machine.values(), [traced])
    record = {
        "kind": episode.kind,
        "number": episode.number,
        "env_id": episode.env_id,
        "seed": episode.seed,
        "terminated": trajectory.terminated,
        "return": _short(trajectory.total_reward),
        "pay": _short(traced.pay),
        "actions": [_plain_action(action) for action in trajectory.actions.tolist()],
        "rewards": [[step, _short(reward)] for step, reward in enumerate(trajectory.task_reward.tolist()) if reward],
        "trace": [step_json(step) for step in traced.steps if step.happened or not step.is_idle],
        "counters": list(_counters(traced)),
        "holes": {row.hole or "": _short(row.amount) for row in sums.holes if row.paid},
        "rules": {row.rule: [row.fired, _short(row.amount)] for row in sums.rules if row.fired},
    }
    if traced.steps[0].signals:
        record["signals"] = [{name: _short(value) for name, value in step.signals.items()} for step in traced.steps]
    return record


def step_json(step: TracedStep) -> dict[str, Any]:
    """One step; what does not apply is left out."""
    record: dict[str, Any] = {
        "step": step.step,
        "events": [str(happening) for happening in step.happened],
        "rule": step.fired.rule if step.fired else None,
        "because": _because(step.fired) if step.fired else None,
        "pay": _amount_json(step.pay),
        "to": step.target if step.target != step.node else None,
        "refused": [[reason.rule, _because(reason) or reason.guard] for reason in step.refused if not reason.holds],
        "repaid": [
            {"step": change.step, "before": _short(change.before), "now": _short(change.now.value)}
            for change in step.repaid
        ],
    }
    if step.repaid_at is not None:
        record["kept"], record["repaid_at"] = _short(step.value), step.repaid_at
    return {name: value for name, value in record.items() if value not in (None, [])}


def _because(reason: Reason) -> str | None:
    """The guard with its comparisons worked out; nothing where it has none and so says it all itself."""
    return reason.in_numbers if reason.in_numbers != reason.guard else None


def _amount_json(amount: Amount | None) -> dict[str, Any] | None:
    if amount is None:
        return None
    shares = {share.hole or "": _short(share.amount) for share in amount.shares}
    return {
        "value": _short(amount.value),
        "written": amount.written,
        "in_numbers": amount.in_numbers,
        "shares": shares,
    }


def _counters(traced: Trace) -> Iterator[list[Any]]:
    before: Mapping[str, int] = {}
    for step in traced.steps:
        changed = {name: count for name, count in step.counters.items() if before.get(name) != count}
        if changed:
            yield [step.step, changed]
        before = step.counters


def _plain_action(action: Any) -> Any:
    return [_short(number) for number in action] if isinstance(action, list) else action


def _short(value: float) -> float:
    return float(f"{value:.6g}")
