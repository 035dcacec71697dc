"""Machines in which much depends on the holes, and streams in which much happens.

The strategies of `tests.machines` draw every construct, but rarely many at once; these are drawn from a seed so that nearly every
machine has open rules, dynamic counters, a way through its nodes that depends on the holes, and hindsight.
"""

from __future__ import annotations

import numpy as np

from srm.machine.holes import Hole
from srm.machine.model import Counter, Hindsight, Machine, Node, RepayEvery, RepayLast, Rule, RuleOf
from srm.machine.terms import (
    And,
    AttributeOf,
    Compare,
    CounterTerm,
    Guard,
    Happens,
    HoleTerm,
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
from srm.machine.vocabulary import NOTHING, pack_cell
from srm.trajectory import Events
from tests.machines import GRID, WORDS, Stream

HOLES = ("a", "b", "c")
NODES = ("one", "two", "three")
COUNTERS = ("seen", "here", "fired", "again")
ACTS = ("pick", "drop", "toggle", "push", "wait")


def quarter(rng: np.random.Generator) -> Number:
    return Number(float(rng.integers(-8, 9)) / 4)


def busy_term(rng: np.random.Generator) -> Term:
    parts: list[Term] = []
    for _ in range(rng.integers(1, 4)):
        hole: Term = HoleTerm(str(rng.choice(HOLES)))
        counter: Term = CounterTerm(str(rng.choice(COUNTERS)))
        signal: Term = SignalTerm(str(rng.choice(["speed", "height"])))
        drawn = (hole, Product((counter, hole)), Product((counter, hole, signal)), Negation(counter), quarter(rng))
        parts.append(drawn[rng.integers(len(drawn))])
    return Sum(tuple(parts)) if len(parts) > 1 else parts[0]


def busy_guard(rng: np.random.Generator, act: str) -> Guard:
    happens: Guard = Happens(act)
    if act in ("pick", "push") and rng.random() < 0.3:
        happens = Happens(
            act, (Test("colour", str(rng.choice(["=", "!="])), str(rng.choice(["red", "green", "none"]))),)
        )
    compare: Guard = Compare(busy_term(rng), str(rng.choice(["<", "<=", ">", ">=", "=", "!="])), quarter(rng))
    kind = rng.integers(5)
    if kind == 0:
        return happens
    if kind == 1:
        return And((happens, Or((Not(compare), Happens("see")))))
    return And((happens, compare))


def busy_hindsight(rng: np.random.Generator, act: str) -> Hindsight:
    tests: tuple[Test, ...] = ()
    if act in ("pick", "drop", "toggle") and rng.random() < 0.7:
        tests = (Test("place", str(rng.choice(["next to", "=", "!="])), AttributeOf(act, "place")),)
    changes = (
        RepayEvery(tuple(rng.choice(ACTS, 2, replace=False).tolist()), busy_term(rng)),
        RepayLast(Happens(str(rng.choice(["pick", "drop", "toggle"])), tests), busy_term(rng)),
        RepayLast(Happens("see"), busy_term(rng)),
    )
    return Hindsight(changes[: rng.integers(1, 4)], None if rng.random() < 0.5 else str(rng.choice(ACTS)))


def busy_machine(seed: int) -> Machine:
    rng = np.random.default_rng(seed)
    nodes = []
    for name in NODES:
        rules = []
        tier = 0
        for act in rng.permutation(ACTS)[:4].tolist():
            target = None if rng.random() < 0.5 else str(rng.choice(NODES))
            hindsight = busy_hindsight(rng, act) if rng.random() < 0.3 else None
            rules.append(Rule(busy_guard(rng, act), busy_term(rng), target, f"{name}_{act}", tier, hindsight))
            tier += int(rng.random() < 0.2)
        if rng.random() < 0.3:
            rules.append(
                Rule(Compare(busy_term(rng), ">", quarter(rng)), busy_term(rng), None, None, rules[-1].tier + 1)
            )
        nodes.append(Node(name, tuple(rules)))
    named = [rule.name for node in nodes for rule in node.rules if rule.name]
    counters = (
        Counter("seen", Happens("see"), resets=(Happens("push"),)),
        Counter("here", Happens(str(rng.choice(ACTS))), at=tuple(rng.choice(NODES, 2, replace=False).tolist())),
        Counter("fired", RuleOf(str(rng.choice(named))), resets=(Happens("wait"),)),
        Counter("again", RuleOf(str(rng.choice(named))), at=(str(rng.choice(NODES)),)),
    )
    return Machine("busy", tuple(nodes), str(rng.choice(NODES)), tuple(map(Hole, HOLES)), counters)


def busy_stream(seed: int, steps: int = 40, envs: int = 3) -> Stream:
    rng = np.random.default_rng(seed)
    over = rng.random((steps, envs)) < 0.08
    terminated = over & (rng.random(over.shape) < 0.5)
    valid = np.ones_like(over)
    valid[1:, 0] = ~over[:-1, 0]  # the first env spends a step on resetting
    terminated, over = terminated & valid, over & valid
    rows = []
    for env in range(envs):
        for step in np.flatnonzero(valid[:, env]):
            happened = [str(rng.choice(ACTS))] if rng.random() < 0.8 else []
            happened += ["see"] if rng.random() < 0.3 else []
            for name in sorted(happened, key=WORDS.event_index.__getitem__):
                has = WORDS.events[WORDS.event_index[name]].attributes
                colour = int(rng.integers(-1, 3)) if "colour" in has else NOTHING
                place = pack_cell(*rng.integers(0, GRID, 2).tolist()) if "place" in has else NOTHING
                rows.append((step, env, WORDS.event_index[name], colour, place))
    table = np.array(rows, np.int32)
    signals = rng.integers(-4, 5, (steps, envs, 2)) / 4.0
    events = Events(steps, envs, table[:, 0], table[:, 1], table[:, 2].astype(np.int16), table[:, 3:], signals)
    return Stream(events, terminated, over & ~terminated, valid)
