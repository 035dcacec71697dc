"""Which of two episodes somebody prefers, on disk: a small file of lines of JSON that can be read, edited and joined.

    {"format": "srm-preferences 1", "task": "doorkey", "env_id": "MiniGrid-DoorKey-8x8-v0"}
    {"left": {"seed": 7, "actions": [2, 2, 3]}, "right": {"seed": 9, "actions": [0, 5]}, "answer": "left"}

An episode is the seed of its environment and the actions, from which it is played again. `cannot say` is kept, so that the pair is
not shown again; it is no evidence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from srm.domains.base import Task
from srm.domains.record import MOST_STEPS, play_actions
from srm.errors import DemonstrationError
from srm.files import parse_json, read_whole, write_whole
from srm.trajectory import Trajectory

FORMAT = "srm-preferences 1"
Answer = Literal["left", "right", "equal", "cannot say"]
ANSWERS: tuple[str, ...] = get_args(Answer)
MOST_BYTES = 1 << 26
MOST_ANSWERS = 10_000
MOST_PLAYED = 1_000_000  # steps of all episodes, each played again
_AGAIN = "answer again in the studio, or take the line out"


@dataclass(frozen=True)
class ActionsFromSeed:
    """An episode, as the actions that were taken in the environment of a seed."""

    seed: int
    actions: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63 or not 1 <= len(self.actions) <= MOST_STEPS or min(self.actions) < 0:
            raise ValueError(f"an episode has a seed of 0 or more, and 1 to {MOST_STEPS} actions that are 0 or more")


@dataclass(frozen=True)
class AnsweredPair:
    """Two episodes and what somebody said of them."""

    left: ActionsFromSeed
    right: ActionsFromSeed
    answer: Answer

    @property
    def is_evidence(self) -> bool:
        return self.answer != "cannot say"


@dataclass(frozen=True)
class Preferences:
    """What was answered about one task."""

    task: str
    env_id: str
    comparisons: tuple[AnsweredPair, ...]


def read_preferences(path: Path, task: Task) -> Preferences:
    """The answers of a file, which must be of this task and environment."""
    try:
        lines = read_whole(path, MOST_BYTES).split(b"\n")
    except OSError as error:
        raise DemonstrationError(
            f"{path}: cannot be read: {error.strerror}; `srm studio {task.name}` writes one"
        ) from None
    except ValueError as error:
        raise DemonstrationError(f"{path}: {error}; `srm studio {task.name}` writes one") from None
    if len(lines) > MOST_ANSWERS:
        raise DemonstrationError(f"{path}: more than {MOST_ANSWERS} answers; take some out")
    comparisons = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = parse_json(line)
            if number == 1:
                head = _head(entry)
                continue
            comparisons.append(_comparison(entry))
        except ValueError as error:
            raise DemonstrationError(f"{path}:{number}: {error}; {_AGAIN}") from None
    if not lines[0].strip():
        raise DemonstrationError(f"{path}:1: is no file of preferences; its first line must name its format")
    if head != (task.name, task.env_id):
        raise DemonstrationError(
            f"{path}: compares episodes of {head[0]} in {head[1]}, not of {task.name} in {task.env_id}; name that task"
        )
    return Preferences(*head, tuple(comparisons))


def write_preferences(path: Path, preferences: Preferences) -> None:
    """The file as a whole or not at all."""
    head = {"format": FORMAT, "task": preferences.task, "env_id": preferences.env_id}
    lines = [head, *(_as_json(comparison) for comparison in preferences.comparisons)]
    try:
        write_whole(path, "".join(json.dumps(line) + "\n" for line in lines).encode())
    except OSError as error:
        raise DemonstrationError(f"{path}: cannot be written: {error.strerror}; choose another place") from None


def play_again(preferences: Preferences, task: Task) -> dict[ActionsFromSeed, Trajectory]:
    """Every episode that an answer is evidence about, played again."""
    wanted = dict.fromkeys(
        episode for pair in preferences.comparisons if pair.is_evidence for episode in (pair.left, pair.right)
    )
    if sum(len(episode.actions) for episode in wanted) > MOST_PLAYED:
        raise DemonstrationError(f"the episodes have more than {MOST_PLAYED:,} steps in all; take some answers out")
    env = task.environment(task.env_id)
    trajectories = {}
    for episode in wanted:
        for action in set(episode.actions):
            if not env.action_space.contains(action):
                raise DemonstrationError(f"{task.env_id} has no action {action}; {_AGAIN}")
        trajectory = play_actions(env, episode.actions, episode.seed)
        if trajectory.steps != len(episode.actions):
            raise DemonstrationError(
                f"the environment of seed {episode.seed} ends after {trajectory.steps} of {len(episode.actions)} actions, so "
                f"another version of it was compared; {_AGAIN}"
            )
        trajectories[episode] = trajectory
    env.close()
    return trajectories


def _head(entry: Any) -> tuple[str, str]:
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        raise ValueError(f'the first line must say {{"format": "{FORMAT}", ...}}')
    task, env_id = entry.get("task"), entry.get("env_id")
    if not isinstance(task, str) or not isinstance(env_id, str) or not (task + env_id).isprintable():
        raise ValueError("the first line must name the task and its env_id")
    return task, env_id


def _comparison(entry: Any) -> AnsweredPair:
    if not isinstance(entry, dict) or set(entry) != {"left", "right", "answer"}:
        raise ValueError("a line must have left, right and answer")
    if entry["answer"] not in ANSWERS:
        raise ValueError(f"answer must be one of {', '.join(ANSWERS)}")
    return AnsweredPair(_episode(entry["left"]), _episode(entry["right"]), entry["answer"])


def _episode(entry: Any) -> ActionsFromSeed:
    if not isinstance(entry, dict) or set(entry) != {"seed", "actions"} or not isinstance(entry["actions"], list):
        raise ValueError("an episode must have a seed and actions")
    if not all(type(number) is int for number in (entry["seed"], *entry["actions"])):
        raise ValueError("seeds and actions are whole numbers")
    return ActionsFromSeed(entry["seed"], tuple(entry["actions"]))


def _as_json(comparison: AnsweredPair) -> Mapping[str, Any]:
    left, right = (
        {"seed": episode.seed, "actions": list(episode.actions)} for episode in (comparison.left, comparison.right)
    )
    return {"left": left, "right": right, "answer": comparison.answer}
