"""Rewards that are sums of terms: which terms an environment has, what they read, and a machine whose weights are to be inferred.

    T steps   B envs   H terms

A term is a number that is known at every step: one of Gymnasium's `info`, or a signal of a task's vocabulary. What the terms read in some
random play gives the spaces of the weights (a typical step may pay up to 5, as inference reads pay as log-odds). Where the
environment's own reward is a sum of them, it gives the signs too, and the spaces are multiples of its own weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10

import gymnasium
import numpy as np
import numpy.typing as npt

from srm.domains.base import Task
from srm.domains.envs import gather, make_environment, numbers_of
from srm.domains.info import task_of
from srm.errors import SettingError, TaskError, near
from srm.machine.holes import DEFAULT_SPACE, Atom, Constraint, Hole, Space
from srm.machine.language.print import columns
from srm.machine.model import Machine, Node, Rule
from srm.machine.terms import Always, HoleTerm, Number, Product, SignalTerm, Sum, Term
from srm.machine.validate import RESERVED
from srm.machine.vocabulary import INFO, InfoWord, InfoWords, Signal
from srm.seeding import stream
from srm.trajectory import Rollout

Floats = npt.NDArray[np.float64]

FRAMES = 10_240  # of random play
ENVS = 16
MEANT = ("reward", "cost", "penalty", "bonus")  # in the name of a number that is a part of a reward
TIMES = 10.0  # the environment's own weight: how large another may be
EXACT = 1e-4  # of the largest reward: up to this it is the sum of the terms


def longest_episode(env_id: str) -> int | None:
    """After how many steps Gymnasium ends an episode; None: it does not say."""
    spec = gymnasium.registry.get(env_id)
    return spec.max_episode_steps if spec is not None else None


@dataclass(frozen=True)
class TermSummary:
    """What one term read in some play."""

    name: str
    low: float
    high: float
    mean: float
    size: float  # root mean square: of a typical step
    present: float  # share of the steps that have it
    weight: float | None  # in the environment's own reward, where that is a sum of terms
    share: float | None  # of all that the terms pay there, either sign counted as paid


@dataclass(frozen=True)
class TermsPlay:
    """What the terms of a reward read while somebody played."""

    env_id: str
    steps: int
    episodes: int
    terms: tuple[TermSummary, ...]

    @property
    def is_sum(self) -> bool:
        """Whether the environment's own reward is a sum of the terms."""
        return any(term.weight is not None for term in self.terms)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("term", "low", "high", "mean", "weight", "share", "steps with it")]
        rows += [
            (
                term.name,
                *(f"{number:.4g}" for number in (term.low, term.high, term.mean)),
                "" if term.weight is None else f"{term.weight:.4g}",
                "" if term.share is None else f"{term.share:.0%}",
                "all" if term.present == 1 else f"{term.present:.1%}",
            )
            for term in self.terms
        ]
        return "\n".join(columns(rows))


def summarise_terms(env_id: str, rollout: Rollout, terms: Mapping[str, Floats]) -> TermsPlay:
    """`terms` are [T, B] each, NaN where a step has none; steps that are not valid do not count."""
    valid = rollout.valid
    read = np.stack([numbers[valid] for numbers in terms.values()], axis=1)  # [N, H]
    refuse_infinite(read, tuple(terms))
    known, filled = ~np.isnan(read), np.nan_to_num(read)
    reward = rollout.task_reward[valid].astype(np.float64)
    weights, residual = _fit(filled, reward)
    paid = np.abs(filled * weights).sum(axis=0)
    is_sum = residual <= EXACT and paid.sum() > 0
    return TermsPlay(
        env_id,
        len(reward),
        int((rollout.terminated | rollout.truncated).sum()),
        tuple(
            TermSummary(
                name,
                float(np.nanmin(read[:, i])),
                float(np.nanmax(read[:, i])),
                float(filled[:, i].mean()),
                float(np.sqrt(np.square(filled[:, i]).mean())),
                float(known[:, i].mean()),
                float(weights[i]) if is_sum else None,
                float(paid[i] / paid.sum()) if is_sum else None,
            )
            for i, name in enumerate(terms)
        ),
    )


def refuse_infinite(read: Floats, names: Sequence[str]) -> None:
    """NaN says that a step has no such number; infinity is a fault of the environment."""
    if np.isinf(read).any():
        name = names[int(np.argwhere(np.isinf(read))[0, 1])]
        raise TaskError(f"info {name} is infinite at some steps of play; mend the environment, or leave the term out")


