"""Weights that are known: a runner whose reward is a sum of terms at every step, experts that are optimal for drawn weights, and what each
likelihood makes of their demonstrations.

    S = 5 speeds   A = 3 actions (brake, coast, push)   T steps   H = 3 terms (forward, effort, alive)   P problems   M demonstrations

A step pays the speed after it (forward), what pushing and braking take (effort, at most 0) and 1 (alive). The faster it runs, the
likelier it falls, and then the episode is over; and it loses speed by itself. So forward trades off against alive, and against effort.
A *soft* expert takes actions with probability exp(advantage), as the maximum-entropy model has it; a *best* one those that earn most.

    python -m benchmarks.dense --problems 60

A method is a likelihood, and behind a slash the number of policies that play: `averages/1` has random play alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

import numpy as np
import tyro

from srm.domains.words import WordReader, WrittenVocabulary
from srm.infer.posterior.evidence import Play
from srm.infer.posterior.infer import infer
from srm.infer.posterior.near import HABIT, SLIPS, NearestStep
from srm.infer.posterior.prior import Floats
from srm.infer.posterior.sample import PosteriorConfig
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from srm.seeding import stream
from srm.trajectory import Rollout

SPEEDS, ACTIONS, STEPS = 5, 3, 60
SLIP = 0.3  # chance that a step loses speed by itself
FALL = 0.002  # chance of falling at a step, times the square of the speed
EFFORT = np.array([-0.5, 0.0, -1.0])
PLAYED = 64  # episodes of each policy that plays
Expert = Literal["soft", "best"]

TEXT = """
machine runner
words runner

holes
    ?forward in 0 .. 2.5
    ?effort  in 0 .. 5
    ?alive   in 0 .. 5

start running
    always  // ?forward * forward + ?effort * effort + ?alive * alive
"""
SPACES = np.array([2.5, 5.0, 5.0])


@cache
def reader() -> WordReader:
    words = WrittenVocabulary("runner")
    for key in ("forward", "effort", "alive"):
        words.from_info(key)
    return words.reader()


@cache
def machine() -> Machine:
    return parse(TEXT, {"runner": reader().vocabulary})


def outcomes() -> tuple[np.ndarray, np.ndarray]:
    """The speeds after each action without and with a slip, [2, S, A], and their chances, [2]."""
    speed, change = np.arange(SPEEDS)[:, None], np.arange(ACTIONS) - 1
    return np.stack([np.clip(speed + change - slip, 0, SPEEDS - 1) for slip in (0, 1)]), np.array([1 - SLIP, SLIP])


def terms_of(after: np.ndarray, action: np.ndarray) -> np.ndarray:
    """[..., H]."""
    return np.stack([after.astype(np.float64), np.broadcast_to(EFFORT[action], after.shape), np.ones(after.shape)], -1)


def policy_for(weights: Floats, expert: Expert) -> Floats:
    """[T, S, A]."""
    after, chance = outcomes()
    pay = terms_of(after, np.arange(ACTIONS)) @ weights  # [2, S, A]
    stays = 1 - FALL * np.arange(SPEEDS) ** 2
    value, policy = np.zeros(SPEEDS), np.zeros((STEPS, SPEEDS, ACTIONS))
    for t in reversed(range(STEPS)):
        q = np.einsum("o,osa->sa", chance, pay + (stays * value)[after])
        top = q.max(axis=1)
        if expert == "soft":
            exp = np.exp(q - top[:, None])
            policy[t], value = exp / exp.sum(axis=1, keepdims=True), top + np.log(exp.sum(axis=1))
        else:
            policy[t, np.arange(SPEEDS), q.argmax(axis=1)], value = 1.0, top
    return policy


def earned(policy: Floats, weights: Floats) -> float:
    """What a policy earns from a standing start, on average."""
    after, chance = outcomes()
    pay, stays = terms_of(after, np.arange(ACTIONS)) @ weights, 1 - FALL * np.arange(SPEEDS) ** 2
    value = np.zeros(SPEEDS)
    for chosen in policy[::-1]:
        value = (chosen * np.einsum("o,osa->sa", chance, pay + (stays * value)[after])).sum(axis=1)
    return float(value[0])


def play(policy: Floats, episodes: int, rng: np.random.Generator) -> Rollout:
    """[T, B] episodes, one a column."""
    after, _ = outcomes()
    speed, running = np.zeros(episodes, np.intp), np.ones(episodes, np.bool_)
    rows: list[tuple[np.ndarray, ...]] = []
    seen = [speed]
    for chosen in policy:
        action = (rng.random((episodes, 1)) > chosen[speed].cumsum(axis=1)).sum(axis=1).clip(0, ACTIONS - 1)
        speed = after[(rng.random(episodes) < SLIP).astype(np.intp), speed, action]
        fell = running & (rng.random(episodes) < FALL * speed**2)
        rows.append((action, terms_of(speed, action), fell, running))
        seen.append(speed)
        running = running & ~fell
    action, terms, fell, valid = (np.stack(row) for row in zip(*rows, strict=True))
    truncated = np.zeros_like(fell)
    truncated[-1] = valid[-1] & ~fell[-1]
    info = {name: np.where(valid, terms[..., i], np.nan) for i, name in enumerate(("forward", "effort", "alive"))}
    return Rollout(
        np.stack(seen)[..., None].astype(np.float32),
        action.astype(np.int64),
        np.zeros((len(seen), episodes, 0), np.int16),
        np.zeros(action.shape, np.float32),
        fell,
        truncated,
        valid,
        info=info,
    )


@dataclass(frozen=True, eq=False)
class DenseProblem:
    """Weights to be inferred, and demonstrations of an expert for them."""

    weights: Floats  # [H]
    demonstrated: Rollout
    plays: tuple[Play, ...]

    @staticmethod
    def draw(rng: np.random.Generator, expert: Expert, demonstrations: int) -> DenseProblem:
        weights = rng.uniform(0, SPACES)
        demonstrated = play(policy_for(weights, expert), demonstrations, rng)
        uniform = np.full((STEPS, SPEEDS, ACTIONS), 1 / ACTIONS)
        near = [mixed(demonstrated, np.full(ACTIONS, share / ACTIONS)) for share in SLIPS]
        near += [mixed(demonstrated, HABIT * habit) for habit in np.eye(ACTIONS)]
        return DenseProblem(
            weights, demonstrated, tuple(as_play(policy, demonstrated, rng) for policy in (uniform, *near))
        )


def mixed(demonstrated: Rollout, slips: Floats) -> Floats:
    """[T, S, A] of who does what was demonstrated at the nearest speed, and slips into each action with these chances [A]."""
    chosen = NearestStep(demonstrated)(np.arange(SPEEDS, dtype=np.float32)[:, None])
    policy = np.tile(slips, (SPEEDS, 1))
    policy[np.arange(SPEEDS), chosen] += 1 - slips.sum()
    return np.broadcast_to(policy, (STEPS, SPEEDS, ACTIONS))


def as_play(policy: Floats, demonstrated: Rollout, rng: np.random.Generator) -> Play:
    rollout = play(policy, PLAYED, rng)
    return Play(rollout, log_prob(policy, rollout), log_prob(policy, demonstrated))


def log_prob(policy: Floats, rollout: Rollout) -> np.ndarray:
    speed = rollout.observations[:-1, :, 0].astype(np.intp)
    with np.errstate(divide="ignore"):
        return np.log(policy[np.arange(STEPS)[:, None], speed, rollout.actions])


@dataclass(frozen=True, eq=False)
class Direction:
    """What one posterior says of one problem's weights. Each is measured by its space, and directions have length 1; [H] each."""

    covers: np.ndarray
    width: np.ndarray
    values_covered: np.ndarray
    regret: float  # what the best policy earns more than the best for the weights that pay
    best: float


