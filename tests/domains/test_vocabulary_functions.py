"""Words written as functions: what they read, what they remember, and what contradicts them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import srm
from srm.domains.envs import GymnasiumEnvs, gather
from srm.domains.reading import read_events
from srm.evaluate.payer import OpenPayer
from srm.machine.language.parse import parse
from tests.domains.climbing import climber, rollout_of


def test_events_and_signals_are_read_by_functions_and_are_facts_unless_exclusive() -> None:
    words = climber()
    events = words.reader().read(rollout_of([0, 1, 3, 2]))
    assert events.event.tolist() == [0, 0, 1]
    assert events.step.tolist() == [0, 1, 2]
    assert events.signals[:, 0, 0].tolist() == [1, 3, 2]
    assert [event.meaning for event in words.vocabulary.events] == ["goes up", "fall"]
    assert words.vocabulary.groups == ()
    words.exclusive("rise", "fall")
    assert words.vocabulary.groups == (frozenset({"rise", "fall"}),)


def test_memory_is_the_same_for_a_rollout_in_one_piece_and_in_two() -> None:
    words = climber()
    words.running_max("height")
    words.steps_since("fall")
    words.change("height")
    heights, over = [0, 4, 3, 1, 2, 2, 5, 1], [0, 0, 1, 0, 0, 0, 0]
    reader = words.reader()
    whole = reader.read(rollout_of(heights, over)).signals
    assert whole[:, 0, 1].tolist() == [4, 4, 4, 2, 2, 5, 5]
    assert whole[:, 0, 2].tolist() == [1, 0, 0, 1, 2, 3, 0]
    assert whole[:, 0, 3].tolist() == [0, -1, -2, 0, 0, 3, -4]
    assert (words.vocabulary.signals[3].low, words.vocabulary.signals[3].high) == (-9, 9)
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
        read_events(words.reader(), rollout_of([0, 1, 12]))
    words.once("fall")
    with pytest.raises(srm.TrajectoryError, match="step 2 of env 0: fall happens a second time"):
        read_events(words.reader(), rollout_of([5, 4, 4, 3]))
    read_events(words.reader(), rollout_of([5, 4, 4, 3], [1, 0, 0]))  # in another episode it may


def test_turns_are_held_to() -> None:
    words = climber()
    words.alternate("rise", "fall")
    read_events(words.reader(), rollout_of([5, 6, 5, 6]))
    with pytest.raises(srm.TrajectoryError, match="step 0 of env 0: rise and fall do not take turns"):
        read_events(words.reader(), rollout_of([5, 4]))
    with pytest.raises(srm.TrajectoryError, match="step 1 of env 0: rise and fall do not take turns"):
        read_events(words.reader(), rollout_of([3, 4, 5]))


def test_numbers_that_are_none_and_functions_that_fail_are_sentences() -> None:
    words = climber()
    with pytest.raises(srm.TrajectoryError, match="step 1 of env 0: signal height reads nan, expected a finite number"):
        words.reader().read(rollout_of([0, 1, np.nan]))
    words.event(lambda_named("wide", lambda after: after[..., 3] > 0))
    with pytest.raises(srm.TrajectoryError, match="wide: raises IndexError: "):
        words.reader().read(rollout_of([0, 1]))


def lambda_named(name: str, function: Any) -> Any:
    function.__name__ = name
    return function


def test_a_task_keeps_the_words_it_was_made_of() -> None:
    words = climber()
    task = words.task("CartPole-v1")
    words.from_info("later")
    assert task.event_reader().vocabulary == task.vocabulary != words.vocabulary


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


def talkative_words() -> srm.Vocabulary:
    words = srm.Vocabulary("talk")
    words.from_info("count", low=0, high=3)
    words.running_max("count")
    return words


def test_a_wrapper_carries_what_words_remember_and_reads_info() -> None:
    words = talkative_words()
    machine = parse("machine m\nstart up\n    always // max_count\n", vocabularies={"talk": words.vocabulary})
    env = srm.SymbolicReward(Talkative(), machine, words.reader())
    for _ in range(2):
        env.reset()
        assert [env.step(0)[1] for _ in range(3)] == [1, 2, 3]
    env.reset()
    env.step(0)
    env.reset()  # before the episode was over
    assert env.step(0)[1] == 1


@pytest.mark.parametrize("mode", [gymnasium.vector.AutoresetMode.NEXT_STEP, gymnasium.vector.AutoresetMode.SAME_STEP])
def test_a_wrapped_vector_carries_what_words_remember_of_each_env(mode: Any) -> None:
    words = talkative_words()
    machine = parse("machine m\nstart up\n    always // max_count\n", vocabularies={"talk": words.vocabulary})
    vector = gymnasium.vector.SyncVectorEnv([Talkative] * 2, autoreset_mode=mode)
    envs = srm.SymbolicRewardVector(vector, machine, words.reader())
    envs.reset()
    paid = [envs.step(np.zeros(2, np.int64))[1].tolist() for _ in range(7)]
    resetting = [[0, 0]] if mode is gymnasium.vector.AutoresetMode.NEXT_STEP else []
    assert paid == ([[1, 1], [2, 2], [3, 3], *resetting] * 3)[:7]


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda words: words.event(lambda obs: obs), "cannot stand in a machine"),
        (lambda words: words.running_max("depth"), "depth is not a declared signal"),
        (lambda words: words.from_info("a/b"), "cannot stand in a machine; give name="),
        (lambda words: words.from_info("height"), "height is declared twice"),
        (lambda words: words.exclusive("rise"), "needs two events"),
        (lambda words: words.from_info("node"), "node is a word of the language"),
        (lambda words: words.from_info("x", low=2, high=1), "give two numbers, the lower first"),
    ],
)
def test_a_mistaken_declaration_is_a_sentence(declare: Any, message: str) -> None:
    with pytest.raises(srm.MachineError, match=message):
        declare(climber())
