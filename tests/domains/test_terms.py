"""Rewards that are sums of terms: what an environment's info says of them, the machine that follows, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import srm
from examples.runner import TASK, Runner
from srm.domains.demonstrations import load, save
from srm.domains.info import task_of
from srm.domains.record import record
from srm.domains.tasks import find_task, task_in_file
from srm.domains.terms import (
    commented,
    from_terms,
    longest_episode,
    random_rollout,
    signal_terms,
    summarise_terms,
)
from srm.errors import SettingError, SrmError, TaskError, TrajectoryError
from srm.machine.holes import Space
from srm.machine.language.parse import parse


class Odd(Runner):
    """A runner whose info is as `entries` says."""

    entries: Any = staticmethod(lambda number: {})

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self.number = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.number += 1
        seen, reward, terminated, truncated, _ = super().step(action)
        return seen, reward, terminated, truncated, type(self).entries(self.number)


def register(name: str, entries: Any) -> str:
    kind = type(name, (Odd,), {"entries": staticmethod(entries)})
    env_id = f"{name}-v0"
    gymnasium.registry.pop(env_id, None)
    gymnasium.register(env_id, entry_point=kind, max_episode_steps=20)
    return env_id


def test_the_machine_is_the_sum_of_holes_times_the_terms_with_the_signs_of_the_environments_reward() -> None:
    machine, play = from_terms("Runner-v0", frames=2000)
    assert str(machine.nodes[0].rules[0].pay) == (
        "?forward * reward_forward + ?effort * reward_effort + ?alive * reward_alive"
    )
    assert [term.weight for term in play.terms] == [1.0, 0.5, 0.5]
    assert play.is_sum
    assert sum(term.share or 0 for term in play.terms) == pytest.approx(1)
    assert [str(atom) for atom in machine.constraints[0].atoms] == [
        '"as the environment pays them" ?forward, ?effort, ?alive >= 0'
    ]
    assert [hole.space for hole in machine.holes] == [Space(-10, 10), Space(-5, 5), Space(-5, 5)]
    assert machine.info is not None
    assert machine.info.env_id == "Runner-v0"
    text = commented(machine, play)
    assert parse(text) == machine
    assert "#     reward_effort   -1 .. 0" in text


def test_signals_of_a_task_are_terms_too() -> None:
    machine, play = from_terms(TASK, ("effort", "forward"), frames=500)
    assert (machine.words, machine.info) == ("runner", None)
    assert [term.name for term in play.terms] == ["effort", "forward"]
    assert not play.is_sum  # what alive pays is missing
    assert not machine.constraints
    effort = machine.holes[0].space
    assert effort is not None
    assert 2 <= effort.high <= 10  # a typical step pays up to 5


def test_a_reward_that_play_never_met_is_no_sum_of_terms() -> None:
    """Weights of 0 fit it, and say nothing: `srm audit` must not call the terms the reward."""
    rollout = random_rollout(TASK, seed=0, frames=500)
    unpaid = replace(rollout, task_reward=np.zeros_like(rollout.task_reward))
    play = summarise_terms("Runner-v0", unpaid, signal_terms(TASK, unpaid, ("forward", "effort")))
    assert [term.weight for term in play.terms] == [None, None]
    assert not play.is_sum


def test_a_term_that_some_steps_lack_is_0_there() -> None:
    env_id = register("Seldom", lambda number: {"bonus": 2.0} if number % 2 else {})
    machine, play = from_terms(env_id, frames=320)
    assert machine.info is not None
    assert machine.info.words[0].missing == 0.0
    assert 0.4 < play.terms[0].present < 0.6
    strict = parse(str(machine).replace(" or 0", ""))
    env = gymnasium.make(env_id)
    wrapped = srm.SymbolicReward(env, strict, values={"bonus": 1.0})
    wrapped.reset(seed=0)
    wrapped.step(1)
    with pytest.raises(TrajectoryError, match="info has no number bonus"):
        wrapped.step(1)


def test_keys_that_no_machine_can_name_get_names() -> None:
    env_id = register("Keys", lambda number: {"reward/a b": 1.0, "reward-a_b": 2.0, "2nd reward": float(number)})
    machine, _ = from_terms(env_id, frames=64)
    assert machine.info is not None
    assert [word.key for word in machine.info.words] == ["reward/a b", "reward-a_b", "2nd reward"]
    assert parse(str(machine)) == machine


@pytest.mark.parametrize(
    ("entries", "keys", "message"),
    [
        (lambda number: {}, (), "its info is empty, so it has no terms"),
        (lambda number: {"name": "x", "list": [1]}, (), r"no entry of its info \(name, list\) is a number"),
        (lambda number: {"cost": 1.0}, ("costs",), "no number costs; did you mean cost?"),
        (lambda number: {"cost": 1.0}, ("speed",), "no number speed; they are cost"),
        (lambda number: {"cost": 1.0, "name": "x"}, ("name",), "info name is of type str, and a term must be a number"),
        (lambda number: {"cost": np.inf}, (), "info cost is infinite"),
    ],
)
def test_what_is_no_term_is_refused_in_one_sentence(entries: Any, keys: tuple[str, ...], message: str) -> None:
    env_id = register("Refused", entries)
    with pytest.raises(TaskError, match=message) as refused:
        from_terms(env_id, keys, frames=64)
    assert "\n" not in str(refused.value)


def test_a_nan_counts_as_missing() -> None:
    env_id = register("Nan", lambda number: {"cost": np.nan if number == 3 else 1.0})
    machine, play = from_terms(env_id, frames=320)
    assert play.terms[0].present < 1
    assert machine.info is not None
    assert machine.info.words[0].missing == 0.0


def test_unknown_environments_and_signals_are_refused() -> None:
    with pytest.raises(TaskError, match="did you mean Runner-v0"):
        from_terms("Runer-v0")
    with pytest.raises(TaskError, match="have no signal efort; did you mean effort"):
        from_terms(TASK, ("efort",))


# The file as a task


def test_a_file_is_a_task_wherever_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "runner.srm"
    machine = srm.from_terms("Runner-v0", out=path, frames=200)
    task = find_task(str(path))
    assert (task.name, task.env_id, task.machines) == ("runner", "Runner-v0", (str(path),))
    assert task.vocabulary == machine.own_vocabulary == task_of(machine).vocabulary
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "machine.srm").write_text(str(machine))
    path.unlink()
    assert task_in_file(str(path), tmp_path / "run").env_id == "Runner-v0"  # a run keeps what it needs


def test_a_machine_in_other_words_is_no_task(tmp_path: Path) -> None:
    path = tmp_path / "m.srm"
    path.write_text("machine m\nwords minigrid\nstart s\n")
    with pytest.raises(TaskError, match="words minigrid, which names no environment"):
        find_task(str(path))


def test_demonstrations_of_another_task_in_the_same_environment_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    save(record(TASK, 2, seed=0), path)
    machine, _ = from_terms("Runner-v0", name="other", frames=200)
    assert len(load(path, task_of(machine))) == 2
    with pytest.raises(SrmError, match="shows the task runner, not"):
        load(path, task_of(from_terms(register("Elsewhere", lambda number: {"cost": 1.0}), frames=64)[0]))


def test_wrappers_pay_such_a_machine_without_an_event_reader() -> None:
    machine, _ = from_terms("Runner-v0", frames=200)
    values = {"forward": 2.0, "effort": 0.5, "alive": 1.0}
    env = srm.SymbolicReward(gymnasium.make("Runner-v0"), machine, values=values)
    env.reset(seed=0)
    vector = srm.SymbolicRewardVector(
        gymnasium.make_vec("Runner-v0", 3, vectorization_mode="sync"), machine, None, values
    )
    vector.reset(seed=0)
    for _ in range(5):
        _, pay, _, _, info = env.step(2)
        assert pay == pytest.approx(2 * info["reward_forward"] + 0.5 * info["reward_effort"] + info["reward_alive"])
        _, pays, _, _, infos = vector.step(np.array([0, 1, 2]))
        assert pays == pytest.approx(2 * infos["reward_forward"] + 0.5 * infos["reward_effort"] + infos["reward_alive"])


def test_other_machines_need_a_reader() -> None:
    with pytest.raises(TaskError, match="give the event reader of its task"):
        srm.SymbolicReward(gymnasium.make("Runner-v0"), srm.load("doorkey_handset"))


def test_the_longest_episode_is_that_of_gymnasium() -> None:
    assert longest_episode("Runner-v0") == 60
    assert longest_episode("NoSuch-v0") is None


def test_flags_that_do_not_fit_are_refused() -> None:
    from srm.domains.terms import listed_terms

    with pytest.raises(SettingError, match="--signals are of a task's words"):
        listed_terms("Runner-v0", (), ("effort",))
    with pytest.raises(SettingError, match="--info is of an environment"):
        listed_terms("examples.runner:TASK", ("effort",), ())
