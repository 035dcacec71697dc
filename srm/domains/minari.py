"""Demonstrations to and from Minari datasets (the extra `minari`).

A dataset of ours observes `image` (the observation) and `pose`, or the fields of a structured observation; MiniGrid's mission text is left
out, since Minari cannot store it. Observations are stored as they are, not as JPEG. Actions are floats where the environment takes floats.

A dataset of others need not have poses. An episode with a seed is played again in the environment. Otherwise its domain
may reckon the poses from what was seen and done.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from srm.domains.base import Task
from srm.domains.envs import space_of
from srm.domains.record import UNKNOWN_SEED, play_actions
from srm.domains.registry import domain_named, domain_of, register_environments
from srm.domains.spaces import ObservationSpace, action_space_of
from srm.domains.tasks import ENVIRONMENTS
from srm.errors import DemonstrationError
from srm.extras import require
from srm.trajectory import Demonstrations, Trajectory, plain_arrays


def export_minari(demonstrations: Demonstrations, dataset: str) -> None:
    """Adds a dataset to the local Minari store."""
    register_environments(demonstrations.env_id)  # which the dataset names
    minari, first = require("minari", "a Minari dataset", "data_collector"), demonstrations.trajectories[0]
    if not re.search(r"-v\d+$", dataset):  # Minari would find out when half of it is written
        raise DemonstrationError(f"Minari cannot make a dataset {dataset}: a name ends in its version, as {dataset}-v0")
    space: dict[str, gymnasium.Space[Any]] = {name: _box(array) for name, array in _arrays(first).items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that no author or permalink is given
            minari.create_dataset_from_buffers(
                dataset,
                list(_buffers(minari, demonstrations)),
                env=gymnasium.registry.get(demonstrations.env_id),
                observation_space=gymnasium.spaces.Dict(space),
                action_space=_action_space(demonstrations),
                algorithm_name="demonstration",
                jpeg_encoding=False,
            )
    except ValueError as error:
        raise DemonstrationError(f"Minari cannot make a dataset {dataset}: {error}; choose another name") from error


def _arrays(episode: Trajectory) -> dict[str, np.ndarray]:
    """What a dataset observes, by name."""
    if episode.observations.dtype.names is None:
        return {"image": episode.observations, "pose": episode.poses}
    return dict(plain_arrays(episode.observations))


def _action_space(demonstrations: Demonstrations) -> gymnasium.Space[Any]:
    """Just wide enough, where the environment itself cannot be asked."""
    actions = np.concatenate([episode.actions for episode in demonstrations.trajectories])
    domain = domain_named(demonstrations.vocabulary)
    if actions.dtype.kind == "f":
        return gymnasium.spaces.Box(actions.min(axis=0), actions.max(axis=0), dtype=np.float32)
    if domain is not None:
        return gymnasium.spaces.Discrete(len(domain.actions))
    if actions.ndim == 2:
        return gymnasium.spaces.MultiDiscrete(actions.max(axis=0) + 1)
    return gymnasium.spaces.Discrete(int(actions.max()) + 1)


def _buffers(minari: Any, demonstrations: Demonstrations) -> Iterator[Any]:
    pairs = zip(demonstrations.seeds, demonstrations.trajectories, strict=True)
    for index, (seed, episode) in enumerate(pairs):
        before = [False] * (episode.steps - 1)
        yield minari.data_collector.EpisodeBuffer(
            id=index,
            seed=None if seed == UNKNOWN_SEED else seed,
            observations=_arrays(episode),
            actions=episode.actions,
            rewards=episode.task_reward.tolist(),
            terminations=[*before, episode.terminated],
            truncations=[*before, not episode.terminated],
            infos={},
        )


def import_minari(dataset: str, task: Task) -> Demonstrations:
    """The episodes of a dataset of the local Minari store, as demonstrations of a task."""
    minari = require("minari", "a Minari dataset", "data_collector")
    try:
        source = minari.load_dataset(dataset)
    except (FileNotFoundError, ValueError) as error:
        raise DemonstrationError(
            f"Minari has no dataset {dataset} here; `minari list local` names those that are, `minari download` fetches more"
        ) from error
    env_id = source.env_spec.id if source.env_spec is not None else task.env_id
    family = next((name for name, ids in ENVIRONMENTS.items() if env_id in ids), task.name)
    if family != task.name:
        raise DemonstrationError(
            f"{dataset} was recorded in {env_id}, which is of the task {family}; give --task {family}"
        )
    env = task.environment(env_id)
    seeds, trajectories = [], []
    for episode, about in zip(source, source.storage.get_episode_metadata(source.episode_indices), strict=True):
        seed = int(about.get("seed", UNKNOWN_SEED))
        trajectory = None if seed == UNKNOWN_SEED else _played_again(env, seed, episode)
        if trajectory is None:
            seed, trajectory = UNKNOWN_SEED, _as_stored(episode, task, env)
        seeds.append(seed)
        trajectories.append(trajectory)
    env.close()
    versions = {"minari": source.spec.minari_version}
    return Demonstrations(task.name, env_id, task.vocabulary.name, versions, tuple(seeds), tuple(trajectories))


def _played_again(env: gymnasium.Env, seed: int, episode: Any) -> Trajectory | None:
    """The episode as the environment plays it; None if it now goes otherwise."""
    trajectory = play_actions(env, episode.actions, seed)
    same = trajectory.steps == len(episode.rewards) and np.allclose(trajectory.task_reward, episode.rewards)
    return trajectory if same and trajectory.terminated == bool(episode.terminations[-1]) else None


def _as_stored(episode: Any, task: Task, env: gymnasium.Env) -> Trajectory:
    space, action_space = space_of(env), action_space_of(task.env_id, env.action_space)
    stored, observations = episode.observations, _observations(episode.observations, space)
    actions = np.asarray(episode.actions, action_space.dtype).reshape(len(episode.rewards), *action_space.shape)
    domain = domain_of(task.vocabulary)
    if isinstance(stored, dict) and "pose" in stored and not space.structured:
        poses = np.asarray(stored["pose"], np.int16)
    elif domain is not None and domain.reckon_poses is not None:
        poses = domain.reckon_poses(observations, actions)
    else:
        poses = np.zeros((len(observations), 0), np.int16)
    return Trajectory(
        observations, actions, poses, np.asarray(episode.rewards, np.float32), bool(episode.terminations[-1])
    )


def _observations(stored: Any, space: ObservationSpace) -> np.ndarray:
    if not space.structured:
        return np.asarray(stored["image"] if isinstance(stored, dict) else stored)
    if isinstance(stored, dict) and set(stored) == {part.name for part in space.parts}:  # the fields, as ours have them
        observations = np.empty(len(next(iter(stored.values()))), space.dtype)
        for name, array in stored.items():
            observations[name] = array
        return observations
    return space.read(stored)


def _box(array: np.ndarray) -> gymnasium.spaces.Box:
    if array.dtype.kind == "f":
        return gymnasium.spaces.Box(-np.inf, np.inf, array.shape[1:], array.dtype.type)
    limits = np.iinfo(array.dtype)
    return gymnasium.spaces.Box(limits.min, limits.max, array.shape[1:], array.dtype.type)
