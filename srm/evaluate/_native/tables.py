"""A machine as flat arrays that compiled code can walk; machine.h has the same fields.

`srm.evaluate._native.dynamic` says which rules are open, and which counters and nodes dynamic.

Lists of lists are stored as one array with the offsets at which each begins (`*_from`, one longer than there are lists).

    form   a term in normal form: groups of monomials that share their hole and their dynamic counters
    happen an event asked for, with tests of its attributes
    op     one operation of a guard in postfix order
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from srm.evaluate._native.dynamic import find_dynamic
from srm.machine.affine import Form, add, scale
from srm.machine.model import Counter, Machine, RepayEvery, RepayLast, Rule, RuleOf
from srm.machine.terms import And, AttributeOf, Cell, Compare, Guard, Happens, Not, Or, needs_event
from srm.machine.vocabulary import NOTHING, Vocabulary, pack_cell

Array = npt.NDArray[Any]

# operations of a guard
EVENT, COMPARE, AND, OR, NOT, TRUE = range(6)
# relations: of comparisons with 0, and of attributes
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL = range(6)
RELATION = {"<": LESS, "<=": LESS_EQUAL, ">": GREATER, ">=": GREATER_EQUAL, "=": EQUAL, "!=": UNEQUAL}
SAME, OTHER, NEXT_TO = range(3)
TEST = {"=": SAME, "!=": OTHER, "next to": NEXT_TO}
CONSTANT = -1  # in place of an event: the test compares with a constant
EVERY, LAST = range(2)
NONE = -1


class Tables(NamedTuple):
    """The machine. R rules, in the order of the text and so grouped by node; C counters, of which D are dynamic."""

    start: int
    every_step: bool  # some rule can hold at a step where nothing happens
    dynamic_node: bool
    dynamic: int  # D
    holes: int  # H
    nodes: int
    rules: int  # R
    counters: int  # C
    events: int  # E
    longest_guard: int  # operations
    relevant: Array  # [E] the machine speaks of this event
    repayable: Array  # [E] hindsight can re-pay a step at which this event happened

    rule_from: Array  # [nodes + 1]
    rule_source: Array
    rule_target: Array
    rule_tier: Array
    rule_open: Array
    rule_pay: Array  # form
    rule_since: Array  # event, or NONE
    rule_needs: Array  # an event without which the rule cannot hold, or NONE
    op_from: Array  # [R + 1]
    op_code: Array
    op_arg: Array
    change_from: Array  # [R + 1] hindsight
    change_kind: Array
    change_form: Array
    change_happen: Array  # LAST: the milestone
    change_event_from: Array  # EVERY: its events
    change_event: Array
    fired_from: Array  # [R + 1] the counters that count firings of the rule
    fired_counter: Array

    compare_form: Array
    compare_relation: Array
    compare_open: Array  # depends on the holes
    happen_event: Array
    test_from: Array
    test_attribute: Array
    test_relation: Array
    test_value: Array
    test_event: Array  # CONSTANT, or the event whose attribute `test_value` is compared with

    form_from: Array  # groups of a form
    group_hole: Array  # NONE: the constant part
    group_dynamic_from: Array
    group_dynamic: Array  # dynamic counters that multiply the group
    mono_from: Array  # monomials of a group
    mono_coefficient: Array
    factor_from: Array  # static counters (>= 0) and signals (-1 - index) that multiply a monomial
    factor: Array

    counter_dynamic: Array  # [C] index among the dynamic counters, or NONE
    counter_happen: Array  # [C] what it counts, or NONE for a rule's firings
    counter_at: Array  # [C, nodes]
    reset_from: Array
    reset_happen: Array


class _Lists:
    """Lists of lists under construction."""

    def __init__(self) -> None:
        self.starts = [0]
        self.items: list[Any] = []

    def add(self, items: Iterable[Any]) -> int:
        self.items.extend(items)
        self.starts.append(len(self.items))
        return len(self.starts) - 2

    @property
    def offsets(self) -> Array:
        return np.array(self.starts, np.int32)

    def array(self) -> Array:
        return _ints(self.items)

    def column(self, index: int) -> Array:
        """One field of items that are tuples."""
        return _ints(item[index] for item in self.items)


class _Compiler:
    def __init__(self, machine: Machine, vocabulary: Vocabulary, values: Mapping[str, float] | None = None) -> None:
        self.machine, self.vocabulary, self.values = machine, vocabulary, values
        self.nodes = {node.name: index for index, node in enumerate(machine.nodes)}
        self.holes = {name: index for index, name in enumerate(machine.hole_names)}
        self.counters = {counter.name: index for index, counter in enumerate(machine.counters)}
        nothing: tuple[set[str], set[str], bool] = (set(), set(), False)
        self.open_rules, self.dynamic_counters, self.dynamic_node = (
            nothing if values is not None else find_dynamic(machine)
        )
        self.dynamic = {
            name: index for index, name in enumerate(c for c in self.counters if c in self.dynamic_counters)
        }
        self.forms, self.groups, self.monos, self.factors = _Lists(), _Lists(), _Lists(), _Lists()
        self.group_holes: list[int] = []
        self.coefficients: list[float] = []
        self.happen_events: list[int] = []
        self.tests = _Lists()
        self.compares: list[tuple[int, int, bool]] = []

    # Parts

    def form(self, form: Form) -> int:
        grouped: dict[tuple[int, tuple[int, ...]], list[tuple[float, list[int]]]] = {}
        for monomial, exactly in form.items():
            hole, coefficient = NONE, float(exactly)
            if monomial.hole is not None and self.values is not None:
                coefficient *= self.values[monomial.hole]
            elif monomial.hole is not None:
                hole = self.holes[monomial.hole]
            moving = tuple(self.dynamic[c] for c in monomial.counters if c in self.dynamic)
            still = [self.counters[c] for c in monomial.counters if c not in self.dynamic]
            still += [-1 - self.vocabulary.signal_index[s] for s in monomial.signals]
            grouped.setdefault((hole, moving), []).append((coefficient, still))
        groups = []
        for (hole, moving), monomials in grouped.items():
            groups.append(self.groups.add(moving))
            self.group_holes.append(hole)
            self.monos.add(self.factors.add(still) for _, still in monomials)
            self.coefficients += [coefficient for coefficient, _ in monomials]
        return self.forms.add(groups)

    def happen(self, happens: Happens) -> int:
        rows = []
        for test in happens.tests:
            event, value = CONSTANT, NOTHING
            match test.value:
                case AttributeOf(other, attribute):
                    event, value = self.vocabulary.event_index[other], self.vocabulary.attribute_index[attribute]
                case Cell(x, y):
                    value = pack_cell(x, y)
                case str(word) if word != "none":
                    values = self.vocabulary.attributes[self.vocabulary.attribute_index[test.attribute]].values
                    assert values is not None
                    value = values.index(word)
            rows.append((self.vocabulary.attribute_index[test.attribute], TEST[test.relation], value, event))
        self.tests.add(rows)
        self.happen_events.append(self.vocabulary.event_index[happens.event])
        return len(self.happen_events) - 1

    def guard(self, guard: Guard) -> list[tuple[int, int]]:
        match guard:
            case Happens():
                return [(EVENT, self.happen(guard))]
            case Compare(left, relation, right):
                form = add(self.machine.form(left), scale(self.machine.form(right), Fraction(-1)))
                is_open = self.values is None and any(
                    m.hole is not None or self.dynamic_counters & set(m.counters) for m in form
                )
                self.compares.append((self.form(form), RELATION[relation], is_open))
                return [(COMPARE, len(self.compares) - 1)]
            case Not(inner):
                return [*self.guard(inner), (NOT, 0)]
            case And(inside) | Or(inside):
                joined = [op for inner in inside for op in self.guard(inner)]
                return [*joined, (AND if isinstance(guard, And) else OR, len(inside))]
            case _:
                return [(TRUE, 0)]

    # Tables

    def tables(self) -> Tables:
        # rules and counters enter what they ask for into the lists that all share, so those come last
        rules, counters = self.rule_tables(), self.counter_tables()
        return Tables(**self.sizes(), **rules, **counters, **self.shared_tables())

    def sizes(self) -> dict[str, Any]:
        rules = [rule for _, rule, _ in self.machine.rules]
        return {
            "start": self.nodes[self.machine.start],
            "every_step": not all(needs_event(rule.guard) for rule in rules),
            "dynamic_node": self.dynamic_node,
            "dynamic": len(self.dynamic),
            "holes": len(self.holes),
            "nodes": len(self.nodes),
            "rules": len(rules),
            "counters": len(self.counters),
            "events": len(self.vocabulary.events),
            "relevant": self.event_mask(self.machine.events),
            "repayable": self.event_mask(self.machine.repaid_events),
        }

    def rule_tables(self) -> dict[str, Any]:
        ops, fired, changes, change_events = _Lists(), _Lists(), _Lists(), _Lists()
        pays = []
        for _, rule, _ in self.machine.rules:
            ops.add(self.guard(rule.guard))
            pays.append(self.form(self.machine.form(rule.pay)))
            changes.add([self.change(change) for change in rule.changes])
            for change in rule.changes:
                change_events.add(self.events(change.events) if isinstance(change, RepayEvery) else ())
            fired.add(i for i, c in enumerate(self.machine.counters) if c.counts == RuleOf(rule.name or ""))
        rules = self.machine.rules
        return {
            "longest_guard": int(np.diff(ops.offsets).max(initial=0)),
            "rule_from": np.cumsum([0, *(len(node.rules) for node in self.machine.nodes)]).astype(np.int32),
            "rule_source": _ints(self.nodes[node.name] for node, _, _ in rules),
            "rule_target": _ints(self.nodes[rule.target or node.name] for node, rule, _ in rules),
            "rule_tier": _ints(rule.tier for _, rule, _ in rules),
            "rule_open": np.array([label in self.open_rules for _, _, label in rules], np.bool_),
            "rule_pay": _ints(pays),
            "rule_since": _ints(self.since(rule) for _, rule, _ in rules),
            "rule_needs": _ints(self.needed(rule.guard) for _, rule, _ in rules),
            "op_from": ops.offsets,
            "op_code": ops.column(0),
            "op_arg": ops.column(1),
            "change_from": changes.offsets,
            "change_kind": changes.column(0),
            "change_form": changes.column(1),
            "change_happen": changes.column(2),
            "change_event_from": change_events.offsets,
            "change_event": change_events.array(),
            "fired_from": fired.offsets,
            "fired_counter": fired.array(),
        }

    def counter_tables(self) -> dict[str, Any]:
        counters = self.machine.counters
        happens = [NONE if isinstance(c.counts, RuleOf) else self.happen(c.counts) for c in counters]
        resets = _Lists()
        for counter in counters:
            resets.add([self.happen(reset) for reset in counter.resets])
        return {
            "counter_dynamic": _ints(self.dynamic.get(counter.name, NONE) for counter in counters),
            "counter_happen": _ints(happens),
            "counter_at": self.node_masks(counters),
            "reset_from": resets.offsets,
            "reset_happen": resets.array(),
        }

    def shared_tables(self) -> dict[str, Any]:
        return {
            "compare_form": _ints(form for form, _, _ in self.compares),
            "compare_relation": _ints(relation for _, relation, _ in self.compares),
            "compare_open": np.array([is_open for _, _, is_open in self.compares], np.bool_),
            "happen_event": _ints(self.happen_events),
            "test_from": self.tests.offsets,
            "test_attribute": self.tests.column(0),
            "test_relation": self.tests.column(1),
            "test_value": self.tests.column(2),
            "test_event": self.tests.column(3),
            "form_from": self.forms.offsets,
            "group_hole": _ints(self.group_holes),
            "group_dynamic_from": self.groups.offsets,
            "group_dynamic": self.groups.array(),
            "mono_from": self.monos.offsets,
            "mono_coefficient": np.array(self.coefficients, np.float64),
            "factor_from": self.factors.offsets,
            "factor": self.factors.array(),
        }

    def since(self, rule: Rule) -> int:
        return self.vocabulary.event_index[rule.hindsight.since] if rule.hindsight and rule.hindsight.since else NONE

    def change(self, change: RepayEvery | RepayLast) -> tuple[int, int, int]:
        form = self.form(self.machine.form(change.pay))
        if isinstance(change, RepayEvery):
            return EVERY, form, NONE
        return LAST, form, self.happen(change.milestone)

    def needed(self, guard: Guard) -> int:
        parts_of_all = guard.guards if isinstance(guard, And) else (guard,)
        events = [part.event for part in parts_of_all if isinstance(part, Happens)]
        return self.vocabulary.event_index[events[0]] if events else NONE

    def events(self, names: Iterable[str]) -> list[int]:
        return [self.vocabulary.event_index[name] for name in names]

    def event_mask(self, names: Iterable[str]) -> Array:
        mask = np.zeros(len(self.vocabulary.events), np.bool_)
        mask[self.events(names)] = True
        return mask

    def node_masks(self, counters: Sequence[Counter]) -> Array:
        mask = np.ones((len(counters), len(self.nodes)), np.bool_)
        for row, counter in zip(mask, counters, strict=True):
            if counter.at:
                row[:] = [name in counter.at for name in self.nodes]
        return mask


def _ints(items: Iterable[int]) -> Array:
    return np.array(list(items), np.int32)


def tables_of(machine: Machine, vocabulary: Vocabulary, values: Mapping[str, float] | None = None) -> Tables:
    """The machine as tables. It must use only words the vocabulary has. With `values` in its holes nothing of it is open or dynamic."""
    return _Compiler(machine, vocabulary, values).tables()
