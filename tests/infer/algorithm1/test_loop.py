"""Algorithm 1 with anybody's policy; and the table of docs/algorithm.md is what `--as-printed` changes, no more and no less."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import srm
from srm.infer.algorithm1.loop import InferConfig, infer
from srm.infer.belief import NOTHING
from srm.trajectory import Rollout
from tests.infer.play import uniform

PAGE = Path(srm.__file__).parents[1] / "docs" / "algorithm.md"
ROW = re.compile(r"\| `--([\w.-]+)` \| `([^`]+)`[^|]* \| `([^`]+)`[^|]* \| .+ \|")


def flat(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Every setting by its flag."""
    found: dict[str, str] = {}
    for name, value in config.items():
        flag = prefix + name.replace("_", "-")
        found |= flat(value, f"{flag}.") if isinstance(value, dict) else {flag: str(value)}
    return found


def test_the_page_lists_every_setting_that_as_printed_changes() -> None:
    usual, printed = flat(asdict(InferConfig())), flat(asdict(InferConfig().as_printed()))
    changed = {flag: (usual[flag], printed[flag]) for flag in usual if usual[flag] != printed[flag]}
    section = PAGE.read_text(encoding="utf-8").split("## Where it differs")[1].split("###")[0]
    assert {flag: (default, other) for flag, default, other in ROW.findall(section)} == changed


@dataclass(frozen=True)
class OwnBatch:
    """Nothing of `srm.rl` is in it."""

    rollout: Rollout

    @property
    def log_prob(self) -> np.ndarray:
        return uniform(self.rollout)


class OwnPolicy:
    """Plays rollouts that lie ready, and writes down what it is asked to learn from."""

    def __init__(self, rollouts: list[Rollout]) -> None:
        self.frames = 0
        self.batches = [OwnBatch(rollout) for rollout in rollouts]
        self.updates: list[tuple[OwnBatch, np.ndarray]] = []
        self._next = iter(self.batches)

    def collect(self) -> OwnBatch:
        batch = next(self._next)
        self.frames += int(batch.rollout.valid.sum())
        return batch

    def update(self, batch: OwnBatch, pay: np.ndarray) -> dict[str, float]:
        self.updates.append((batch, pay))
        return {"loss": 1.0}

    def log_probs(self, rollout: Rollout) -> np.ndarray:
        return uniform(rollout)


class ConstantHoles:
    """Pays the number of the rollout, and writes down what the holes could be inferred from."""

    def __init__(self, demonstrated: Rollout) -> None:
        self.demonstrated, self.belief = demonstrated, NOTHING
        self.evidence: list[tuple[int, Rollout, np.ndarray, np.ndarray, int]] = []

    def pay(self, rollout: Rollout) -> np.ndarray:
        return np.full(rollout.actions.shape, float(len(self.evidence)))

    def begin(
        self, index: int, rollout: Rollout, log_prob: np.ndarray, demonstrated_log_prob: np.ndarray, effort: int
    ) -> None:
        self.evidence.append((index, rollout, log_prob, demonstrated_log_prob, effort))

    def finish(self) -> dict[str, float]:
        return {}


def test_a_policy_of_ones_own_learns_from_the_batches_it_collected_after_the_warm_up(rollouts: list[Rollout]) -> None:
    policy, holes = OwnPolicy(rollouts[:3]), ConstantHoles(rollouts[3])
    rounds = list(islice(infer(policy, holes, InferConfig(warm_up=1, warm_up_effort=4)), 3))
    assert [batch is own for (batch, _), own in zip(policy.updates, policy.batches[1:], strict=True)] == [True, True]
    assert [pay[0, 0] for _, pay in policy.updates] == [1, 2]
    assert [round.losses for round in rounds] == [{}, {"loss": 1.0}, {"loss": 1.0}]
    assert [effort for *_, effort in holes.evidence] == [4, 1, 1]
    for (index, rollout, log_prob, demonstrated_log_prob, _), batch in zip(holes.evidence, policy.batches, strict=True):
        assert rollout is batch.rollout is rounds[index].rollout
        assert log_prob.shape == rollout.actions.shape
        assert demonstrated_log_prob.shape == rollouts[3].actions.shape
