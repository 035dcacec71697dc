"""What a machine did along one trajectory, and why: each step with its events, its rule, the guard with numbers in place, the
pay, and what hindsight changed later. Built on the reference, so it is the definition that speaks.

`as_json` gives the same to other programs (a viewer): the fields of the records below under their names, tuples as lists.

    format          "srm-trace 1"
    machine         its name          values   {hole: number}
    traces          a list of Trace, one per trajectory asked for, each with its `index`
    totals          TraceTotals of all of them
    Trace           steps, terminated (false: time ran out), pay (kept), task_reward
    TracedStep      step, action, happened, signals, node, counters, fired, refused, pay, repaid, target, kept, repaid_at
    Happening       event, attributes {name: word}
    Reason          rule, guard, in_numbers, holds, holes (that the comparisons of the guard depend on)
    Amount          written, in_numbers, value, shares [{hole, coefficient, amount}]
    Repayment       step, before, now
    TraceTotals     pay, steps, holes [HoleTotal], rules [RuleTotal]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import Any

from srm.domains.base import EventReader
from srm.domains.reading import read_events
from srm.evaluate.explain import Amount, Share, Signals, amount_of, guard_in_numbers, holes_compared
from srm.evaluate.reference import Attributes, Judgement, Walk, happenings, signals_at
from srm.machine.fit import require_words
from srm.machine.model import Machine
from srm.machine.terms import events_of
from srm.machine.vocabulary import NOTHING, Vocabulary, unpack_cell
from srm.trajectory import Trajectory, as_rollout

FORMAT = "srm-trace 1"


@dataclass(frozen=True)
class Happening:
    """An event and the attributes it has, in words."""

    event: str
    attributes: Mapping[str, str]

    def __str__(self) -> str:
        return " ".join([self.event, *self.attributes.values()])


@dataclass(frozen=True)
class Reason:
    """Why a rule fired, or did not although one of its events happened. One that holds and did not fire yielded."""

    rule: str
    guard: str
    in_numbers: str
    holds: bool
    holes: tuple[str, ...]


@dataclass(frozen=True)
class Repayment:
    """What hindsight made of the pay of an earlier step."""

    step: int
    before: float
    now: Amount


@dataclass(frozen=True)
class TracedStep:
    step: int
    action: int | tuple[float, ...]  # several numbers where it has several
    happened: tuple[Happening, ...]
    signals: Mapping[str, float]
    node: str  # before the step
    counters: Mapping[str, int]  # before the step
    fired: Reason | None  # None: idle
    refused: tuple[Reason, ...]
    pay: Amount | None  # at once
    repaid: tuple[Repayment, ...]  # earlier steps that the rule's hindsight paid anew
    target: str  # the node after the step
    kept: Amount | None  # what remains when the episode is over
    repaid_at: int | None  # the step whose hindsight decided that

    @property
    def value(self) -> float:
        return self.kept.value if self.kept else 0.0

    @property
    def reasons(self) -> tuple[Reason, ...]:
        return (self.fired, *self.refused) if self.fired else self.refused

    @property
    def is_idle(self) -> bool:
        """Nothing fired, nothing might have, and nothing was paid later."""
        return not self.reasons and self.kept is None


@dataclass(frozen=True)
class Trace:
    """One trajectory as the machine saw it."""

    steps: tuple[TracedStep, ...]
    terminated: bool  # False: time ran out
    pay: float  # what the machine paid in all, hindsight included
    task_reward: float


def trace(machine: Machine, event_reader: EventReader, trajectory: Trajectory, values: Mapping[str, float]) -> Trace:
    """The machine's way along the trajectory under these values of its holes."""
    vocabulary = event_reader.vocabulary
    require_words(machine, vocabulary)
    events = read_events(event_reader, as_rollout([trajectory]), "episode")
    walk, steps = Walk(machine, vocabulary, values), []
    for step, (happened,) in enumerate(happenings(events, vocabulary)):
        signals = signals_at(events, vocabulary, step, 0)
        steps.append(trace_step(walk, step, plain_action(trajectory.actions[step]), happened, signals))
        for repayment in steps[-1].repaid:
            steps[repayment.step] = replace(steps[repayment.step], kept=repayment.now, repaid_at=step)
    return Trace(tuple(steps), trajectory.terminated, sum(step.value for step in steps), trajectory.total_reward)


def plain_action(action: Any) -> int | tuple[float, ...]:
    return tuple(action.tolist()) if action.shape else int(action)


def trace_step(
    walk: Walk,
    step: int,
    action: int | tuple[float, ...],
    happened: Mapping[str, Attributes],
    signals: Signals,
) -> TracedStep:
    """One step of a walk, which it moves on."""
    then = copy(walk)  # where the machine stood before the step
    then.counts, then.pay = dict(walk.counts), list(walk.pay)
    judgement = walk.step(happened, signals, f"step {step}")
    rule = next((rule for _, rule, label in walk.machine.rules if label == judgement.rule), None)
    reasons = list(_reasons(then, judgement))
    pay = amount_of(then, rule.pay, signals) if rule else None
    return TracedStep(
        step,
        action,
        tuple(Happening(event, _in_words(attributes, walk.vocabulary)) for event, attributes in happened.items()),
        signals,
        judgement.node,
        judgement.counts,
        next((reason for reason in reasons if reason.rule == judgement.rule), None),
        tuple(reason for reason in reasons if reason.rule != judgement.rule),
        pay,
        tuple(_repayments(then, judgement)),
        judgement.target,
        pay,
        None,
    )


