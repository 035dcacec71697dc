"""How well a trained policy does: episodes that nobody learns from, in environments that nobody trained in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from srm.domains.base import Task
from srm.evaluate.batched import Paid
from srm.evaluate.payer import Payer
from srm.evaluate.success import SuccessReader, accepts_anything
from srm.rl.evaluation import IntervalEstimate, first_episodes, mean_estimate, share_estimate
from srm.rl.threads import one_thread
from srm.runs.policy import Trained
from srm.trajectory import Rollout

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

    def to_json(self) -> dict[str, Any]:
        about = {"env_id": self.env_id, "envs": self.envs, "episodes": self.episodes, "play": self.play}
        return about | {name: asdict(estimate) for name, estimate in self.estimates.items()}


def success_reader(trained: Trained, task: Task) -> SuccessReader:
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
    trained: Trained, task: Task, episodes: int, *, play: ActionChoice = "sampled", seed: int = 0
) -> Evaluation:
    """`task` names the environment: the one the policy was trained in, or a larger one of the same kind."""
    envs = task.make_envs(min(MOST_ENVS, episodes), EVAL_SEEDS + seed)
    try:
        with one_thread():
            player = trained.player(task, envs, EVAL_SEEDS + seed)
            played = first_episodes(player, episodes, greedy=play == "greedy", judge=success_reader(trained, task).read)
    finally:
        envs.close()
    return Evaluation(
        task.env_id,
        envs.stepped_by,
        len(played),
        play,
        mean_estimate(played.total),
        share_estimate(played.solved),
        mean_estimate(played.length),
    )
