"""Going round for ever: whether a sequence of moves can be repeated without end, for a total that grows without end.

After many rounds a counter that the loop resets reads the same in every round, and any other has grown by the same number
each round. So guards and pays are polynomials in the number of rounds, and a polynomial keeps its sign from some round on:
the sign of its highest coefficient that is not 0. "From some round on" is all that is needed, since the counters that the loop
begins with may be any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from srm.machine.affine import ONE, Form, Monomial, add
from srm.machine.checks.core.conditions import (
    Condition,
    Reading,
    counter_form,
    each_sign,
    every,
    number_form,
    rename,
    rename_form,
    sign,
    some,
    substitute,
)
from srm.machine.checks.core.solve import Answer, Prover
from srm.machine.checks.farming.moves import Move, make_round

ROUNDS = "rounds so far"  # the unknown of the polynomials, in the place of a counter
MOST_ROUNDS = 1000  # before a loop is under way


def for_ever(prover: Prover, moves: Sequence[Move], facts: Sequence[Condition]) -> Answer:
    """Whether the moves can be repeated in this order without end for gain, with an example of a round."""
    own = [_with_own_signals(move, number) for number, move in enumerate(moves, start=1)]
    readings = _late_readings(own)
    conditions = [_eventually(move.condition, reading) for move, reading in zip(own, readings, strict=True)]
    pays = [substitute(dict(move.pay), reading) for move, reading in zip(own, readings, strict=True)]
    example = prover.example(every((*conditions, _eventually_sign(add(*pays), ">"))), facts)
    return _begun(example, own, readings[0]) if example.possible else example


def _with_own_signals(move: Move, number: int) -> Move:
    """Signals differ from step to step."""
    names = {name: f"{name} at step {number}" for name in move.reads[1]}
    pay = tuple(rename_form(dict(move.pay), {}, names).items())
    return replace(move, condition=rename(move.condition, {}, names), pay=pay)


def _late_readings(moves: Sequence[Move]) -> list[dict[str, Form]]:
    """Before each move of a late round, what every counter reads: a number if the loop resets it, else it has grown."""
    names = {name for move in moves for name in move.reads[0]}
    readings: list[dict[str, Form]] = []
    for position in range(len(moves)):
        reading = {}
        for name in sorted(names):
            before = [*moves[position:], *moves[:position]]  # one round back, oldest first
            last = max((index for index, move in enumerate(before) if name in move.resets), default=None)
            if last is not None:
                reading[name] = number_form(sum(name in move.counts for move in before[last:]))
            else:
                already = number_form(sum(name in move.counts for move in moves[:position]))
                growth = number_form(sum(name in move.counts for move in moves))
                grown = {Monomial(None, (ROUNDS,)): growth[ONE]} if growth else {}
                reading[name] = add(counter_form(name), already, grown)
        readings.append(reading)
    return readings


def _eventually(condition: Condition, reading: Mapping[str, Form]) -> Condition:
    return each_sign(
        condition, lambda comparison: _eventually_sign(substitute(comparison.form, reading), comparison.relation)
    )


def _eventually_sign(form: Form, relation: str) -> Condition:
    powers: dict[int, Form] = {}
    for monomial, coefficient in form.items():
        kept = tuple(name for name in monomial.counters if name != ROUNDS)
        power = len(monomial.counters) - len(kept)
        rest = {Monomial(monomial.hole, kept, monomial.signals): coefficient}
        powers[power] = add(powers.get(power, {}), rest)
    if relation == "=":
        return every(sign(part, "=") for part in powers.values())
    if relation == "!=":
        return some(sign(part, "!=") for part in powers.values())
    decided = sign(powers.pop(0, {}), relation)
    for _, part in sorted(powers.items()):
        decided = some((sign(part, ">"), every((sign(part, "="), decided))))
    return decided


def _begun(example: Answer, moves: Sequence[Move], late: Mapping[str, Form]) -> Answer:
    """The example with counters from which the loop already goes round and gains: those before such a round."""
    for rounds in range(MOST_ROUNDS):
        now = Reading(counters={**example.counters, ROUNDS: rounds})
        begin = {name: int(now.value(form)) for name, form in late.items()}
        made = make_round(moves, Reading(example.holes, begin, example.signals))
        if made is not None and made[0] > 0:
            return replace(example, counters=begin)
    return example