def _reasons(then: Walk, judgement: Judgement) -> Iterator[Reason]:
    """Of the rule that fired, and of those of the node that speak of an event that happened."""
    for node, rule, label in then.machine.rules:
        if node.name == judgement.node and (
            label == judgement.rule or set(events_of(rule.guard)) & set(judgement.happened)
        ):
            yield Reason(
                label,
                str(rule.guard),
                guard_in_numbers(then, rule.guard, judgement.signals),
                then.holds(rule.guard, judgement.happened, judgement.signals),
                holes_compared(then.machine, rule.guard),
            )


def _repayments(then: Walk, judgement: Judgement) -> Iterator[Repayment]:
    """Each earlier step that was paid anew, once: of several changes to a step the last one counts."""
    last = {repaid.held: repaid.change for repaid in judgement.repaid}
    for index, change in sorted(last.items(), key=lambda item: item[0]):
        yield Repayment(index, then.pay[index], amount_of(then, change.pay, judgement.signals))


def _in_words(attributes: Attributes, vocabulary: Vocabulary) -> dict[str, str]:
    texts = {}
    for name, value in attributes.items():
        values = vocabulary.attributes[vocabulary.attribute_index[name]].values
        if value != NOTHING:
            texts[name] = str(unpack_cell(value)) if values is None else values[value]
    return texts


# What remains when the episode is over


@dataclass(frozen=True)
class HoleTotal:
    """What a hole contributed to the return, and where it mattered. `hole` None is the pay that no hole is part of."""

    hole: str | None
    value: float | None
    paid: int  # steps whose pay it is part of
    decided: int  # steps at which a guard that depends on it was asked
    trajectories: int  # in how many of them it did either
    amount: float


@dataclass(frozen=True)
class RuleTotal:
    """What a rule brought: what it paid at once, and what its hindsight changed in the pay of earlier steps."""

    rule: str
    text: str
    fired: int
    refused: int
    trajectories: int  # in how many of them it fired
    at_once: float
    hindsight: float

    @property
    def amount(self) -> float:
        return self.at_once + self.hindsight


@dataclass(frozen=True)
class TraceTotals:
    """Sums over some traces. The amounts of the holes add up to the return, and so do those of the rules."""

    pay: float
    steps: int
    holes: tuple[HoleTotal, ...]
    rules: tuple[RuleTotal, ...]

    @property
    def unused(self) -> tuple[str, ...]:
        """Holes about which these trajectories say nothing: only the constraint does."""
        return tuple(row.hole for row in self.holes if row.hole is not None and not row.paid and not row.decided)


def total(machine: Machine, values: Mapping[str, float], traces: Sequence[Trace]) -> TraceTotals:
    names: tuple[str | None, ...] = machine.hole_names
    if any(share.hole is None for trace in traces for step in trace.steps for share in _shares(step)):
        names = (*names, None)
    return TraceTotals(
        sum(trace.pay for trace in traces),
        sum(len(trace.steps) for trace in traces),
        tuple(_hole_total(name, None if name is None else values[name], traces) for name in names),
        tuple(_rule_total(label, str(replace(rule, name=None)), traces) for _, rule, label in machine.rules),
    )


def _shares(step: TracedStep) -> tuple[Share, ...]:
    return step.kept.shares if step.kept else ()


def _hole_total(hole: str | None, value: float | None, traces: Sequence[Trace]) -> HoleTotal:
    paid = [[share for step in trace.steps for share in _shares(step) if share.hole == hole] for trace in traces]
    decided = [
        [step for step in trace.steps if any(hole in reason.holes for reason in step.reasons)] for trace in traces
    ]
    return HoleTotal(
        hole,
        value,
        sum(map(len, paid)),
        sum(map(len, decided)),
        sum(bool(used or judged) for used, judged in zip(paid, decided, strict=True)),
        sum(share.amount for shares in paid for share in shares),
    )


def _rule_total(label: str, text: str, traces: Sequence[Trace]) -> RuleTotal:
    fired = [[step for step in trace.steps if step.fired and step.fired.rule == label] for trace in traces]
    steps = [step for steps in fired for step in steps]
    return RuleTotal(
        label,
        text,
        len(steps),
        sum(reason.rule == label for trace in traces for step in trace.steps for reason in step.refused),
        sum(map(bool, fired)),
        sum(step.pay.value for step in steps if step.pay),
        sum(repayment.now.value - repayment.before for step in steps for repayment in step.repaid),
    )


def as_json(machine: Machine, values: Mapping[str, float], traces: Mapping[int, Trace]) -> dict[str, Any]:
    """Plain data for `json.dumps`, from traces by the index of their trajectory; the module's docstring lists the fields."""
    return {
        "format": FORMAT,
        "machine": machine.name,
        "values": dict(values),
        "traces": [{"index": index, **asdict(trace)} for index, trace in traces.items()],
        "totals": asdict(total(machine, values, list(traces.values()))),
    }
