"""A potential of each node, by value iteration over the machine alone: shaping that leads a learner along the machine.

    V(node) = max over its rules that lead on   pay + discount * V(target),   or 0
    shaped pay = pay + discount * V(node after) - V(node before)

Shaping by any potential leaves optimal policies what they are, if the potential is 0 where an episode terminates (Ng, Harada and
Russell 1999); so nothing depends on how good it is. A rule is taken to hold whenever one likes, with counters at 0 and signals at 0, or
at the nearest number of their range; rules that stay at their node lead nowhere and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod

import numpy as np
import numpy.typing as npt

from srm.machine.affine import Form
from srm.machine.model import Machine
from srm.machine.vocabulary import Signal, Vocabulary

Floats = npt.NDArray[np.float64]


def potential(machine: Machine, vocabulary: Vocabulary, values: Mapping[str, float], discount: float) -> Floats:
    """[N], of each node."""
    signals = {signal.name: _nearest(signal) for signal in vocabulary.signals}
    index = {node.name: number for number, node in enumerate(machine.nodes)}
    moves = [
        (index[node.name], index[rule.target], _value(machine.form(rule.pay), values, signals))
        for node, rule, _ in machine.rules
        if rule.target is not None and rule.target != node.name
    ]
    value = np.zeros(len(machine.nodes))
    for _ in range(len(machine.nodes) * 100):
        before = value.copy()
        for source, target, pay in moves:
            value[source] = max(value[source], pay + discount * before[target])
        if np.abs(value - before).max(initial=0.0) < 1e-9:
            break
    return value


def shaping(
    potential: Floats,
    discount: float,
    before: npt.NDArray[np.integer],
    after: npt.NDArray[np.integer],
    terminated: npt.NDArray[np.bool_] | bool,
) -> Floats:
    """What is added to the pay of steps from nodes `before` to nodes `after`, [...] of each."""
    added: Floats = discount * np.where(terminated, 0.0, potential[after]) - potential[before]
    return added


def _nearest(signal: Signal) -> float:
    """The number of its range that is nearest to 0."""
    low = -inf if signal.low is None else signal.low
    return max(low, min(0.0, inf if signal.high is None else signal.high))


def _value(form: Form, values: Mapping[str, float], signals: Mapping[str, float]) -> float:
    """Of a pay, with every counter at 0."""
    return sum(
        float(coefficient)
        * (1.0 if monomial.hole is None else values[monomial.hole])
        * prod(signals[name] for name in monomial.signals)
        for monomial, coefficient in form.items()
        if not monomial.counters
    )
