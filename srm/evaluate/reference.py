"""The paper's definition of a machine, one step at a time in plain Python: the slow truth beside the fast evaluators.

At a step the machine stands at a node. Of the node's rules at most one may hold (a rule below `otherwise` yields to those
above); it pays, may re-pay earlier steps of the episode that are still held, and leads to its target. If none holds the
machine idles: it stays, and pays 0. Counters are read before the step and move after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from srm.errors import SrmError
from srm.machine.model import Machine, Node, RepayEvery, RepayLast, Rule, RuleOf
from srm.machine.terms import (
    Always,
    And,
    AttributeOf,
    Cell,
    Compare,
    CounterTerm,
    Guard,
    Happens,
    HoleTerm,
    NamedTerm,
    Negation,
    Not,
    Number,
    Or,
    Product,
    SignalTerm,
    Sum,
    Term,
    Test,
)
from srm.machine.vocabulary import NOTHING, Vocabulary, pack_cell, unpack_cell
from srm.trajectory import Events, Mask

# Differences below this are rounding and count as none: with ?unlock = 0.6 and five moves of 0.12 paid in advance,
# `left > 0` must not depend on the order in which the moves were made. machine.h has the same number.
ROUNDING = 1e-9
COMPARE: Mapping[str, Callable[[float], bool]] = {  # of the difference between left and right
    "<": lambda difference: difference < -ROUNDING,
    "<=": lambda difference: difference <= ROUNDING,
    ">": lambda difference: difference > ROUNDING,
    ">=": lambda difference: difference >= -ROUNDING,
    "=": lambda difference: abs(difference) <= ROUNDING,
    "!=": lambda difference: abs(difference) > ROUNDING,
}
Attributes = Mapping[str, int]  # of one occurrence, by the attribute's name


class Ambiguous(SrmError):
    """Two rules of a node hold at one step, so the machine does not say what is paid."""

    def __init__(self, node: str, first: str, second: str, where: str, assignment: Mapping[str, float]) -> None:
        values = ", ".join(f"?{name} = {value:g}" for name, value in assignment.items()) or "no holes"
        super().__init__(
            f"{where}: rules {first} and {second} of node {node} both hold (with {values}); "
            "make their guards exclude each other, or write `otherwise` between them"
        )
        self._arguments = (node, first, second, where, dict(assignment))

    def __reduce__(self) -> tuple[type[Ambiguous], tuple[Any, ...]]:
        return Ambiguous, self._arguments  # it may be raised in another process


class Repaid(NamedTuple):
    """What hindsight made of the pay of an earlier step."""

    held: int  # the step, as an index into what is held
    pay: float
    change: RepayEvery | RepayLast


@dataclass(frozen=True)
class Judgement:
    """What the machine said of one step."""

    happened: Mapping[str, Attributes]
    signals: Mapping[str, float]
    node: str  # before the step
    counts: Mapping[str, int]  # before the step
    rule: str | None  # the label of the rule that fired; None: idle
    pay: float  # at once; hindsight may change it later
    target: str  # the node after the step
    repaid: tuple[Repaid, ...] = ()  # in the order in which the changes are made


@dataclass
class Walk:
    """One env's way through a machine. Memory of what can still be re-paid is `held`, with its pay beside it."""

    machine: Machine
    vocabulary: Vocabulary
    assignment: Mapping[str, float]
    node: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    held: list[Judgement] = field(default_factory=list)
    pay: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begin_episode()

    def begin_episode(self) -> None:
        self.node = self.machine.start
        self.counts = {counter.name: 0 for counter in self.machine.counters}
        self.forget()

    def forget(self) -> None:
        """What was paid so far has been handed out and cannot be changed any more."""
        self.held, self.pay = [], []

    def step(self, happened: Mapping[str, Attributes], signals: Mapping[str, float], where: str = "") -> Judgement:
        fired = self._applicable(happened, signals, where)
        label, rule = fired if fired else (None, None)
        judgement = Judgement(
            happened,
            signals,
            self.node,
            dict(self.counts),
            label,
            self.value(rule.pay, signals) if rule else 0.0,
            (rule.target if rule else None) or self.node,
            tuple(self._repay(rule, happened, signals)) if rule else (),
        )
        for repaid in judgement.repaid:
            self.pay[repaid.held] = repaid.pay
        self.held.append(judgement)
        self.pay.append(judgement.pay)
        self._count(happened, rule)
        self.node = judgement.target
        return judgement

    def _applicable(
        self, happened: Mapping[str, Attributes], signals: Mapping[str, float], where: str
    ) -> tuple[str, Rule] | None:
        here: Node = self.machine.node(self.node)
        holding = [
            (label, rule)
            for node, rule, label in self.machine.rules
            if node is here and self.holds(rule.guard, happened, signals)
        ]
        first = [(label, rule) for label, rule in holding if rule.tier == holding[0][1].tier]
        if len(first) > 1:
            raise Ambiguous(self.node, first[0][0], first[1][0], where or "at run time", self.assignment)
        return first[0] if first else None

    def _repay(self, rule: Rule, happened: Mapping[str, Attributes], signals: Mapping[str, float]) -> list[Repaid]:
        if rule.hindsight is None:
            return []

        # The window: after the last step at which `since` happened, or all that is held
        begin = 0
        for index, earlier in enumerate(self.held):
            if rule.hindsight.since in earlier.happened:
                begin = index + 1
        window = range(begin, len(self.held))

        # The changes, in order: whoever makes them lets the later one win
        changes = []
        for change in rule.hindsight.changes:
            pay = self.value(change.pay, signals)
            if isinstance(change, RepayEvery):
                chosen = [i for i in window if any(event in self.held[i].happened for event in change.events)]
            else:
                chosen = [
                    i for i in window if _occurs(change.milestone, self.held[i].happened, self.vocabulary, happened)
                ]
                chosen = chosen[-1:]
            changes += [Repaid(index, pay, change) for index in chosen]
        return changes

    def _count(self, happened: Mapping[str, Attributes], fired: Rule | None) -> None:
        for counter in self.machine.counters:
            if any(_occurs(reset, happened, self.vocabulary) for reset in counter.resets):
                self.counts[counter.name] = 0
                continue
            if isinstance(counter.counts, RuleOf):
                counted = fired is not None and fired.name == counter.counts.name
            else:
                counted = _occurs(counter.counts, happened, self.vocabulary)
            if counted and (not counter.at or self.node in counter.at):
                self.counts[counter.name] += 1

    # Meaning of terms and guards

    def value(self, term: Term, signals: Mapping[str, float]) -> float:
        match term:
            case Number(value):
                return value
            case HoleTerm(name):
                return self.assignment[name]
            case CounterTerm(name):
                return self.counts[name]
            case SignalTerm(name):
                return signals[name]
            case NamedTerm(name):
                return self.value(dict(self.machine.terms)[name], signals)
            case Negation(inner):
                return -self.value(inner, signals)
            case Sum(inner):
                return sum(self.value(part, signals) for part in inner)
            case Product(factors):
                product = 1.0
                for factor in factors:
                    product *= self.value(factor, signals)
                return product

    def holds(self, guard: Guard, happened: Mapping[str, Attributes], signals: Mapping[str, float]) -> bool:
        match guard:
            case Always():
                return True
            case Happens():
                return _occurs(guard, happened, self.vocabulary)
            case Compare(left, relation, right):
                return COMPARE[relation](self.value(left, signals) - self.value(right, signals))
            case Not(inner):
                return not self.holds(inner, happened, signals)
            case And(inside):
                return all(self.holds(g, happened, signals) for g in inside)
            case Or(inside):
                return any(self.holds(g, happened, signals) for g in inside)


