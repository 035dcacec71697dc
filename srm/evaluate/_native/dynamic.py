"""Which parts of a machine depend on the holes.

Whatever does not is *static*: it is worked out once for all assignments. A rule is *open* if an assignment can decide whether it
fires: a hole, or a counter that depends on holes, stands in its guard or in that of a rule it yields to. From that follow the
*dynamic* counters (of firings of an open rule, or at nodes when the way through the nodes is dynamic) and whether the node itself is
dynamic (an open rule leads to another node).
"""

from __future__ import annotations

from srm.machine.affine import Monomial
from srm.machine.model import Machine, Rule, RuleOf
from srm.machine.terms import compared_terms


def find_dynamic(machine: Machine) -> tuple[set[str], set[str], bool]:
    """The labels of open rules, the names of dynamic counters, and whether the node is dynamic (see the module's text)."""
    compared = {label: _compared(machine, rule) for _, rule, label in machine.rules}
    open_rules: set[str] = set()
    dynamic: set[str] = set()
    dynamic_node = False
    while True:
        before = len(open_rules), len(dynamic), dynamic_node
        for node in machine.nodes:
            yields_to_open, tier = False, 0
            listed = [(rule, label) for here, rule, label in machine.rules if here is node]
            for rule, label in listed:
                if rule.tier != tier:
                    yields_to_open = any(other in open_rules for r, other in listed if r.tier < rule.tier)
                    tier = rule.tier
                if yields_to_open or any(m.hole is not None or dynamic & set(m.counters) for m in compared[label]):
                    open_rules.add(label)
                    dynamic_node |= rule.target not in (None, node.name)
        for counter in machine.counters:
            counted = isinstance(counter.counts, RuleOf) and (counter.counts.name in open_rules or dynamic_node)
            if counted or (dynamic_node and counter.at):
                dynamic.add(counter.name)
        if before == (len(open_rules), len(dynamic), dynamic_node):
            return open_rules, dynamic, dynamic_node


def _compared(machine: Machine, rule: Rule) -> list[Monomial]:
    """What stands in the comparisons of the rule's guard."""
    return [monomial for side in compared_terms(rule.guard) for monomial in machine.form(side)]
