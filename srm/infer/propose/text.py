"""A sketch as the text of a machine, with a comment above each rule that says from what it was read.

The text is what is proposed: a person reads, changes and keeps it, and parsing it gives the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from srm.infer.propose.sketch import AtomPlan, CounterPlan, HolePlan, NodePlan, RulePlan, Sketch
from srm.infer.propose.stages import DONE
from srm.machine.language.print import INDENT, columns
from srm.machine.terms import number_text

MARGIN = " " * INDENT


@dataclass(frozen=True)
class Wording:
    """How a guard says that an event happens. A comparison has a threshold, and only the firings of its rules can be counted."""

    guard: str
    act: bool
    threshold: HolePlan | None = None


def sketch_text(sketch: Sketch, name: str, words: str, wording: Mapping[str, Wording], heading: Sequence[str]) -> str:
    counters = _counter_names(sketch)
    sections = [
        [f"# {line}" for line in heading],
        [f"machine {name}", f"words {words}"],
        ["holes", *_holes(sketch, wording)],
        *([["counters", *_counters(counters, wording)]] if counters else []),
        *(_node(node, number == 0, counters, wording) for number, node in enumerate(sketch.nodes)),
        [f"accept {DONE}"],
        *([["constraint proposed", *_atoms(sketch.atoms)]] if sketch.atoms else []),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def holes_of(sketch: Sketch, wording: Mapping[str, Wording]) -> tuple[HolePlan, ...]:
    """Rewards in the order of the milestones, then costs, then numbers that guards compare with."""
    paid = list(dict.fromkeys(rule.hole for rule in sketch.rules))
    last = [hole for hole in paid if hole.name == sketch.end]
    rewards = [hole for hole in paid if hole.high > 0 and hole not in last]
    costs = [hole for hole in paid if hole.high <= 0]
    thresholds = [wording[rule.event].threshold for rule in sketch.rules]
    times: dict[str, HolePlan] = {}
    for hole in (rule.limit for rule in sketch.rules if isinstance(rule.limit, HolePlan)):
        old = times.get(hole.name, hole)
        times[hole.name] = HolePlan(hole.name, min(old.low, hole.low), max(old.high, hole.high), whole=True)
    return (*last, *rewards, *costs, *dict.fromkeys(t for t in thresholds if t is not None), *times.values())


def _holes(sketch: Sketch, wording: Mapping[str, Wording]) -> Iterator[str]:
    rows = (
        (f"?{hole.name}", f"in {number_text(hole.low)}", f".. {number_text(hole.high)}", "whole" if hole.whole else "")
        for hole in holes_of(sketch, wording)
    )
    return (MARGIN + line for line in columns(rows, " "))


# Counters


def _counter_names(sketch: Sketch) -> dict[CounterPlan, str]:
    """Each after its event, with a number where another counts the same."""
    names: dict[CounterPlan, str] = {}
    for rule in sketch.rules:
        if rule.counter is not None and rule.counter not in names:
            same = sum(other.event == rule.counter.event for other in names)
            names[rule.counter] = rule.event if same == 0 else f"{rule.event}_{same + 1}"
    return names


def _counters(counters: Mapping[CounterPlan, str], wording: Mapping[str, Wording]) -> Iterator[str]:
    rows = []
    for counter, name in counters.items():
        word = wording[counter.event]
        counts = f"rule {name}" if word.threshold else word.guard
        at = f"at {counter.at}" if counter.at and not word.threshold else ""
        rows.append((f"#{name}", f"counts {counts}", at, f"resets on {counter.resets}" if counter.resets else ""))
    return (MARGIN + line for line in columns(rows))


# Nodes


def _node(
    node: NodePlan, is_start: bool, counters: Mapping[CounterPlan, str], wording: Mapping[str, Wording]
) -> list[str]:
    guards = [_guard(rule, counters, wording) for rule in node.rules]
    wide = max(map(len, guards), default=0)
    pay = max((len(rule.hole.name) + 1 for rule in node.rules if rule.target), default=0)
    lines = [f"{'start' if is_start else 'node'} {node.name}"]
    tier: list[RulePlan] = []
    for rule, guard in zip(node.rules, guards, strict=True):
        if any(_coincide(rule, other, wording) for other in tier):
            lines.append(f"{MARGIN}otherwise")
            tier = []
        tier.append(rule)
        target = f"  -> {rule.target}" if rule.target else ""
        paid = f"?{rule.hole.name}".ljust(pay) if rule.target else f"?{rule.hole.name}"
        label = f"{counters[rule.counter]}: " if rule.counter and wording[rule.event].threshold else ""
        lines += [f"{MARGIN}# {rule.reason}", f"{MARGIN}{label}{guard.ljust(wide)}  // {paid}{target}"]
        lines += _hindsight(rule, wording)
    return lines


def _hindsight(rule: RulePlan, wording: Mapping[str, Wording]) -> Iterator[str]:
    if rule.repays:
        yield f"{2 * MARGIN}hindsight{f' since {rule.event}' if rule.again else ''}"
    for repay in rule.repays:
        own = wording[repay.event].guard.partition(" where ")[2]  # what the event's own guard asks for
        tests = [*([own] if own else []), *(f"{name} = {rule.event}.{name}" for name in repay.attributes)]
        yield f"{3 * MARGIN}every {', '.join((repay.event, *repay.undoing))}  // 0"
        yield f"{3 * MARGIN}last {repay.event} where {', '.join(tests)}  // ?{repay.event}"


def _guard(rule: RulePlan, counters: Mapping[CounterPlan, str], wording: Mapping[str, Wording]) -> str:
    guard = wording[rule.event].guard
    if rule.counter is None:
        return guard
    limit = f"?{rule.limit.name}" if isinstance(rule.limit, HolePlan) else str(rule.limit)
    return f"{guard} and #{counters[rule.counter]} < {limit}"


def _coincide(one: RulePlan, other: RulePlan, wording: Mapping[str, Wording]) -> bool:
    """At most one act happens at a step; anything else may happen together."""
    return not (wording[one.event].act and wording[other.event].act)


def _atoms(atoms: Sequence[AtomPlan]) -> Iterator[str]:
    return (MARGIN + line for line in columns((f'"{atom.label}"', atom.text) for atom in atoms))