def _fit(terms: Floats, reward: Floats) -> tuple[Floats, float]:
    """Weights [H] under which the terms [N, H] come nearest to the reward [N], and what is left of the largest reward."""
    scale = np.maximum(np.abs(terms).max(axis=0, initial=0.0), 1e-12)
    weights = np.linalg.lstsq(terms / scale, reward, rcond=1e-9)[0] / scale
    tidy = np.round(weights, 4)  # float32 rewards carry some six digits
    largest = np.abs(reward).max(initial=0.0)
    residual = np.abs(terms @ tidy - reward).max(initial=0.0)
    return tidy, float(residual / largest) if largest > 0 else 0.0


# Playing


def random_rollout(task: Task, seed: int, frames: int = FRAMES) -> Rollout:
    """Actions drawn at random, in sixteen envs; at least as many steps of each as an episode may last."""
    envs, rng = task.make_envs(ENVS, seed), stream(seed, "random play")
    try:
        observations, poses = envs.reset()
        steps = max(1, frames // envs.count, min(longest_episode(task.env_id) or 0, frames))
        actions = [envs.action_space.draw(rng, envs.count) for _ in range(steps)]
        return gather(observations, poses, actions, [envs.step(action) for action in actions])
    finally:
        envs.close()


def info_terms(env_id: str, rollout: Rollout, keys: Sequence[str]) -> dict[str, Floats]:
    """[T, B] of each key, or of all that are numbers if none is named. Refuses a key that is none of them."""
    known = {key: numbers for key, numbers in rollout.info.items() if not np.isnan(numbers[rollout.valid]).all()}
    if not known:
        raise TaskError(
            f"{env_id}: {_without_numbers(env_id)}, so it has no terms; write words of your own "
            "(docs/own_task.md), and name their task here"
        )
    for key in keys:
        if key not in known:
            listed = near(key, known) or f"; they are {', '.join(sorted(known))}"
            raise TaskError(f"{env_id}: {_not_a_number(env_id, key)}{listed}")
    return {key: known[key] for key in (keys or known)}


def _info_after_a_step(env_id: str) -> Mapping[str, object]:
    env = make_environment(env_id, rendered=False)
    env.reset(seed=0)
    env.action_space.seed(0)
    info = env.step(env.action_space.sample())[4]
    env.close()
    return info


def _without_numbers(env_id: str) -> str:
    info = _info_after_a_step(env_id)
    return f"no entry of its info ({', '.join(map(str, info))}) is a number" if info else "its info is empty"


def _not_a_number(env_id: str, key: str) -> str:
    info = _info_after_a_step(env_id)
    if key in info and key not in numbers_of(info):
        return f"info {key} is of type {type(info[key]).__name__}, and a term must be a number; choose others"
    return f"its info has no number {key}"


def signal_terms(task: Task, rollout: Rollout, names: Sequence[str]) -> dict[str, Floats]:
    """[T, B] of each signal of the task's words, or of all of them if none is named."""
    known = task.vocabulary.signal_index
    if not known:
        raise TaskError(f"the words {task.vocabulary.name} have no signals, so they have no terms; declare some")
    for name in names:
        if name not in known:
            listed = near(name, known) or f"; they are {', '.join(known)}"
            raise TaskError(f"the words {task.vocabulary.name} have no signal {name}{listed}")
    signals = task.event_reader().read(rollout).signals
    return {name: signals[..., known[name]] for name in (names or known)}


# The machine


def proposed_keys(keys: Sequence[str]) -> tuple[str, ...]:
    """Those that are parts of a reward by their names; all of them if none is."""
    return tuple(key for key in keys if any(word in key.lower() for word in MEANT)) or tuple(keys)


def machine_of_terms(play: TermsPlay, name: str, task: Task | None = None) -> Machine:
    """The sum of holes times terms. Terms are signals of the task's words or, without a task, numbers of `info`."""
    keys = [term.name for term in play.terms]
    signals = dict(zip(keys, _distinct(map(_identifier, keys)), strict=True))
    holes = dict(zip(keys, _distinct(_shortened(signals[key]) for key in keys), strict=True))
    products: list[Term] = [Product((HoleTerm(holes[key]), SignalTerm(signals[key]))) for key in keys]
    pay = products[0] if len(products) == 1 else Sum(tuple(products))
    info = None
    if task is None:
        words = [InfoWord(Signal(signals[t.name], f"{t.name} of info"), t.name, _substitute(t)) for t in play.terms]
        info = InfoWords(play.env_id, tuple(words))
    return Machine(
        name=_identifier(name),
        nodes=(Node("playing", (Rule(Always(), pay),)),),
        start="playing",
        holes=tuple(Hole(holes[term.name], space=_space(term)) for term in play.terms),
        constraints=_signs(play, holes),
        words=INFO if task is None else task.vocabulary.name,
        info=info,
    )


def _substitute(term: TermSummary) -> float | None:
    return 0.0 if term.present < 1 else None


def _signs(play: TermsPlay, holes: Mapping[str, str]) -> tuple[Constraint, ...]:
    """Those of the environment's own reward."""
    atoms = []
    for label, relation, kept in (
        ("as the environment pays them", ">=", [t.name for t in play.terms if (t.weight or 0) > 0]),
        ("as the environment charges them", "<=", [t.name for t in play.terms if (t.weight or 0) < 0]),
    ):
        if kept:
            atoms.append(Atom(tuple(HoleTerm(holes[key]) for key in kept), relation, Number(0.0), label))
    return (Constraint(tuple(atoms), "signs"),) if atoms else ()


def _space(term: TermSummary) -> Space:
    """Up to ten times the environment's own weight or, where that is not known, so that a typical step pays up to 5; either way, and
    rounded, since it is no more than a scale."""
    if term.weight:
        bound = TIMES * abs(term.weight)
    elif term.size > 0:
        bound = DEFAULT_SPACE.high / term.size
    else:
        return DEFAULT_SPACE
    power = 10.0 ** floor(log10(bound))
    rounded = float(f"{max(step for step in (1, 2, 5) if step <= bound / power * (1 + 1e-9)) * power:.6g}")
    return Space(-rounded, rounded)


def _identifier(key: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_]+", "_", key).strip("_") or "term"
    return f"_{name}" if name[0].isdigit() or name in RESERVED else name


def _shortened(name: str) -> str:
    short = re.sub(r"^(reward|rewards|rew)_|_(reward|rew)$", "", name)
    return name if not short or short in RESERVED or short[0].isdigit() else short


def _distinct(names: Iterable[str]) -> list[str]:
    listed: list[str] = []
    for name in names:
        number = 2
        unique = name
        while unique in listed:
            unique, number = f"{name}_{number}", number + 1
        listed.append(unique)
    return listed


def commented(machine: Machine, play: TermsPlay) -> str:
    """The machine as a file, with what the terms read in play."""
    ranges = columns(
        (term.name, f"{term.low:.4g} .. {term.high:.4g}", f"mean {term.mean:.4g}", _seldom(term)) for term in play.terms
    )
    own = " + ".join(f"{term.weight:g} * {term.name}" for term in play.terms if term.weight) if play.is_sum else ""
    reward = (
        f"The environment's own reward is {own.replace('+ -', '- ')}; the signs below are those."
        if own
        else "The environment's own reward is no sum of these terms, so their signs are open; write what you know into a constraint."
    )
    lines = [
        f"The reward of {play.env_id} as a sum of terms, whose weights are to be inferred.",
        f"In {play.steps:,} steps of random play ({play.episodes:,} episodes) the terms read",
        *(f"    {line}" for line in ranges),
        reward,
        f"A weight may be up to {TIMES:g} times the environment's own."
        if own
        else "The spaces of the weights let a typical step of random play pay up to 5 either way.",
    ]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines) + "\n" + str(machine)