def _occurs(
    happens: Happens,
    happened: Mapping[str, Attributes],
    vocabulary: Vocabulary,
    now: Mapping[str, Attributes] | None = None,
) -> bool:
    if happens.event not in happened:
        return False
    return all(_passes(test, happened[happens.event], vocabulary, now or {}) for test in happens.tests)


def _passes(test: Test, attributes: Attributes, vocabulary: Vocabulary, now: Mapping[str, Attributes]) -> bool:
    have = attributes[test.attribute]
    match test.value:
        case AttributeOf(event, attribute):
            want = now[event][attribute] if event in now else NOTHING
        case Cell(x, y):
            want = pack_cell(x, y)
        case "none":
            want = NOTHING
        case word:
            values = vocabulary.attributes[vocabulary.attribute_index[test.attribute]].values
            assert values is not None
            want = values.index(word)
    if test.relation == "next to":
        if NOTHING in (have, want):
            return False
        (x, y), (u, v) = unpack_cell(have), unpack_cell(want)
        return abs(x - u) + abs(y - v) == 1
    return (have == want) == (test.relation == "=")


Happenings = list[list[dict[str, Attributes]]]  # [T][B]: what happened at each step, by the event's name


def happenings(events: Events, vocabulary: Vocabulary) -> Happenings:
    """The events of a rollout step by step, each with the attributes it has."""
    steps: Happenings = [[{} for _ in range(events.envs)] for _ in range(events.steps)]
    for n in range(len(events.step)):
        event = vocabulary.events[int(events.event[n])]
        attributes = {name: int(events.attributes[n, vocabulary.attribute_index[name]]) for name in event.attributes}
        steps[int(events.step[n])][int(events.env[n])][event.name] = attributes
    return steps


def signals_at(events: Events, vocabulary: Vocabulary, step: int, env: int) -> dict[str, float]:
    """What each signal read at a step, by its name."""
    return {signal.name: float(events.signals[step, env, i]) for i, signal in enumerate(vocabulary.signals)}


def pay_rollout(
    walks: list[Walk], vocabulary: Vocabulary, events: Events, over: Mask, valid: Mask
) -> npt.NDArray[np.float64]:
    """What each of B walks pays along a rollout, [T, B]; the walks go on where the last rollout left them.

    `over` says where an episode ended or ran out of time; steps that are not `valid` are not shown to the machine.
    """
    pay = np.zeros((events.steps, events.envs))
    happened = happenings(events, vocabulary)
    for env, walk in enumerate(walks):
        walk.forget()
        held: list[int] = []  # the rollout's steps that the walk still holds
        for step in range(events.steps):
            if not valid[step, env]:
                continue
            walk.step(happened[step][env], signals_at(events, vocabulary, step, env), f"step {step} of env {env}")
            held.append(step)
            pay[held, env] = walk.pay
            if over[step, env]:
                walk.begin_episode()
                held = []
    return pay
