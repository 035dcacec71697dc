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

from srm.domains.base import Task
from srm.domains.envs import make_environment, numbers_of, space_of, stacked_info
from srm.domains.registry import packages
from srm.domains.spaces import Choice, action_space_of
from srm.errors import DemonstrationError, TaskError
from srm.extras import DISTRIBUTION
from srm.seeding import stream
from srm.trajectory import Demonstrations, Observations, Trajectory, plain_arrays

if TYPE_CHECKING:
    import gymnasium

UNKNOWN_SEED = -1
MOST_STEPS = 5000  # of an episode in an environment that knows no time limit
_TRIES = 100  # layouts without a solution are skipped, but not for ever

Action = int | np.ndarray  # as `srm.domains.spaces` has it
Act = Callable[[Sequence[Observations]], Action]  # the observations of an episode so far -> what to do


def record(task: Task, count: int, seed: int) -> Demonstrations:
    """`count` episodes in which the task's expert succeeds."""
    if task.expert is None:
        raise TaskError(f"{task.name} has no expert; import demonstrations with `srm demo import`")
    if count < 1:
        raise TaskError(f"{count} demonstrations of {task.name}: at least one is needed")
    env = task.environment(task.env_id)
    episodes = list(islice(_solved(env, task, seed), count))
    env.close()
    return Demonstrations(
        task=task.name,
        env_id=task.env_id,
        vocabulary=task.vocabulary.name,
        versions={name: version(name) for name in (DISTRIBUTION, *packages(), "gymnasium", "numpy")},
        seeds=tuple(seed for seed, _ in episodes),
        trajectories=tuple(trajectory for _, trajectory in episodes),
    )


def _solved(env: gymnasium.Env, task: Task, seed: int) -> Iterator[tuple[int, Trajectory]]:
    assert task.expert is not None
    rng, missed = stream(seed, "demonstrations"), 0
    while missed < _TRIES:
        env_seed = int(rng.integers(2**31))
        env.reset(seed=env_seed)
        actions = task.expert(env)
        missed += 1
        if actions is not None:
            missed = 0
            _refuse_unknown_actions(env, task, actions)
            trajectory = play_actions(env, actions, env_seed)
            if not task.solved(trajectory):
                how = "was ended by the task" if trajectory.terminated else "was not ended by the task"
                raise TaskError(
                    f"{task.env_id}: the expert failed in the environment of seed {env_seed}: its episode of length "
                    f"{trajectory.steps} has return {trajectory.total_reward:g} and {how}; {_what_counts(task)}"
                )
            yield env_seed, trajectory
    raise TaskError(f"{task.env_id}: {_TRIES} environments in a row have no solution; choose another environment")


def _refuse_unknown_actions(env: gymnasium.Env, task: Task, actions: Sequence[Any]) -> None:
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
                f"{task.env_id}: action {step} of the expert is {action!r}, which is not in {env.action_space}"
            )


def _what_counts(task: Task) -> str:
    if task.success is not None:
        return "its `success` says what counts"
    return "it counts if the task ends it with a return above 0, or if the task's own `success` says so"


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
