"""Episodes played in one environment: by an expert, to be shown; from a seed, to be seen again.

Both go through the environment that the task names (its own package's), so what a demonstration shows is what that
package says happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from srm.domains.base import Expert, Task
from srm.domains.envs import make_environment, numbers_of, space_of, stacked_info
from srm.domains.experts import actor_of, plan_of, plans
from srm.domains.registry import packages
from srm.domains.spaces import Choice, action_space_of
from srm.errors import DemonstrationError, TaskError, one_line
from srm.extras import DISTRIBUTION
from srm.seeding import stream
from srm.trajectory import Demonstrations, Observations, Trajectory, plain_arrays

if TYPE_CHECKING:
    import gymnasium

UNKNOWN_SEED = -1
MOST_STEPS = 5000  # of an episode in an environment that knows no time limit
_TRIES = 100  # layouts without a solution are skipped, but not for ever
_FAILURES = 25  # nor is an expert that acts and fails

Action = int | np.ndarray  # as `srm.domains.spaces` has it
Act = Callable[[Sequence[Observations]], Action]  # the observations of an episode so far -> what to do


def record(
    task: Task,
    count: int,
    seed: int,
    solved: Callable[[Trajectory], bool] | None = None,
    *,
    noise: float = 0.0,
    report: Callable[[str], None] = lambda _: None,
) -> Demonstrations:
    """`count` episodes in which the task's expert succeeds, as the task says or as `solved` does. Episodes in which one that acts step by step
    fails are left out, and `report` is told how many."""
    if task.expert is None:
        raise TaskError(
            f"{task.name} has no expert; name one with --expert MODULE:NAME, or import demonstrations with `srm demo import`"
        )
    if noise > 0 and plans(task.expert):
        raise TaskError(
            f"{task.name}: its expert plans a whole episode at once; noise needs one that is act(observation)"
        )
    if count < 1:
        raise TaskError(f"{count} demonstrations of {task.name}: at least one is needed")
    env = task.environment(task.env_id)
    failed: list[int] = []
    episodes = list(islice(_solved(env, task, seed, solved or task.solved, noise, failed), count))
    env.close()
    if failed:
        report(f"{len(failed)} episode{'s' * (len(failed) > 1)} in which the expert failed left out")
    return Demonstrations(
        task=task.name,
        env_id=task.env_id,
        vocabulary=task.vocabulary.name,
        versions=versions_here(),
        seeds=tuple(seed for seed, _ in episodes),
        trajectories=tuple(trajectory for _, trajectory in episodes),
    )


def versions_here() -> dict[str, str]:
    """Of the packages that decide how an episode goes."""
    return {name: version(name) for name in (DISTRIBUTION, *packages(), "gymnasium", "numpy")}


def _solved(
    env: gymnasium.Env,
    task: Task,
    seed: int,
    solved: Callable[[Trajectory], bool],
    noise: float,
    failed: list[int],
) -> Iterator[tuple[int, Trajectory]]:
    """Seeds with the episodes that succeed; those of one that acts and fails are added to `failed`."""
    assert task.expert is not None
    rng, missed, planning = stream(seed, "demonstrations"), 0, plans(task.expert)
    while missed < _TRIES:
        env_seed = int(rng.integers(2**31))
        trajectory = _demonstrate(env, task, task.expert, noise, env_seed)
        missed = 0 if trajectory is not None and solved(trajectory) else missed + 1
        if trajectory is not None and missed:
            failed.append(env_seed)
            if planning or missed == _FAILURES:
                where = f"in the environment of seed {env_seed}" if planning else f"{missed} times in a row"
                raise TaskError(
                    f"{task.env_id}: the expert failed {where}: {_outcome(trajectory)}; {_what_counts(task)}"
                )
        elif trajectory is not None:
            yield env_seed, trajectory
    raise TaskError(f"{task.env_id}: {_TRIES} environments in a row have no solution; choose another environment")


def _demonstrate(env: gymnasium.Env, task: Task, expert: Expert, noise: float, env_seed: int) -> Trajectory | None:
    """The expert's episode; None where it has no plan."""
    if not plans(expert):
        return play(env, actor_of(expert, env, noise, env_seed), env_seed)
    env.reset(seed=env_seed)
    actions = plan_of(expert, env)
    if actions is None:
        return None
    refuse_unknown_actions(env, task, actions, "the expert")
    return play_actions(env, actions, env_seed)


