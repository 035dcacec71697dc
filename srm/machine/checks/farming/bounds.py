"""How much can be farmed where guards bound it: an expression for an open machine, a number for a concretized one.

A guard `start - by * rounds > 0` (counters at 0, each round takes `by`) lets a loop go round at most `start / by + 1` times.
For a concretized machine the largest total over all ways of mixing its loops is a linear problem in whole numbers: how often
each move is made, such that each guard still holds before the last move that needs it. The order of the moves is left out of
it, so its optimum is a bound; it is reached if an order can be found, which is tried.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

import z3

from srm.machine.affine import ONE, Form, add
from srm.machine.checks.core.conditions import Reading, Sign, counters_of, every, needed_signs, negate, negated, sign
from srm.machine.checks.core.letters import within
from srm.machine.checks.core.report import Finding, Witness, WitnessStep, form_text, fraction_text, place_of
from srm.machine.checks.core.rules import rule_text
from srm.machine.checks.core.solve import EFFORT, Prover, fraction_of
from srm.machine.checks.core.subject import Subject
from srm.machine.checks.farming.gain import Loop, Recurring, Wear, may_be_repaid, wears
from srm.machine.checks.farming.moves import LONGEST_LOOP, Move, make, make_round, rows_of

MOST_ROUNDS = 1000  # that are counted out
LONGEST_PLAN = 200  # moves whose order is looked for
MOST_TRIED = 1000  # ways of beginning it


def describe_bound(subject: Subject, prover: Prover, moves: Sequence[Move], loop: Loop, recurring: Recurring) -> str:
    """Which guard ends the loop, and after how many rounds."""
    # Of a concretized machine: counted out
    between = _between(moves, loop)
    if not subject.open_holes and not any(signals for _, signals in (move.reads for move in loop.moves)):
        rounds, total = rounds_of(subject, loop.moves)
        if not rounds:
            return f"its moves cannot follow one another from counters at 0{between}"
        reached = "at least " if rounds == MOST_ROUNDS else ""
        often = "once" if rounds == 1 else f"{reached}{rounds} times"
        return f"from counters at 0 it can be made {often}, which pays {fraction_text(total)}{between}"

    # Of an open one: an expression for each guard that the loop wears out
    worn = [wear for wear in wears(loop, recurring) if prover.can(wear.when)]
    bounding = [wear for wear in worn if wear.by]
    if not bounding:
        ends = f"the guard of {_rule(worn[0])} ends it" if worn else "what it pays falls"
        return f"{ends} as its counters grow"
    texts = []
    steady = not may_be_repaid(subject, loop, recurring)
    for wear in _distinct(bounding):
        text = f"the guard of {_rule(wear)} allows at most {_most_rounds(wear)}"
        if prover.can(every((sign(loop.pay, ">"), negate(wear.when)))) is not False:
            text += f" where {form_text(wear.by)} > 0"
        small = steady and prover.can(sign(add(loop.pay, negated(wear.by)), ">")) is False
        texts.append(text + (f", together at most {form_text(add(wear.start, loop.pay))}" if small else ""))
    return "; ".join(texts) + between


def _distinct(bounding: Sequence[Wear]) -> list[Wear]:
    return list({(form_text(wear.start), form_text(wear.by)): wear for wear in reversed(bounding)}.values())[::-1]


def _rule(wear: Wear) -> str:
    return rule_text(wear.move.rule) if wear.move.rule else f"{wear.move.letter} at {wear.move.node}"


def _most_rounds(wear: Wear) -> str:
    if {*wear.start, *wear.by} - {ONE}:
        return f"{_part(wear.start)} / {_part(wear.by)} + 1 rounds"
    start, by = (form.get(ONE, Fraction(0)) for form in (wear.start, wear.by))
    rounds = ceil(start / by) if wear.sign.relation == ">" else floor(start / by) + 1
    return f"{rounds} round{'s' * (rounds != 1)}"


def _part(form: Form) -> str:
    return f"({form_text(form)})" if len(form) > 1 else form_text(form)


def _between(moves: Sequence[Move], loop: Loop) -> str:
    """What fills the bound up again: steps that reset the loop's counters, and that do not recur for ever themselves."""
    events = dict.fromkeys(str(move.letter) for move in moves if move.resets & loop.counted)
    return f" (between two {' or '.join(events)})" if events else ""