def _seldom(term: TermSummary) -> str:
    return "" if term.present == 1 else f"at {term.present:.1%} of the steps"


def from_terms(
    env: str | Task, terms: Sequence[str] = (), *, name: str | None = None, frames: int = FRAMES, seed: int = 0
) -> tuple[Machine, TermsPlay]:
    """The machine, and what its terms read in random play."""
    if isinstance(env, Task):
        rollout = random_rollout(env, seed, frames)
        play = summarise_terms(env.env_id, rollout, signal_terms(env, rollout, terms))
        return machine_of_terms(play, name or env.name, env), play
    rollout = random_rollout(bare_task(env), seed, frames)
    known = info_terms(env, rollout, terms)
    chosen = terms or proposed_keys(tuple(known))
    play = summarise_terms(env, rollout, {key: known[key] for key in chosen})
    return machine_of_terms(play, name or re.sub(r"-v\d+$", "", env).lower()), play


def listed_terms(env: str, info: Sequence[str], signals: Sequence[str]) -> tuple[str | Task, tuple[str, ...]]:
    """What is named: an environment with keys of its `info`, or a task with signals of its words."""
    if ":" not in env:
        if signals:
            raise SettingError(f"--signals are of a task's words, and {env} is an environment; give --info KEY ...")
        return env, tuple(info)
    if info:
        raise SettingError(
            f"--info is of an environment, and {env} is a task; give --signals, of which words.from_info makes one of a key"
        )
    from srm.domains.tasks import find_task  # which knows the tasks of machines like those made here

    return find_task(env), tuple(signals)


def bare_task(env_id: str) -> Task:
    """The environment without any words."""
    bare = Machine("bare", (Node("here"),), "here", words=INFO, info=InfoWords(env_id, ()))
    return task_of(bare)
