"""How well a trained policy does: episodes that nobody learns from, in environments that nobody trained in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, Literal

from srm.domains.base import Task
from srm.evaluate.batched import Paid
from srm.evaluate.payer import Payer
from srm.evaluate.success import SuccessReader, accepts_anything
from srm.rl.evaluation import WHOLE_ENVS, EnvPlayer, IntervalEstimate, first_episodes, mean_estimate, share_estimate
from srm.rl.threads import one_thread
from srm.runs.policy import Trained
from srm.runs.word_means import WordMeans, word_means
from srm.trajectory import Demonstrations, Rollout

ActionChoice = Literal["sampled", "greedy"]
EVAL_SEEDS = 1_000_000_007  # far from the seeds anybody trains with
MOST_ENVS = 64


@dataclass(frozen=True)
class Evaluation:
    """Means over episodes, each with its 95 % interval."""

    env_id: str
    envs: str  # who stepped them
    episodes: int
    play: ActionChoice
    mean_return: IntervalEstimate  # of the task's own reward
    success: IntervalEstimate  # share of episodes that were solved
    length: IntervalEstimate  # steps of an episode
    words: WordMeans | None = None  # beside demonstrations

    @property
    def estimates(self) -> Mapping[str, IntervalEstimate]:
        return {"return": self.mean_return, "success": self.success, "length": self.length}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return str(self)

    def _lines(self) -> Iterator[str]:
        yield f"{self.env_id}, {self.episodes} episodes, {self.play} actions; mean [95 % interval]"
        for name, estimate in self.estimates.items():
            yield f"  {name:<8} {estimate:{'.1f' if name == 'length' else '.3f'}}"
        if self.words is not None:
            yield str(self.words)

    def to_json(self) -> dict[str, Any]:
        about = {"env_id": self.env_id, "envs": self.envs, "episodes": self.episodes, "play": self.play}
        words = {} if self.words is None else {"words": asdict(self.words)}
        return about | {name: asdict(estimate) for name, estimate in self.estimates.items()} | words


def _success(trained: Trained, task: Task) -> SuccessReader:
    """What the task says; else whether the machine that paid the policy is brought to an accepting node."""
    machine = trained.machine() if task.success is None else None
    if not accepts_anything(machine):
        return SuccessReader(task)
    assert machine is not None
    payer = Payer(machine, task.event_reader(), outside_constraint=True)

    def pay(rollout: Rollout) -> Paid | None:
        payer(rollout)
        return payer.open.paid

    return SuccessReader(task, machine, pay)


def evaluate_policy(
    trained: Trained,
    task: Task,
    episodes: int,
    *,
    play: ActionChoice = "sampled",
    seed: int = 0,
    demonstrations: Demonstrations | None = None,
) -> Evaluation:
    """`task` names the environment: the one the policy was trained in, or a larger one of the same kind. Beside `demonstrations` it is
    compared word by word, in episodes of its own."""

    def player(count: int) -> EnvPlayer:
        envs = task.make_envs(count, EVAL_SEEDS + seed)
        closing.callback(envs.close)
        return trained.player(task, envs, EVAL_SEEDS + seed)

    with ExitStack() as closing, one_thread():
        success = _success(trained, task).read
        playing = player(min(MOST_ENVS, episodes))
        played = first_episodes(playing, episodes, greedy=play == "greedy", judge=success)
        words = None
        if demonstrations is not None:
            words = word_means(player(WHOLE_ENVS), _success(trained, task), task.event_reader(), demonstrations)
    return Evaluation(
        task.env_id,
        playing.envs.stepped_by,
        len(played),
        play,
        mean_estimate(played.total),
        share_estimate(played.solved),
        mean_estimate(played.length),
        words,
    )