# Concretized machines


def rounds_of(subject: Subject, moves: Sequence[Move]) -> tuple[int, Fraction]:
    """How often the moves of a concretized machine can be repeated from counters at 0, and what that pays."""
    reading = _at_first(subject)
    total = Fraction(0)
    for done in range(MOST_ROUNDS):
        made = make_round(moves, reading)
        if made is None:
            return done, total
        gained, reading = made
        total += gained
    return MOST_ROUNDS, total


def _at_first(subject: Subject) -> Reading:
    return Reading(counters={counter.name: 0 for counter in subject.machine.counters})


def largest_total(
    subject: Subject, moves: Sequence[Move], loops: Sequence[Loop], recurring: Recurring
) -> Iterator[Finding]:
    """The most that going round can pay in all, whichever loops are mixed."""
    used = list(dict.fromkeys(move for loop in loops for move in loop.moves))
    place = place_of(list(dict.fromkeys(move.node for move in used)))
    if any(monomial != ONE for move in used for monomial, _ in move.pay):
        return  # pay that reads counters or signals is not linear in how often moves are made
    optimum = _optimum(used, recurring)
    if optimum is None:
        yield Finding("note", "farming", place, "not decided: the largest total that loops can farm")
        return
    total, times = optimum
    plan = _plan(subject, times)
    counts = Tally({f"{move.letter}{'' if move.rule else ' (idle)'}": times[move] for move in times})
    listed = ", ".join(f"{count} {letter}" for letter, count in counts.items())
    how = f"is {'' if plan else 'at most '}{fraction_text(total)}"
    if any(may_be_repaid(subject, loop, recurring) for loop in loops):
        how += " before hindsight"
    between = "".join(dict.fromkeys(_between(moves, loop) for loop in loops))
    steps = tuple(WitnessStep(m.node, m.letter.events, m.label, form_text(dict(m.pay))) for m in plan or ())
    yield Finding(
        "note",
        "farming",
        place,
        f"the largest total that loops can farm {how}{between}, by {listed}",
        Witness(steps=steps) if 0 < len(steps) <= LONGEST_LOOP else None,
    )
    yield from _spoilt(subject, plan or ())


def _spoilt(subject: Subject, plan: Sequence[Move]) -> Iterator[Finding]:
    """Ways on that pay something, but cost something once the plan was carried out: advances that exceed what they are advances on."""
    made = make_round(plan, _at_first(subject))
    assert made is not None, "a plan can be carried out"
    nodes = dict.fromkeys(move.node for move in plan)
    for node in nodes:
        for rule, _ in subject.rules_of(node):
            form = subject.form(rule.pay)
            if any(monomial.signals for monomial in form):
                continue  # depends on what is met on the way
            before, after = (reading.value(form) for reading in (_at_first(subject), made[1]))
            if rule.target not in (None, *nodes) and after < 0 < before:
                pays = f"{rule_text(rule)} pays {fraction_text(after)} after that, {fraction_text(before)} without"
                yield Finding("warning", "farming", place_of([node]), f"{pays}: whoever goes round had better stay")


