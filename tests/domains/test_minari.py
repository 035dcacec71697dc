"""Demonstrations go to Minari and come back unharmed."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from srm.domains.demonstrations import load, shipped
from srm.domains.minari import export_minari, import_minari
from srm.domains.minigrid.episodes import reckon_poses
from srm.domains.record import UNKNOWN_SEED
from srm.domains.tasks import find_task
from srm.errors import DemonstrationError, ExtraError
from srm.trajectory import Demonstrations

pytest.importorskip("minari")
TASK = find_task("obstructedmaze")


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Demonstrations:
    """The shipped demonstrations, and a Minari store of this test alone."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return load(shipped(TASK))


def check_equal(one: Demonstrations, other: Demonstrations) -> None:
    assert (one.task, one.env_id, one.vocabulary) == (other.task, other.env_id, other.vocabulary)
    for first, second in zip(one.trajectories, other.trajectories, strict=True):
        for name in ("observations", "actions", "poses", "task_reward", "terminated"):
            assert np.array_equal(getattr(first, name), getattr(second, name))


def test_there_and_back(ready: Demonstrations) -> None:
    export_minari(ready, "srm/maze/expert-v0")
    back = import_minari("srm/maze/expert-v0", TASK)
    check_equal(ready, back)
    assert back.seeds == ready.seeds


def test_without_seeds_what_is_stored_is_taken(ready: Demonstrations) -> None:
    export_minari(replace(ready, seeds=(UNKNOWN_SEED,) * 10), "srm/maze/expert-v0")
    back = import_minari("srm/maze/expert-v0", TASK)
    check_equal(ready, back)
    assert back.seeds == (UNKNOWN_SEED,) * 10


def foreign(ready: Demonstrations, *, seeds: bool) -> None:
    """A dataset as others make it: image and direction, no place."""
    import gymnasium
    import minari
    from minari.data_collector import EpisodeBuffer

    spaces = {"image": gymnasium.spaces.Box(0, 255, (7, 7, 3), np.uint8), "direction": gymnasium.spaces.Discrete(4)}
    buffers = [
        EpisodeBuffer(
            id=index,
            seed=seed if seeds else None,
            observations={"image": episode.observations, "direction": episode.poses[:, 2].astype(np.int64)},
            actions=episode.actions,
            rewards=episode.task_reward.tolist(),
            terminations=[False] * (episode.steps - 1) + [True],
            truncations=[False] * episode.steps,
            infos={},
        )
        for index, (seed, episode) in enumerate(zip(ready.seeds, ready.trajectories, strict=True))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that no author is given
        minari.create_dataset_from_buffers(
            "others/maze-v0",
            buffers,
            env=ready.env_id,
            observation_space=gymnasium.spaces.Dict(spaces),  # type: ignore[arg-type]
            action_space=gymnasium.spaces.Discrete(7),
        )


def test_a_dataset_without_poses_has_its_way_reckoned(ready: Demonstrations) -> None:
    foreign(ready, seeds=False)
    back = import_minari("others/maze-v0", TASK)
    before, after = (TASK.event_reader().read(found.as_rollout()) for found in (ready, back))
    assert np.array_equal(before.event, after.event)
    assert np.array_equal(before.step, after.step)


def test_a_dataset_without_poses_is_played_again_from_its_seeds(ready: Demonstrations) -> None:
    foreign(ready, seeds=True)
    check_equal(ready, import_minari("others/maze-v0", TASK))


def test_reckoned_poses_are_the_true_ones_turned_and_moved(ready: Demonstrations) -> None:
    for episode in ready.trajectories:
        reckoned, true = reckon_poses(episode.observations, episode.actions), episode.poses
        turn = (true[0, 2] - reckoned[0, 2]) % 4
        assert np.array_equal((reckoned[:, 2] + turn) % 4, true[:, 2])
        x, y = (reckoned[:, axis] - reckoned[0, axis] for axis in (0, 1))
        for _ in range(turn):
            x, y = -y, x  # a quarter to the right: +x becomes +y
        assert np.array_equal(np.stack([x, y], 1), true[:, :2] - true[0, :2])


@pytest.mark.parametrize(
    ("work", "problem"),
    [
        (lambda ready: import_minari("absent-v0", TASK), "Minari has no dataset absent-v0 here; `minari list local`"),
        (lambda ready: export_minari(ready, "no name-v0"), "Minari cannot make a dataset no name-v0"),
        (lambda ready: export_minari(ready, "unversioned"), "a name ends in its version, as unversioned-v0"),
        (lambda ready: [export_minari(ready, "twice-v0") for _ in range(2)], "choose another name"),
    ],
)
def test_what_minari_refuses_is_told_in_a_line(ready: Demonstrations, work: Any, problem: str) -> None:
    with pytest.raises(DemonstrationError, match=problem) as caught:
        work(ready)
    assert "\n" not in str(caught.value)


def test_without_minari_the_extra_is_named(ready: Demonstrations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(ExtraError, match=r'pip install "symbolic-reward-machines\[minari\]"'):
        export_minari(ready, "x-v0")
