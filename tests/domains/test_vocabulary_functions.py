"""Words written as functions: what they read, what they remember, and what contradicts them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import srm
from srm.domains.envs import GymnasiumEnvs, gather
from srm.evaluate.payer import OpenPayer
from srm.machine.language.parse import parse
from srm.trajectory import Rollout


def rollout_of(heights: Any, over: Any = None, info: dict[str, Any] | None = None) -> Rollout:
    """One env whose observation is a height before the first step and after each."""
    observations = np.array(heights, np.float64)[:, None, None]
    steps = len(observations) - 1
    ends = np.zeros((steps, 1), np.bool_) if over is None else np.array(over, np.bool_)[:, None]
    return Rollout(
        observations=observations,
        actions=np.zeros((steps, 1), np.int64),
        poses=np.zeros((steps + 1, 1, 0), np.int16),
        task_reward=np.zeros((steps, 1), np.float32),
        terminated=ends,
        truncated=np.zeros_like(ends),
        valid=np.ones_like(ends),
        info={key: np.array(numbers, np.float64)[:, None] for key, numbers in (info or {}).items()},
    )


def climber() -> srm.Vocabulary:
    words = srm.Vocabulary("climber")

    @words.event
    def rise(before, after):  # type: ignore[no-untyped-def]
        """goes up"""
        return after[..., 0] > before[..., 0]

    @words.event
    def fall(before, after):  # type: ignore[no-untyped-def]
        return after[..., 0] < before[..., 0]

    @words.signal(low=0, high=9)
    def height(after):  # type: ignore[no-untyped-def]
        return after[..., 0]

    return words


def test_events_and_signals_are_read_by_functions_and_are_facts_unless_exclusive() -> None:
    words = climber()
    events = words.reader().read(rollout_of([0, 1, 3, 2]))
    assert events.event.tolist() == [0, 0, 1]
    assert events.step.tolist() == [0, 1, 2]
    assert events.signals[:, 0, 0].tolist() == [1, 3, 2]
    assert [event.meaning for event in words.vocabulary.events] == ["goes up", "fall"]
    assert words.vocabulary.acts == ()
    words.exclusive("rise", "fall")
    assert words.vocabulary.acts == ("rise", "fall")


def test_memory_is_the_same_for_a_rollout_in_one_piece_and_in_two() -> None:
    words = climber()
    words.running_max("height")
    words.steps_since("fall")
    heights, over = [0, 4, 3, 1, 2, 2, 5, 1], [0, 0, 1, 0, 0, 0, 0]
    reader = words.reader()
    whole = reader.read(rollout_of(heights, over)).signals
    assert whole[:, 0, 1].tolist() == [4, 4, 4, 2, 2, 5, 5]
    assert whole[:, 0, 2].tolist() == [1, 0, 0, 1, 2, 3, 0]
    for cut in range(1, 7):
        first, memory = reader.read_on(rollout_of(heights[: cut + 1], over[:cut]), reader.begin(1))
        second, _ = reader.read_on(rollout_of(heights[cut:], over[cut:]), memory)
        np.testing.assert_array_equal(np.concatenate([first.signals, second.signals]), whole)


def test_a_payer_carries_what_words_remember() -> None:
    words = climber()
    words.running_max("height")
    text = "machine m\nwords climber\nstart up\n    always // max_height\n"
    payer = OpenPayer(parse(text, vocabularies={"climber": words.vocabulary}), words.reader())
    paid = [payer.pay(rollout_of(piece), np.zeros(0))[:, 0].tolist() for piece in ([0, 5, 1], [1, 2, 6])]
    assert paid == [[5, 5], [5, 6]]


def test_what_contradicts_a_declaration_is_refused_at_its_first_step() -> None:
    words = climber()
    with pytest.raises(srm.TrajectoryError, match=r"step 1 of env 0: signal height reads 12, outside its range 0..9"):
        words.reader().read(rollout_of([0, 1, 12]))
    words.once("fall")
    with pytest.raises(srm.TrajectoryError, match="step 2 of env 0: fall happens a second time"):
        words.reader().read(rollout_of([5, 4, 4, 3]))
    words.reader().read(rollout_of([5, 4, 4, 3], [1, 0, 0]))  # in another episode it may


def test_turns_are_held_to_and_a_cut_episode_may_begin_with_either() -> None:
    words = climber()
    words.alternate("rise", "fall")
    reader = words.reader()
    reader.read(rollout_of([5, 4, 5, 4]))  # the rise may lie before the cut
    with pytest.raises(srm.TrajectoryError, match="step 0 of env 0: rise and fall do not take turns"):
        reader.read_on(rollout_of([5, 4]), reader.begin(1))
    with pytest.raises(srm.TrajectoryError, match="step 1 of env 0: rise and fall do not take turns"):
        reader.read(rollout_of([3, 4, 5]))
    with pytest.raises(srm.TrajectoryError, match="step 1 of env 0: rise and fall do not take turns"):
        reader.read(rollout_of([5, 4, 3]))


def test_a_number_of_info_is_a_signal_and_one_that_is_missing_is_a_sentence() -> None:
    words = srm.Vocabulary("walker")
    words.from_info("x_velocity", name="speed")
    read = words.reader().read(rollout_of([0, 0, 0], info={"x_velocity": [1, 2]}))
    assert read.signals[:, 0, 0].tolist() == [1, 2]
    with pytest.raises(srm.TrajectoryError, match="step 1 of env 0: info has no number x_velocity"):
        words.reader().read(rollout_of([0, 0, 0], info={"x_velocity": [1, np.nan]}))


class Talkative(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Box(0, 9, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, **_: Any) -> Any:
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        return np.zeros(1, np.float32), 0.0, self.count == 3, False, {"count": self.count, "name": "x"}


@pytest.mark.parametrize("mode", [gymnasium.vector.AutoresetMode.NEXT_STEP, gymnasium.vector.AutoresetMode.SAME_STEP])
def test_envs_keep_the_numbers_of_info_up_to_an_episodes_last_step(mode: Any) -> None:
    envs = GymnasiumEnvs(gymnasium.vector.SyncVectorEnv([Talkative] * 2, autoreset_mode=mode), 0)
    observations, poses = envs.reset()
    actions = [np.zeros(2, np.int64)] * 5
    rollout = gather(observations, poses, actions, [envs.step(action) for action in actions])
    assert set(rollout.info) == {"count"}
    assert rollout.info["count"][:3, 0].tolist() == [1, 2, 3]
    assert rollout.terminated[2].all()


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda words: words.event(lambda obs: obs), "cannot stand in a machine"),
        (lambda words: words.running_max("depth"), "depth is not a declared signal"),
        (lambda words: words.from_info("a/b"), "cannot stand in a machine; give name="),
        (lambda words: words.from_info("height"), "height is declared twice"),
        (lambda words: words.exclusive("rise"), "needs two events"),
        (lambda words: words.from_info("x", low=2, high=1), "give two numbers, the lower first"),
    ],
)
def test_a_mistaken_declaration_is_a_sentence(declare: Any, message: str) -> None:
    with pytest.raises(srm.MachineError, match=message):
        declare(climber())
