"""Whatever Gymnasium's spaces hold becomes arrays, and the environment gets back what it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from hypothesis import given
from hypothesis import strategies as st

from srm.domains.base import Task
from srm.domains.demonstrations import load, refuse_misfit, save
from srm.domains.envs import gather, space_of
from srm.domains.record import play_actions, replay
from srm.domains.spaces import Bounds, action_space_of, observation_space_of
from srm.domains.words import Vocabulary
from srm.errors import DemonstrationError, TaskError
from srm.seeding import stream
from srm.trajectory import Demonstrations, Rollout, Trajectory
from tests.domains.any_spaces import ACTIONS, IMAGE, OBSERVATIONS, VECTOR, AnySpaces, any_envs

DICT, BOX = OBSERVATIONS["dict"], ACTIONS["box"]
ANY = "AnySpaces-v0"


@pytest.fixture
def registered() -> Iterator[None]:
    gymnasium.register(
        ANY, entry_point="tests.domains.any_spaces:dict_and_box", disable_env_checker=True, order_enforce=False
    )
    yield
    gymnasium.registry.pop(ANY)


def random_rollout(observations: spaces.Space[Any], actions: spaces.Space[Any], mode: AutoresetMode) -> Rollout:
    envs, rng = any_envs(observations, actions, mode=mode), stream(0, "actions")
    begun, poses = envs.reset()
    drawn = [envs.action_space.draw(rng, envs.count) for _ in range(15)]
    return gather(begun, poses, drawn, [envs.step(row) for row in drawn])


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
@pytest.mark.parametrize("name", OBSERVATIONS)
def test_every_observation_becomes_one_array_of_its_dtype(name: str, mode: AutoresetMode) -> None:
    space = OBSERVATIONS[name]
    played, described = random_rollout(space, ACTIONS["discrete"], mode), observation_space_of("any", space)
    assert played.observations.shape == (16, 4, *described.shape)
    assert played.after().dtype == described.dtype


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_reaches_the_environment_as_it_takes_it(name: str) -> None:
    played = random_rollout(VECTOR, ACTIONS[name], AutoresetMode.SAME_STEP)  # the environment refuses all others
    numbers = played.actions.reshape(*played.valid.shape, -1).sum(axis=2)
    np.testing.assert_allclose(played.task_reward, numbers, rtol=1e-5)
    assert played.actions.dtype == (np.float32 if name in ("box", "matrix") else np.int64)


def test_the_parts_of_a_dictionary_are_fields_by_their_joined_names() -> None:
    env = AnySpaces(DICT, BOX)
    seen, _ = env.reset(seed=3)
    observation = space_of(env).read(seen)
    assert observation.dtype.names == ("inner.eye", "inner.room", "position")  # Gymnasium sorts them
    assert np.array_equal(observation["position"], seen["position"])
    assert observation["inner.room"] == seen["inner"]["room"]
    assert np.array_equal(observation["inner.eye"], seen["inner"]["eye"])


def test_minigrids_dictionary_is_its_image() -> None:
    parts = {
        "image": spaces.Box(0, 255, (7, 7, 3), np.uint8),
        "direction": spaces.Discrete(4),
        "mission": spaces.Text(9),
    }
    space = observation_space_of("any", spaces.Dict(parts), grid=True)  # type: ignore[arg-type]
    assert (space.structured, space.parts[0].kind, space.shape) == (False, "cells", (7, 7, 3))
    drawn = observation_space_of("any", spaces.Box(0, 255, (56, 56, 3), np.uint8), grid=True)
    assert drawn.parts[0].kind == "image"


@given(
    st.lists(st.tuples(st.floats(-10, 10, width=32), st.floats(0.125, 1000, width=32)), min_size=1, max_size=3),
    st.data(),
)
def test_scaled_actions_stay_in_their_box_and_come_back(limits: list[tuple[float, float]], data: st.DataObject) -> None:
    low = np.array([low for low, _ in limits], np.float32)
    space = action_space_of("any", spaces.Box(low, low + np.array([width for _, width in limits], np.float32)))
    assert isinstance(space, Bounds)
    numbers = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=len(low), max_size=len(low))), np.float32)
    actions = space.scaled_up(numbers)
    assert not space.outside(actions)
    assert (actions >= low).all()
    np.testing.assert_allclose(space.scaled_down(actions), numbers, atol=1e-4)
    assert np.array_equal(
        space.scaled_down(np.stack([space.scaled_up(-np.ones(len(low), np.float32))])), -np.ones((1, len(low)))
    )


def demonstrated(env: gymnasium.Env[Any, Any]) -> Demonstrations:
    rng = stream(0, "actions")
    space = action_space_of(ANY, env.action_space)
    trajectories = tuple(play_actions(env, space.draw(rng, 4 + seed), seed) for seed in (0, 1))
    return Demonstrations("any", ANY, "any", {}, (0, 1), trajectories)


@pytest.mark.parametrize(
    ("observations", "actions"), [("dict", "box"), ("tuple", "multi-discrete"), ("discrete", "matrix")]
)
def test_a_file_gives_back_float_actions_and_structured_observations(
    observations: str, actions: str, tmp_path: Path
) -> None:
    recorded = demonstrated(AnySpaces(OBSERVATIONS[observations], ACTIONS[actions]))
    save(recorded, tmp_path / "any.npz")
    for one, other in zip(load(tmp_path / "any.npz").trajectories, recorded.trajectories, strict=True):
        assert one.observations.dtype == other.observations.dtype
        assert np.array_equal(one.observations, other.observations)
        assert np.array_equal(one.actions, other.actions)
        assert one.actions.dtype == other.actions.dtype


@pytest.mark.usefixtures("registered")
def test_float_actions_are_replayed() -> None:
    recorded = demonstrated(AnySpaces(DICT, BOX))
    assert sum(1 for _ in replay(recorded, 0, gymnasium.make)) == recorded.trajectories[0].steps + 1
    changed = recorded.trajectories[0].observations.copy()
    changed["position"][2] += 1
    other = replace(
        recorded, trajectories=(replace(recorded.trajectories[0], observations=changed), *recorded.trajectories[1:])
    )
    with pytest.raises(DemonstrationError, match="after 2 actions the environment of seed 0 looks otherwise"):
        list(replay(other, 0, gymnasium.make))


@pytest.mark.usefixtures("registered")
def test_float_actions_go_to_minari_and_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("minari")
    from srm.domains.minari import export_minari, import_minari

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    task = Vocabulary("any").task(ANY)
    recorded = demonstrated(AnySpaces(DICT, BOX))
    for name, seeds in (("seeds", (0, 1)), ("none", (-1, -1))):
        export_minari(replace(recorded, seeds=seeds), f"any/{name}-v0")
        back = import_minari(f"any/{name}-v0", task)
        assert back.seeds == seeds  # those that are known were played again, and the same happened
        for one, other in zip(back.trajectories, recorded.trajectories, strict=True):
            assert np.array_equal(one.observations, other.observations)
            assert np.array_equal(one.actions, other.actions)


def episode(actions: np.ndarray, observations: np.ndarray | None = None) -> Demonstrations:
    steps = len(actions)
    seen = np.zeros((steps + 1, 3), np.float32) if observations is None else observations
    poses, reward = np.zeros((steps + 1, 0), np.int16), np.zeros(steps, np.float32)
    return Demonstrations("any", ANY, "any", {}, (0,), (Trajectory(seen, actions, poses, reward, True),))


@pytest.mark.parametrize(
    ("demonstrations", "problem"),
    [
        (
            episode(np.full((2, 2), 3, np.float32)),
            r"has an action \[3\. 3\.\], those of AnySpaces-v0 are \[-2, 0\] to \[2, 1\]; it is of step 0",
        ),
        (episode(np.zeros(2, np.int64)), r"has actions int64, those of AnySpaces-v0 are float32 \[2\]"),
        (episode(np.zeros((2, 3), np.float32)), r"has actions float32 \[3\]"),
        (
            episode(np.zeros((2, 2), np.float32), np.zeros((3, 4), np.float32)),
            r"has observations float32 \[4\], those of AnySpaces-v0 are float32 \[3\]",
        ),
    ],
)
def test_demonstrations_of_other_spaces_are_refused(demonstrations: Demonstrations, problem: str) -> None:
    with pytest.raises(DemonstrationError, match=problem):
        refuse_misfit(demonstrations, any_envs(VECTOR, BOX))
    refuse_misfit(episode(np.full((2, 2), 1, np.float32)), any_envs(VECTOR, BOX))


class Broken(AnySpaces):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        seen, reward, *rest = super().step(action)
        return (seen * np.nan, reward, *rest) if self.breaks == "observes" else (seen, np.inf, *rest)  # type: ignore[return-value]

    breaks = "observes"


@pytest.mark.parametrize(("verb", "number"), [("observes", "nan"), ("pays", "inf")])
def test_what_is_not_finite_is_refused_where_it_appears(
    verb: str, number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Broken, "breaks", verb)
    monkeypatch.setattr("tests.domains.any_spaces.AnySpaces", Broken)
    envs = any_envs(VECTOR, BOX)
    envs.reset()
    with pytest.raises(TaskError, match=f"AnySpaces-v0: {verb} {number}; mend it, or wrap it"):
        envs.step(envs.action_space.draw(stream(0, "actions"), envs.count))


def test_an_expert_outside_the_box_is_refused() -> None:
    from srm.domains.record import record

    def expert(env: Any) -> Any:
        return [[0.0, 0.5], [9.0, 0.5]]

    task = Task(
        "any",
        "",
        ANY,
        Vocabulary("any").vocabulary,
        lambda: None,
        (),
        expert,
        1,
        environment=lambda _: AnySpaces(VECTOR, BOX),
    )  # type: ignore[arg-type,return-value]
    with pytest.raises(TaskError, match=r"action 1 of the expert is \[9\.0, 0\.5\], which is not in Box"):
        record(task, 1, 0)


def test_a_small_picture_is_taken_as_numbers() -> None:
    assert observation_space_of("any", spaces.Box(0, 255, (3, 3), np.uint8)).parts[0].kind == "numbers"
    assert observation_space_of("any", IMAGE).parts[0].kind == "image"