def _outcome(trajectory: Trajectory) -> str:
    how = "was ended by the task" if trajectory.terminated else "was not ended by the task"
    return f"its episode of length {trajectory.steps} has return {trajectory.total_reward:g} and {how}"


def refuse_unknown_actions(env: gymnasium.Env, task: Task, actions: Sequence[Any], whose: str) -> None:
    """Actions that the environment does not have."""
    space = action_space_of(task.env_id, env.action_space)
    for step, action in enumerate(actions):
        if isinstance(space, Choice):
            known = env.action_space.contains(action)
        else:
            numbers = np.asarray(action).reshape(-1)
            fits = numbers.dtype.kind in "iuf" and numbers.shape == space.shape
            known = fits and bool(np.isfinite(numbers).all()) and not space.outside(numbers)
        if not known:
            raise TaskError(
                f"{task.env_id}: action {step} of {whose} is {one_line(action)}, which is not in {env.action_space}"
            )


def _what_counts(task: Task) -> str:
    if task.success is not None:
        return "its `success` says what counts"
    return (
        "it counts if the task ends it with a return above 0; where that is not what succeeding means, give the task "
        "`success`, a function of an episode"
    )


def play(
    env: gymnasium.Env,
    act: Act,
    seed: int,
    most: int = MOST_STEPS,
    watch: Callable[[gymnasium.Env], None] = lambda _: None,
) -> Trajectory:
    """The episode of an actor in the environment of a seed. `watch` gets the environment before the first action and after each."""
    space, action_space = space_of(env), action_space_of(str(env), env.action_space)
    seen, _ = env.reset(seed=seed)
    observations, poses = [space.read(seen)], [space.pose(seen)]
    actions: list[Action] = []
    rewards: list[float] = []
    infos: list[dict[str, float]] = []
    terminated = truncated = False
    watch(env)
    while not (terminated or truncated) and len(actions) < most:
        actions.append(act(observations))
        seen, reward, terminated, truncated, info = env.step(action_space.for_env(actions[-1]))
        observations.append(space.read(seen))
        poses.append(space.pose(seen))
        rewards.append(float(reward))
        infos.append(numbers_of(info))
        watch(env)
    return Trajectory(
        observations=np.stack(observations),
        actions=np.array(actions, action_space.dtype).reshape(len(actions), *action_space.shape),
        poses=np.stack(poses),
        task_reward=np.array(rewards, np.float32),
        terminated=bool(terminated),
        info=stacked_info(infos),
    )


def play_actions(env: gymnasium.Env, actions: Sequence[Any] | np.ndarray, seed: int) -> Trajectory:
    """The episode that takes these actions, whatever is seen, or as many of them as it lasts."""
    return play(env, lambda observations: actions[len(observations) - 1], seed, most=len(actions))


def replay(
    demonstrations: Demonstrations,
    index: int,
    environment: Callable[[str], gymnasium.Env] = make_environment,
) -> Iterator[gymnasium.Env]:
    """The environment before the first action of an episode and after each; it shows the recorded observations, or this fails."""
    trajectory, seed = demonstrations.trajectories[index], demonstrations.seeds[index]
    if seed == UNKNOWN_SEED:
        raise DemonstrationError(f"episode {index}: the seed of its environment is not known, so it cannot be replayed")
    env = environment(demonstrations.env_id)
    space, action_space = space_of(env), action_space_of(demonstrations.env_id, env.action_space)
    seen, _ = env.reset(seed=seed)
    for moment, observation in enumerate(trajectory.observations):
        if moment > 0:
            seen, *_ = env.step(action_space.for_env(trajectory.actions[moment - 1]))
        if not _look_alike(space.read(seen), observation):
            recorded = ", ".join(f"{name} {number}" for name, number in demonstrations.versions.items())
            raise DemonstrationError(
                f"episode {index}: after {moment} actions the environment of seed {seed} looks otherwise than recorded "
                f"(with {recorded}); record it again with `srm demo`"
            )
        yield env
    env.close()


def _look_alike(one: Observations, other: Observations) -> bool:
    """Floats may differ in their last digits, as they do from one processor to another."""
    if one.dtype.names != other.dtype.names or one.shape != other.shape:
        return False
    pairs = zip(plain_arrays(one), plain_arrays(other), strict=True)
    return all(
        np.allclose(a, b, rtol=1e-4, atol=1e-5) if a.dtype.kind == "f" else np.array_equal(a, b)
        for (_, a), (_, b) in pairs
    )
