"""Demonstrations in words and pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from minigrid.minigrid_env import MiniGridEnv
from PIL import Image

from srm.domains.captions import action_name, captions
from srm.domains.demonstrations import load, shipped
from srm.domains.minigrid.expert_world import read_world
from srm.domains.minigrid.maps import draw_world
from srm.domains.pictures import draw_demonstration, moments
from srm.domains.record import UNKNOWN_SEED, replay
from srm.domains.tasks import find_task
from srm.errors import DemonstrationError
from srm.trajectory import Demonstrations

TASK = find_task("keycorridor")


@pytest.fixture(scope="module")
def ready() -> Demonstrations:
    return load(shipped(TASK))


def test_captions_tell_the_story_in_order(ready: Demonstrations) -> None:
    told = [line.split()[0] for lines in captions(TASK.event_reader(), ready.trajectories[0]) for line in lines]
    assert told == ["open_door", "pick_up_key", "unlock_door", "see_target", "drop_key", "pick_up_target"]


def test_a_caption_names_colours_and_cells(ready: Demonstrations) -> None:
    trajectory = ready.trajectories[0]
    told = captions(TASK.event_reader(), trajectory)
    assert told[-1] == ["pick_up_target blue (5, 3)"]
    assert action_name(TASK.vocabulary, int(trajectory.actions[-1])) == "pickup"


def test_seeing_is_told_again_when_it_begins_again(ready: Demonstrations) -> None:
    """The last step of the episode once more, after a look at nothing."""
    whole = ready.trajectories[0]
    blind = np.zeros_like(whole.observations[:1])
    observations = np.concatenate([whole.observations[-2:-1], blind, whole.observations[-2:]])
    actions = np.array([6, 6, 3])
    twice = replace(
        whole, observations=observations, actions=actions, poses=whole.poses[-4:], task_reward=whole.task_reward[-3:]
    )
    told = captions(TASK.event_reader(), twice)
    assert [[line.split()[0] for line in lines] for lines in told] == [
        ["see_target"],
        [],
        ["pick_up_target", "see_target"],
    ]


def test_a_gif_has_a_frame_for_every_moment(ready: Demonstrations, tmp_path: Path) -> None:
    draw_demonstration(ready, 0, TASK, tmp_path / "demo.gif", pause=0.1)
    with Image.open(tmp_path / "demo.gif") as gif:
        assert gif.n_frames == ready.trajectories[0].steps + 1
        assert gif.info["duration"] == 300, "the first moment is shown longer"


def test_a_strip_shows_the_moments_at_which_something_happened(ready: Demonstrations, tmp_path: Path) -> None:
    draw_demonstration(ready, 0, TASK, tmp_path / "demo.png", pause=0.1)
    eventful = [moment for moment in moments(ready, 0, TASK) if moment.eventful]
    assert len(eventful) == 7, "the start and six steps"
    with Image.open(tmp_path / "demo.png") as strip:
        rows = 2
        assert strip.width > 6 * 256
        assert strip.height > rows * 256
        # There is ink under a frame: the text.
        under = np.asarray(strip.convert("L"))[6 + 256 + 2 : 6 + 256 + 40, 262:518]
        assert under.min() < 100


def test_without_a_seed_the_agents_own_view_is_drawn(ready: Demonstrations) -> None:
    unknown = replace(ready, seeds=(UNKNOWN_SEED,) * len(ready))
    shown = list(moments(unknown, 0, TASK))
    assert len(shown) == ready.trajectories[0].steps + 1
    assert shown[0].picture.shape == (224, 224, 3)


def test_a_world_that_renders_nothing_is_told(ready: Demonstrations, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(env: MiniGridEnv) -> None:
        raise NotImplementedError

    monkeypatch.setattr(MiniGridEnv, "render", silent)
    with pytest.raises(DemonstrationError, match="renders no pictures; leave -o out"):
        list(moments(ready, 0, TASK))


def test_other_kinds_of_pictures_are_refused(ready: Demonstrations, tmp_path: Path) -> None:
    with pytest.raises(DemonstrationError, match=r"is drawn as \.gif or \.png"):
        draw_demonstration(ready, 0, TASK, tmp_path / "demo.bmp", pause=0.1)


def test_a_world_as_text(ready: Demonstrations) -> None:
    maps = [draw_world(read_world(env)).plain.splitlines() for env in replay(ready, 0)]
    assert maps[0][-1] == "in hand: nothing"
    assert maps[-1][-1] == "in hand: o"
    assert [len(line) for line in maps[0][:-1]] == [7] * 7
    assert sum(line.count("L") for line in maps[0]) == 1
    assert sum(line.count("L") for line in maps[-1]) == 0
