"""Demonstrations written as seeds and actions, in JSON or CSV: what somebody's own recorder, game or spreadsheet can write.

    [{"seed": 3, "actions": [1, 0, 2], "return": 0.9}, ...]         also under the key "episodes"; the return may be left out

    seed,action                    one row for each action. Rows of the same seed (or number in a column `episode`) that follow one
    3,1                            another are an episode; actions of several numbers have columns action_0, action_1, ...
    3,0

The environment plays every episode again from its seed, and what it then observes and pays is what is kept. An episode that does not
fit the environment is refused.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from srm.domains.base import Task
from srm.domains.record import play_actions, refuse_unknown_actions, versions_here
from srm.errors import DemonstrationError, TaskError, one_line
from srm.files import MOST_JSON, parse_json, read_whole
from srm.trajectory import Demonstrations, Trajectory

SUFFIXES = (".json", ".csv")
MOST_EPISODES = 10_000
MOST_ACTIONS = 1_000_000  # of all episodes together
_KEYS = ("seed", "actions", "return")


@dataclass(frozen=True)
class Script:
    """One episode: where it begins, what is done, and the return it should have, if that is known."""

    seed: int
    actions: Sequence[Any]  # [T] numbers, or [T] lists of them
    expected: float | None = None


def import_script(path: Path, task: Task) -> Demonstrations:
    """The episodes of a file, played in the environment of a task."""
    try:
        text = read_whole(path, MOST_JSON).decode("utf-8-sig")
        scripts = list(_of_csv(text) if path.suffix == ".csv" else _of_json(text))
        _refuse_too_many(scripts)
    except OSError as error:
        raise DemonstrationError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise DemonstrationError(f"{path}: {error}; docs/demonstrations.md shows what such a file holds") from error
    with closing(task.environment(task.env_id)) as env:
        try:
            played = tuple(_played(env, task, number, script) for number, script in enumerate(scripts))
        except (DemonstrationError, TaskError) as error:
            raise DemonstrationError(f"{path}: {error}") from None
    seeds = tuple(script.seed for script in scripts)
    return Demonstrations(task.name, task.env_id, task.vocabulary.name, versions_here(), seeds, played)


def _played(env: Any, task: Task, number: int, script: Script) -> Trajectory:
    """The episode as the environment plays it."""
    whose = f"episode {number} (seed {script.seed})"
    refuse_unknown_actions(env, task, script.actions, whose)
    trajectory = play_actions(env, script.actions, script.seed)
    if trajectory.steps < len(script.actions):
        raise DemonstrationError(
            f"{whose}: {task.env_id} ended it after {trajectory.steps} of its {len(script.actions)} actions; "
            "it was recorded from another seed, or in another environment"
        )
    if script.expected is not None and not math.isclose(
        trajectory.total_reward, script.expected, rel_tol=1e-3, abs_tol=1e-3
    ):
        raise DemonstrationError(
            f"{whose}: has return {trajectory.total_reward:g} in {task.env_id}, not {script.expected:g}; "
            "it was recorded from another seed, or in another environment or version of it"
        )
    return trajectory


def _refuse_too_many(scripts: Sequence[Script]) -> None:
    actions = sum(len(script.actions) for script in scripts)
    if not scripts:
        raise ValueError("it holds no episode")
    if len(scripts) > MOST_EPISODES or actions > MOST_ACTIONS:
        raise ValueError(
            f"{len(scripts):,} episodes of {actions:,} actions in all; at most {MOST_EPISODES:,} of {MOST_ACTIONS:,} are read"
        )


def _of_json(text: str) -> Iterator[Script]:
    whole = parse_json(text)
    episodes = whole.get("episodes") if isinstance(whole, dict) else whole
    if not isinstance(episodes, list):
        raise ValueError("it is no list of episodes")
    for number, episode in enumerate(episodes[: MOST_EPISODES + 1]):
        if not isinstance(episode, dict):
            raise ValueError(f"episode {number}: is no object with seed and actions")
        unknown = [key for key in episode if key not in _KEYS]
        if unknown or not {"seed", "actions"} <= set(episode):
            raise ValueError(
                f"episode {number}: has {', '.join(map(repr, episode))}, expected seed, actions and perhaps return"
            )
        yield _script(f"episode {number}", episode["seed"], episode["actions"], episode.get("return"))


def _script(whose: str, seed: Any, actions: Any, expected: Any = None) -> Script:
    if not _is_whole(seed) or not 0 <= seed < 1 << 63:
        raise ValueError(
            f"{whose}: its seed is {one_line(seed)}, expected a whole number that is 0 or more, of 64 bits"
        )
    if expected is not None and not _is_number(expected):
        raise ValueError(f"{whose}: its return is {one_line(expected)}, expected a number")
    if not isinstance(actions, list) or not actions:
        raise ValueError(f"{whose}: its actions are no list, or an empty one")
    for step, action in enumerate(actions):
        numbers = action if isinstance(action, list) else [action]
        if not numbers or not all(map(_is_number, numbers)):
            raise ValueError(f"{whose}: action {step} is {one_line(action)}, expected a number or a list of numbers")
        if isinstance(action, list) != isinstance(actions[0], list) or len(numbers) != len(np.atleast_1d(actions[0])):
            raise ValueError(f"{whose}: action {step} has another number of numbers than the first")
    return Script(seed, actions, None if expected is None else float(expected))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _of_csv(text: str) -> Iterator[Script]:
    if text.count("\n") > MOST_ACTIONS + 1:  # before a minute is spent on reading them
        raise ValueError(f"it has more than {MOST_ACTIONS:,} rows, each of which is an action")
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    columns = [name for name in rows.fieldnames or () if name == "action" or name.startswith("action_")]
    expected = ["action"] if columns == ["action"] else [f"action_{index}" for index in range(len(columns))]
    if "seed" not in (rows.fieldnames or ()) or not columns or columns != expected:
        raise ValueError("its first line names no columns seed and action, or action_0, action_1, ... in order")
    read = (_row(number, row, columns) for number, row in enumerate(rows, start=2))
    for index, ((_, seed), group) in enumerate(groupby(read, key=lambda row: row[:2])):
        actions = [action for _, _, action in group]
        yield _script(f"episode {index}", seed, actions)


def _row(number: int, row: Mapping[str, Any], columns: Sequence[str]) -> tuple[str, int, Any]:
    """Its episode, its seed and its action."""
    try:
        numbers = [_number(row[name]) for name in columns]
        return str(row.get("episode", "")), int(row["seed"]), numbers[0] if columns == ["action"] else numbers
    except (TypeError, ValueError):
        raise ValueError(f"line {number}: has no number in one of seed, {', '.join(columns)}") from None


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
