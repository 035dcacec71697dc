"""How often each rule of a machine fires an episode, and what it pays: where a policy that does not learn comes to a halt.

    R rules   E episodes   B envs   N entries (steps that may pay)

Means over the last hundred episodes that ended, as those of the return are. Counting takes 0.15 ms of a round of 4,096 frames, which takes
about 110 (two busy cores), for machines of 5 and of 12 rules.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from srm.errors import RunError
from srm.evaluate.batched import IDLE, Floats, Paid
from srm.machine.model import ZERO, Machine
from srm.machine.terms import events_of
from srm.rl.episodes import WINDOW
from srm.trajectory import Mask

MOST_MILESTONES = 5  # in a line of progress


def rule_names(machine: Machine) -> tuple[str, ...]:
    """What a log calls each rule: its name; or its node and the event of its guard, if no other rule of the node has the same; or
    its node and its number there, as `srm trace` does. A rule that is added keeps the names of the first two kinds as they are."""
    by_event = [f"{node.name}.{'+'.join(events_of(rule.guard))}" for node, rule, _ in machine.rules]
    count = Counter(by_event)
    return tuple(
        rule.name or (label if name.endswith(".") or count[name] > 1 else name)
        for (_, rule, label), name in zip(machine.rules, by_event, strict=True)
    )


def milestones(machine: Machine) -> tuple[int, ...]:
    """The rules [R] that lead from one node to another, which tell how far a policy gets; in a machine with one node, its first ones."""
    moving = [i for i, (node, rule, _) in enumerate(machine.rules) if rule.target not in (None, node.name)]
    return tuple((moving or range(len(machine.rules)))[:MOST_MILESTONES])


def rules_by_episode(paid: Paid, over: Mask, under_way: Floats) -> tuple[Floats, Floats]:
    """How often each rule fired and what it contributed: in the episodes that ended [E, 2, R], in order of env and step, and in those under
    way at the end of the rollout [B, 2, R]. `under_way` is what these had at its beginning; `over` [T, B] is where episodes end."""
    assert paid.contribution is not None
    rules = under_way.shape[2]
    ends = np.cumsum(over, axis=0)  # [T, B]
    first = np.concatenate([[0], np.cumsum(ends[-1] + 1)])  # [B + 1] each env's first episode in a list of all
    at = np.flatnonzero(paid.rule[0] != IDLE)
    step, env, rule = paid.step[at], paid.env[at], paid.rule[0, at]
    cell = (first[env] + ends[step, env] - over[step, env]) * rules + rule
    sums = [np.bincount(cell, weights, first[-1] * rules) for weights in (None, paid.contribution[0, at])]
    episodes = np.stack(sums, axis=1, dtype=np.float64).reshape(-1, rules, 2).transpose(0, 2, 1)
    episodes[first[:-1]] += under_way
    last = first[1:] - 1
    return np.delete(episodes, last, axis=0), episodes[last]


class RuleRates:
    """Follows consecutive rollouts of the same envs, in which an episode may take several."""

    def __init__(self, machine: Machine) -> None:
        self.names = rule_names(machine)
        self._pays = [rule.pay != ZERO or rule.hindsight is not None for _, rule, _ in machine.rules]
        self._milestones = milestones(machine)
        self._recent: deque[Floats] = deque(maxlen=WINDOW)  # [2, R] of each
        self._under_way: Floats | None = None

    def add(self, paid: Paid, over: Mask) -> None:
        if self._under_way is None:
            self._under_way = np.zeros((paid.envs, 2, len(self.names)))
        complete, self._under_way = rules_by_episode(paid, over, self._under_way)
        self._recent.extend(complete)

    def forget(self) -> None:
        """Begins the means anew; episodes under way go on."""
        self._recent.clear()

    def row(self) -> dict[str, float]:
        """Columns of the log: `rule.NAME.rate`, firings an episode, and `rule.NAME.pay`, pay an episode, of the rules that may pay. NaN
        before the first episode has ended."""
        rate, pay = self._means()
        columns = {}
        for i, name in enumerate(self.names):
            columns[f"rule.{name}.rate"] = float(rate[i])
            if self._pays[i]:
                columns[f"rule.{name}.pay"] = float(pay[i])
        return columns

    def milestones(self) -> dict[str, float]:
        """The rates that tell most, under short names where these are clear."""
        rate, short = self._means()[0], [self.names[i].split(".")[-1] for i in self._milestones]
        unclear = {name for name, count in Counter(short).items() if count > 1 or name.isdigit()}
        return {
            self.names[i] if name in unclear else name: float(rate[i])
            for i, name in zip(self._milestones, short, strict=True)
        }

    def _means(self) -> npt.NDArray[np.float64]:
        return np.mean(self._recent, axis=0) if self._recent else np.full((2, len(self.names)), math.nan)

    def arrays(self) -> dict[str, np.ndarray]:
        """For a checkpoint. Episodes under way are not kept: a resumed run plays others."""
        return {"rules": np.array(self._recent).reshape(-1, 2, len(self.names))}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        recent = arrays.get("rules", np.zeros((0, 2, len(self.names))))
        if recent.shape[1:] != (2, len(self.names)) or not np.isfinite(recent).all():
            raise RunError(f"rules {list(recent.shape)}: of another machine, or damaged")
        self._recent.extend(recent)


def rates_text(milestones: Mapping[str, float]) -> str:
    """How often an episode the rules fire that tell most, after some other text; nothing before the first episode has ended."""
    known = [f"{name} {rate:.2f}" for name, rate in milestones.items() if rate == rate]
    return f"  {'  '.join(known)} an episode" if known else ""