def _optimum(moves: Sequence[Move], recurring: Recurring) -> tuple[Fraction, dict[Move, int]] | None:
    """The largest pay of moves that make up loops, and how often each is then made."""
    made: dict[Move, Any] = {move: z3.Int(f"move {index}") for index, move in enumerate(moves)}
    # Moves make up loops, and guards that only fall hold before the last move that needs them
    limits = [count >= 0 for count in made.values()]
    for row in rows_of(moves):
        limits.append(z3.Sum([factor * made[move] for factor, move in zip(row, moves, strict=True) if factor]) == 0)
    for needed in dict.fromkeys(n for move in moves for n in needed_signs(move.condition)):
        if _only_falls(needed) and not recurring.resets & set(counters_of(needed)):
            limits.append(_holds_to_the_last(needed, moves, made))

    # The largest pay
    worth = z3.Sum([z3.RealVal(dict(move.pay).get(ONE, Fraction(0))) * made[move] for move in moves])
    best = _optimize(limits, worth)
    if best is None:
        return None
    total = fraction_of(best, worth)

    # Among the best the one with the fewest idle moves, which is the likeliest to have an order
    effort = z3.Sum([made[move] * (100 if move.rule is None else 1) for move in moves])
    model = _optimize([*limits, worth == z3.RealVal(total)], -effort) or best
    times = {move: model.eval(made[move], model_completion=True).as_long() for move in moves}
    return total, {move: count for move, count in times.items() if count}


def _optimize(limits: Sequence[Any], goal: Any) -> Any:
    solver = z3.Optimize()
    solver.set("rlimit", EFFORT)
    solver.add(*limits)
    objective = solver.maximize(goal)
    if solver.check() != z3.sat or not (z3.is_rational_value(objective.value()) or z3.is_int_value(objective.value())):
        return None  # too hard, or without bound
    return solver.model()


def _only_falls(needed: Sign) -> bool:
    return all(coefficient <= 0 and not monomial.signals for monomial, coefficient in needed.items if monomial != ONE)


def _holds_to_the_last(needed: Sign, moves: Sequence[Move], made: Mapping[Move, Any]) -> Any:
    """Before the last of the moves that need the comparison it still holds, after all of them but that one counted.

    Products of counters only take more, and are left out.
    """
    users = [move for move in moves if needed in needed_signs(move.condition)]
    single = {monomial.counters[0]: -c for monomial, c in needed.items if len(monomial.counters) == 1}
    takes = {move: sum((single.get(name, Fraction(0)) for name in move.counts), Fraction(0)) for move in users}
    after = z3.RealVal(needed.form.get(ONE, Fraction(0))) - z3.Sum([z3.RealVal(takes[m]) * made[m] for m in users])
    before = {m: after + z3.RealVal(takes[m]) for m in users}
    last = [z3.And(made[m] >= 1, before[m] > 0 if needed.relation == ">" else before[m] >= 0) for m in users]
    return z3.Or(z3.And([made[m] == 0 for m in users]), *last)


def _plan(subject: Subject, times: Mapping[Move, int]) -> tuple[Move, ...] | None:
    """An order in which the moves can all be made from counters at 0; None if none was found."""
    if not 0 < sum(times.values()) <= LONGEST_PLAN:
        return None
    balances = subject.balances
    moves = sorted(times, key=lambda move: -dict(move.pay).get(ONE, Fraction(0)))
    todo: list[tuple[str, tuple[int, ...], Reading, tuple[int, ...], tuple[Move, ...]]] = []
    every_move, least = tuple(times[move] for move in moves), tuple(balance.least for balance in balances)
    todo.append((moves[0].node, every_move, _at_first(subject), least, ()))
    tried: set[object] = set()
    while todo and len(tried) < MOST_TRIED:
        here, remaining, reading, levels, done = todo.pop()
        if not any(remaining):
            return done
        for index in reversed(range(len(moves))):
            move = moves[index]
            after = tuple(level + change for level, change in zip(levels, move.levels, strict=True))
            if not remaining[index] or move.node != here or not within(after, balances):
                continue
            made = make(move, reading)
            rest = (*remaining[:index], remaining[index] - 1, *remaining[index + 1 :])
            if made is not None and (move.target, rest) not in tried:
                tried.add((move.target, rest))
                todo.append((move.target, rest, made[1], after, (*done, move)))
    return None
