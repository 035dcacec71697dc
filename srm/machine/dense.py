"""Rewards that are paid by the step.

A rule is *dense* if it waits for no event and stays at its node: `always // ?far * distance`. A machine that has such rules and no accepting node
is a *running* reward: it says how good each step is, and never that the task is done.
"""

from __future__ import annotations

from collections.abc import Iterator

from srm.machine.model import Machine, Node, Rule
from srm.machine.terms import events_of


def dense_rules(machine: Machine) -> Iterator[tuple[Node, Rule]]:
    """The rules that may pay something at every step."""
    for node, rule, _ in machine.rules:
        if rule.target in (None, node.name) and not events_of(rule.guard) and machine.form(rule.pay):
            yield node, rule


def is_running(machine: Machine) -> bool:
    """Whether the machine pays as long as the episode lasts, by design: some rule is dense, and no node is accepting."""
    return not any(node.accepting for node in machine.nodes) and any(True for _ in dense_rules(machine))
