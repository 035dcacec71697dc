"""Traces to read in a terminal: aligned, coloured there and plain when piped.

One line for each step that says something, with its reasons below it; idle steps are folded unless they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from srm.evaluate.explain import Amount, number
from srm.evaluate.trace import Reason, Trace, TracedStep, TraceTotals
from srm.machine.drawing.terminal import STYLES
from srm.machine.model import Machine, Node
from srm.machine.terms import compared_terms

HEADER = ("step", "node", "events", "rule", "pay", "")
_LEFT = ("node", "events", "hole", "rule", "demo", "rules that fired, and how often", "")  # columns of words
_STYLES = {"node": STYLES["node"], "events": STYLES["event"], "rule": "bold", "pay": "bold"}
Line = Sequence[str]


def show_trace(console: Console, machine: Machine, trace: Trace, *, all_steps: bool = False) -> None:
    """The steps of one trajectory."""
    counters = {node.name: _counters_at(machine, node) for node in machine.nodes}
    steps = [step for step in trace.steps if all_steps or not step.is_idle]
    rows = [_row(step) for step in steps]
    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    indent = widths[0] + widths[1] + 4
    _print(console, _aligned(HEADER, HEADER, widths, dict.fromkeys(HEADER, "dim")))
    previous = -1
    for step, row in zip(steps, rows, strict=True):
        _fold(console, step.step - previous - 1, widths[0])
        previous = step.step
        _print(console, _aligned(row, HEADER, widths, _STYLES))
        for kind, detail in _details(step, trace, counters[step.node]):
            _print(console, Text(" " * indent).append(kind, "dim").append(detail))
    _fold(console, len(trace.steps) - previous - 1, widths[0])


def _row(step: TracedStep) -> Line:
    events = ", ".join(map(str, step.happened))
    if step.fired is None and step.kept is None:
        return (str(step.step), step.node, events, "-", "", "")
    arrow = f"  -> {step.target}" if step.target != step.node else ""
    rule = step.fired.rule if step.fired else "-"
    notes = [_expression(step.pay)] if step.pay else []
    at_once = number(step.pay.value if step.pay else 0.0)
    if step.repaid_at is not None and number(step.value) != at_once:
        notes.append(f"{number(step.value)} in hindsight of step {step.repaid_at}")
    return (str(step.step), step.node, events, rule, at_once, ", ".join(notes) + arrow)


def _expression(pay: Amount) -> str:
    worked_out, equals, _ = pay.in_numbers.rpartition(" = ")
    return f"{pay.written} = {worked_out}" if equals else pay.written


def _details(step: TracedStep, trace: Trace, counters: set[str]) -> Iterator[tuple[str, str]]:
    if step.fired and step.fired.in_numbers != step.fired.guard:
        yield "because ", step.fired.in_numbers
    for reason in step.refused:
        yield f"not {reason.rule}: ", _refusal(reason, step.fired)
    counted = [f"#{name} = {count}" for name, count in step.counters.items() if count and name in counters]
    if counted and step.reasons:
        yield "counters ", ", ".join(counted)
    for repayment in step.repaid:
        if number(repayment.before) != number(repayment.now.value):
            events = ", ".join(map(str, trace.steps[repayment.step].happened))
            change = f"{number(repayment.before)} -> {number(repayment.now.value)}"
            yield f"pays step {repayment.step} anew: ", f"{change}  {repayment.now.written}  ({events})"


def _counters_at(machine: Machine, node: Node) -> set[str]:
    """The counters that the node's rules speak of."""
    terms = [rule.pay for rule in node.rules]
    terms += [change.pay for rule in node.rules for change in rule.changes]
    terms += [side for rule in node.rules for side in compared_terms(rule.guard)]
    return {name for term in terms for monomial in machine.form(term) for name in monomial.counters}


def _refusal(reason: Reason, fired: Reason | None) -> str:
    return f"it holds, but yields to {fired.rule}" if reason.holds and fired else reason.in_numbers


def _fold(console: Console, count: int, width: int) -> None:
    if count > 0:
        _print(console, Text(f"{'':>{width}}  {count} idle step{'s' if count > 1 else ''}", "dim"))


# Totals


def show_totals(console: Console, totals: TraceTotals) -> None:
    """The return by hole and by rule."""
    rows: list[Line] = [("hole", "value", "paid", "decided", "demos", "return")]
    for hole in totals.holes:
        name = "(no hole)" if hole.hole is None else f"?{hole.hole}"
        value = "" if hole.value is None else number(hole.value)
        rows.append((name, value, str(hole.paid), str(hole.decided), str(hole.trajectories), number(hole.amount)))
    _table(console, rows, styles={"hole": STYLES["hole"], "return": "bold"})
    if totals.unused:
        named = ", ".join(f"?{name}" for name in totals.unused)
        pronoun = "it" if len(totals.unused) == 1 else "them"
        _print(console, Text(f"nothing here depends on {named}: only the constraint speaks of {pronoun}", "yellow"))
    console.print()
    rows = [("rule", "fired", "refused", "demos", "at once", "hindsight", "return", "")]
    for rule in totals.rules:
        counts = (str(rule.fired), str(rule.refused), str(rule.trajectories))
        amounts = (number(rule.at_once), number(rule.hindsight), number(rule.amount))
        rows.append((rule.rule, *counts, *amounts, rule.text))
    _table(console, rows, styles={"rule": "bold", "return": "bold", "": "dim"})


def show_exercised(console: Console, traces: Mapping[int, Trace], machine: Machine) -> None:
    """What each trajectory exercised: how often each rule fired in it."""
    labels = [label for _, _, label in machine.rules]
    rows: list[Line] = [("demo", "steps", "task reward", "machine", "rules that fired, and how often")]
    for index, trace in traces.items():
        fired = [step.fired.rule for step in trace.steps if step.fired]
        often = ", ".join(f"{label} {fired.count(label)}" for label in labels if label in fired)
        rows.append((str(index), str(len(trace.steps)), number(trace.task_reward), number(trace.pay), often))
    _table(console, rows, styles={"machine": "bold"})


def _table(console: Console, rows: Sequence[Line], styles: Mapping[str, str]) -> None:
    header, *body = rows
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    _print(console, _aligned(header, header, widths, dict.fromkeys(header, "dim")))
    for row in body:
        _print(console, _aligned(row, header, widths, styles))


def _aligned(row: Line, header: Line, widths: Sequence[int], styles: Mapping[str, str]) -> Text:
    line = Text()
    for cell, name, width in zip(row, header, widths, strict=True):
        line.append(f"{cell:<{width}}" if name in _LEFT else f"{cell:>{width}}", styles.get(name, "")).append("  ")
    line.rstrip()
    return line


def _print(console: Console, line: Text) -> None:
    console.print(line, soft_wrap=True, highlight=False)