def recover(method: str, problem: DenseProblem, seed: int) -> Direction:
    name, _, count = method.partition("/")
    config = PosteriorConfig(likelihood=cast(Any, name), ensembles=2, walkers=24, first_look=80, sweeps=400)
    plays = list(problem.plays[: int(count)] if count else problem.plays)
    posterior = infer(machine(), None, reader(), problem.demonstrated, plays, config, seed=seed)
    x, truth = posterior.draws.assignments / SPACES, problem.weights / SPACES
    low, high = np.quantile(x / np.linalg.norm(x, axis=1, keepdims=True), (0.05, 0.95), axis=0)
    direction = truth / np.linalg.norm(truth)
    least, most = np.quantile(x, (0.05, 0.95), axis=0)
    best = earned(policy_for(problem.weights, "best"), problem.weights)
    return Direction(
        (low <= direction) & (direction <= high),
        high - low,
        (least <= truth) & (truth <= most),
        best - earned(policy_for(posterior.point, "best"), problem.weights),
        best,
    )


@dataclass(frozen=True)
class Dense:
    """How well each likelihood finds weights that are known."""

    methods: tuple[str, ...] = ("averages", "averages/1", "both/1", "totals/1", "steps/1")
    experts: tuple[Expert, ...] = ("best", "soft")
    demonstrations: tuple[int, ...] = (1, 10)
    problems: int = 60
    seed: int = 0

    def table(self) -> Iterable[str]:
        yield "| expert | M | likelihood | values covered | directions covered | width | regret |"
        yield "|---|--:|---|--:|--:|--:|--:|"
        for expert in self.experts:
            for count in self.demonstrations:
                drawn = [DenseProblem.draw(stream(self.seed, f"{i}"), expert, count) for i in range(self.problems)]
                for method in self.methods:
                    listed = [recover(method, problem, self.seed + i) for i, problem in enumerate(drawn)]
                    yield f"| {expert} | {count} | {method} | {row(listed)} |"


def row(listed: Sequence[Direction]) -> str:
    covers, width, values = (
        np.mean([getattr(r, name) for r in listed]) for name in ("covers", "width", "values_covered")
    )
    regret = sum(r.regret for r in listed) / sum(r.best for r in listed)
    return f"{values:.3f} | {covers:.3f} | {width:.2f} | {regret:.4f}"


if __name__ == "__main__":
    for line in tyro.cli(Dense).table():
        print(line, flush=True)
