"""Answers about pairs of episodes: the model worked by hand, against traces, calibrated on known truth, and the pairs it asks about."""

from __future__ import annotations

from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from srm.cli import main
from srm.domains.demonstrations import choose
from srm.domains.preferences import (
    ActionsFromSeed,
    AnsweredPair,
    Preferences,
    play_again,
    read_preferences,
    write_preferences,
)
from srm.domains.tasks import find_task
from srm.evaluate.program import Program
from srm.evaluate.trace import trace
from srm.infer.posterior.infer import infer, random_play
from srm.infer.posterior.preferences import ComparedEpisodes, PreferenceLikelihood, expected_news, log_answer, next_pair
from srm.infer.posterior.sample import PosteriorConfig
from srm.machine.language.parse import find_machine

TASK = find_task("doorkey")
DEMOS = choose(TASK, None, None)


def episode(index: int, steps: int | None = None) -> ActionsFromSeed:
    return ActionsFromSeed(DEMOS.seeds[index], tuple(DEMOS.trajectories[index].actions.tolist()[:steps]))


def of(*comparisons: AnsweredPair) -> Preferences:
    return Preferences(TASK.name, TASK.env_id, comparisons)


def test_equal_episodes_are_called_left_equal_and_right_equally_often() -> None:
    assert np.exp(log_answer(np.array(0.0))) == pytest.approx([1 / 3, 1 / 3, 1 / 3])


def test_an_answer_worked_by_hand() -> None:
    total = exp(1) + 1 + exp(-1)  # the left one is paid 2 more
    assert log_answer(np.array(2.0)) == pytest.approx([1 - log(total), -log(total), -1 - log(total)])


def test_without_ties_it_is_the_logistic_function_of_the_difference() -> None:
    left, _, right = np.exp(log_answer(np.array(0.7)))
    assert left / (left + right) == pytest.approx(1 / (1 + exp(-0.7)))


def test_huge_differences_stay_finite() -> None:
    assert np.isfinite(log_answer(np.array([1e6, -1e6]))).all()


def test_the_likelihood_is_that_of_what_the_traces_pay() -> None:
    machine, reader = find_machine("doorkey").opened(), TASK.event_reader()
    pairs = of(
        AnsweredPair(episode(0), episode(1, 8), "left"),
        AnsweredPair(episode(2, 6), episode(0), "equal"),
        AnsweredPair(episode(3), episode(1, 8), "cannot say"),
        AnsweredPair(episode(1, 8), episode(3), "right"),
    )
    trajectories = play_again(pairs, TASK)
    compared = ComparedEpisodes.of(Program(machine, reader.vocabulary), reader, pairs, trajectories)
    assert compared is not None
    likelihood = PreferenceLikelihood.of(compared)
    assignments = np.random.default_rng(0).normal(size=(5, len(machine.holes)))
    log_likelihood = likelihood([compared.side.pay(assignments)], np.zeros(5))
    for row, value in zip(assignments, log_likelihood, strict=True):
        values = dict(zip(machine.hole_names, row.tolist(), strict=True))
        paid = {e: trace(machine, reader, t, values).pay for e, t in trajectories.items()}
        truth = sum(
            log_answer(np.array(paid[pair.left] - paid[pair.right]))[{"left": 0, "equal": 1, "right": 2}[pair.answer]]
            for pair in pairs.comparisons
            if pair.is_evidence
        )
        assert value == pytest.approx(truth)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """One hole on a grid, so that the posterior is exact: truth from the prior, answers from the model."""
    rng, grid = np.random.default_rng(1), np.linspace(-3, 3, 301)
    inside = 0
    for _ in range(400):
        truth = rng.uniform(-3, 3)
        worth = rng.normal(size=12)  # how much more of the hole the left episode has
        answers = [rng.choice(3, p=np.exp(log_answer(truth * some))) for some in worth]
        log_p = sum(log_answer(grid * some)[answer] for some, answer in zip(worth, answers, strict=True))
        cumulative = np.cumsum(np.exp(log_p - log_p.max()))
        low, high = np.interp((0.05, 0.95), cumulative / cumulative[-1], grid)
        inside += low <= truth <= high
    assert 0.86 <= inside / 400 <= 0.94


def test_an_answer_tells_most_where_the_draws_are_split() -> None:
    paid = np.array(
        [[5.0, 0.0, 0.1, 0.0], [5.0, 0.0, -0.1, 4.0], [5.0, 4.0, 0.1, 0.0], [5.0, 4.0, -0.1, 4.0]]
    )  # [S, B]
    left, right = np.array([0, 1, 1]), np.array([2, 2, 3])
    news = expected_news(paid, left, right, np.ones(4))
    assert news.argmax() == 2  # 1 against 3: a quarter of the draws each way, and two that find them equal
    assert news[0] < 0.05  # all agree
    assert (news >= 0).all()
    assert sorted(next_pair(paid, np.ones(4), [], np.random.default_rng(0)) or ()) == [1, 3]
    assert next_pair(paid[:, :2], np.ones(4), [(1, 0)], np.random.default_rng(0)) is None


def test_weights_count_as_draws_do() -> None:
    paid = np.random.default_rng(0).normal(size=(6, 3))
    pairs = np.array([0, 0, 1]), np.array([1, 2, 2])
    twice = np.concatenate([paid, paid[:2]])
    assert expected_news(paid, *pairs, np.array([2, 2, 1, 1, 1, 1.0])) == pytest.approx(
        expected_news(twice, *pairs, np.ones(8))
    )


def test_answers_move_the_posterior_where_they_point() -> None:
    """Whoever prefers the unfinished walk to the goal, every time, does not think much of goals."""
    machine, reader, demonstrated = find_machine("doorkey"), TASK.event_reader(), DEMOS.as_rollout()
    play = random_play(TASK, demonstrated, 0)
    config = PosteriorConfig(sweeps=60, first_look=60)
    odd = of(*(AnsweredPair(episode(n), episode(n, DEMOS.trajectories[n].steps - 1), "right") for n in range(6)))
    plain = infer(machine, machine.constraint(), reader, demonstrated, [play], config)
    moved = infer(
        machine, machine.constraint(), reader, demonstrated, [play], config, compared=(odd, play_again(odd, TASK))
    )
    assert moved.answers == 6
    assert {h.name: h.mean for h in moved.holes}["goal"] < {h.name: h.mean for h in plain.holes}["goal"] - 0.5


# The file


def test_what_is_written_is_read(tmp_path: Path) -> None:
    answers = of(AnsweredPair(episode(0), episode(1), "left"), AnsweredPair(episode(1), episode(2), "cannot say"))
    write_preferences(tmp_path / "mine.jsonl", answers)
    assert read_preferences(tmp_path / "mine.jsonl", TASK) == answers
    assert list(play_again(answers, TASK)) == [episode(0), episode(1)]


def test_infer_reads_answers_and_its_page_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = [AnsweredPair(episode(n), episode(n, DEMOS.trajectories[n].steps - 1), "left") for n in range(6)]
    write_preferences(Path("mine.jsonl"), of(*pairs))
    assert main(["infer", "doorkey", "--preferences", "mine.jsonl", "--posterior.sweeps", "60", "-n", "1"]) == 0
    assert "and 6 answers about pairs of episodes" in capsys.readouterr().out
    assert next(tmp_path.glob("runs/*/report.html")).exists()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", ":2: "),
        ('{"left": 1}', "left, right and answer"),
        (
            '{"left": {"seed": 1, "actions": [0]}, "right": {"seed": 1, "actions": []}, "answer": "left"}',
            "1 to 5000 actions",
        ),
        (
            '{"left": {"seed": 1, "actions": [0]}, "right": {"seed": 1.5, "actions": [0]}, "answer": "left"}',
            "whole numbers",
        ),
        (
            '{"left": {"seed": 1, "actions": [0]}, "right": {"seed": -1, "actions": [0]}, "answer": "left"}',
            "a seed of 0 or more",
        ),
        (
            '{"left": {"seed": 1, "actions": [0]}, "right": {"seed": 1, "actions": [0]}, "answer": "both"}',
            "one of left, right",
        ),
        ("[" * 90 + "]" * 90, "nested too deep"),
    ],
)
def test_a_line_that_is_no_answer_is_refused_by_its_place(tmp_path: Path, line: str, problem: str, capsys) -> None:
    path = tmp_path / "bad.jsonl"
    write_preferences(path, of())
    path.write_text(path.read_text() + line + "\n")
    assert main(["infer", "doorkey", "--preferences", str(path)]) == 2
    message = capsys.readouterr().err
    assert problem in message
    assert message.count("\n") == 1


@pytest.mark.parametrize("content", ["", "\n", "{}\n", '{"format": "srm-preferences 2"}\n'])
def test_a_file_without_its_head_is_refused(tmp_path: Path, content: str, capsys) -> None:
    (tmp_path / "no.jsonl").write_text(content)
    assert main(["infer", "doorkey", "--preferences", str(tmp_path / "no.jsonl")]) == 2
    assert "first line" in capsys.readouterr().err


def test_answers_about_another_task_or_of_actions_that_are_not_there_are_refused(tmp_path: Path, capsys) -> None:
    write_preferences(tmp_path / "a.jsonl", of(AnsweredPair(episode(0), ActionsFromSeed(0, (9,)), "left")))
    assert main(["infer", "DoorKey-5x5", "--preferences", str(tmp_path / "a.jsonl")]) == 2
    assert "not of doorkey in MiniGrid-DoorKey-5x5-v0" in capsys.readouterr().err
    assert main(["infer", "doorkey", "--preferences", str(tmp_path / "a.jsonl")]) == 2
    assert "has no action 9" in capsys.readouterr().err
    longer = ActionsFromSeed(DEMOS.seeds[0], (*episode(0).actions, 0, 0))
    write_preferences(tmp_path / "b.jsonl", of(AnsweredPair(episode(0), longer, "left")))
    assert main(["infer", "doorkey", "--preferences", str(tmp_path / "b.jsonl")]) == 2
    assert "another version of it was compared" in capsys.readouterr().err
