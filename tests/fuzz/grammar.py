"""Texts drawn from a grammar rather than damaged: machines and rivals' files that get past the first line of their readers.

Most names exist, most numbers are small and most sentences are well formed, each with exceptions.
"""

from __future__ import annotations

import random

EVENTS = "pick_up_key drop_key open_door close_door reach_goal unlock_door see_target hit_wall".split()
WITH_COLOUR = EVENTS[:4]
NODES, HOLES, COUNTERS, LETS = ("s", "t", "u"), ("a", "b", "c"), ("n", "m"), ("x", "y")
NUMBERS = ("0", "1", "2", "0.5", "0.25", "3.75", "10", "1e-9", "1e9", "1e308", "1e-320", "123456789.123456789")
RELATIONS = ("<=", ">=", "=", "<", ">", "!=")


def _maybe(rng: random.Random, share: float, text: str) -> str:
    return text if rng.random() < share else ""


def _name(rng: random.Random, known: tuple[str, ...] | list[str]) -> str:
    return rng.choice(known) if rng.random() < 0.997 else rng.choice(("nowhere", "every", "S", "always", "_"))


def _number(rng: random.Random) -> str:
    return rng.choice(NUMBERS if rng.random() < 0.05 else NUMBERS[:6])


def _term(rng: random.Random, of: str = "hole counter let", depth: int = 3) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.45:
        match rng.choice(("number", *of.split())):
            case "hole":
                return f"?{_name(rng, HOLES)}"
            case "counter":
                return f"#{_name(rng, COUNTERS)}"
            case "let":
                return _name(rng, LETS)
        return _number(rng)
    if kind < 0.55:
        return f"-{_term(rng, of, depth - 1)}"
    if kind < 0.65:
        return f"({_term(rng, of, depth - 1)})"
    if kind < 0.8:
        return f"{_number(rng)} * {_term(rng, of, depth - 1)}"
    return f" {rng.choice('+-')} ".join(_term(rng, of, depth - 1) for _ in range(rng.randint(2, 3)))


def _happens(rng: random.Random) -> str:
    colour = f"colour {rng.choice(('=', '!='))} {rng.choice(('red', 'blue', 'none'))}"
    place = f"place {rng.choice(('=', '!=', 'next to'))} ({rng.randint(0, 3)}, {rng.randint(0, 99)})"
    happens = rng.choice(WITH_COLOUR) + f" where {rng.choice((colour, place, f'{colour}, {place}'))}"
    return happens if rng.random() < 0.1 else _name(rng, EVENTS)


def _last(rng: random.Random) -> str:
    return (
        _happens(rng)
        if rng.random() < 0.8
        else f"{rng.choice(WITH_COLOUR)} where place = {rng.choice(WITH_COLOUR)}.place"
    )


def _guard(rng: random.Random, depth: int = 2) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.6:
        return _happens(rng)
    if kind < 0.7:
        return f"{_term(rng, depth=1)} {rng.choice(RELATIONS)} {_term(rng, 'counter let', 1)}"
    if kind < 0.8:
        return f"not {_guard(rng, depth - 1)}"
    if kind < 0.83:
        return "always"
    joined = f" {rng.choice(('and', 'or'))} ".join(_guard(rng, depth - 1) for _ in range(rng.randint(2, 3)))
    return f"({joined})"


def _rule(rng: random.Random, index: int) -> list[str]:
    label = _maybe(rng, 0.2, f"r{index}: ")
    line = f"    {label}{_guard(rng)} // {_term(rng)}" + _maybe(rng, 0.4, f" -> {_name(rng, NODES)}")
    if index % 10_000 and rng.random() < 0.1:
        line = "    otherwise" + _maybe(rng, 0.5, f" {_guard(rng)} // {_term(rng)}")
    again = [f"        hindsight{_maybe(rng, 0.3, f' since {_name(rng, EVENTS)}')}"] if rng.random() < 0.1 else []
    if again:
        again.append(f"            every {_name(rng, EVENTS)} // {_term(rng)}")
        again.append(f"            last {_last(rng)} // {_term(rng)}")
    return [line, *again]


def _hole(rng: random.Random, name: str) -> str:
    low, high = rng.randint(-3, 0), rng.randint(0, 5)
    space = _maybe(rng, 0.2, f" in {low} .. {high + 1}{_maybe(rng, 0.3, ' whole')}")
    return f"?{name}{space}" + _maybe(rng, 0.3, f" = {rng.choice('01')}{_maybe(rng, 0.5, ' +- 0.1')}")


def machine_text(rng: random.Random) -> str:
    """A machine over MiniGrid's words, mostly a valid one; now and then of thousands of lines."""
    many = rng.choice((300, 3000)) if rng.random() < 0.02 else 0
    lines = ["machine m", "words minigrid", "holes", *(f"    {_hole(rng, name)}" for name in HOLES), "counters"]
    lines += [
        f"    #{name} counts {_happens(rng)}{_maybe(rng, 0.2, f' resets on {_happens(rng)}')}" for name in COUNTERS
    ]
    lines += [f"let x = {_term(rng, 'counter')}", f"let y = {_term(rng, 'counter let').replace('y', 'x')}"]
    for index, name in enumerate(NODES):
        lines.append(f"{'start' if index == 0 else 'node'} {name}")
        for number in range(many or rng.randint(1, 4)):
            lines += _rule(rng, 10_000 * index + number)
    lines.append("accept end")
    for number in range(rng.randint(0, 2)):
        lines.append(f"constraint c{number}")
        for _ in range(rng.randint(1, 3)):
            left = rng.choice(
                ("every hole", f"every hole except ?{rng.choice(HOLES)}", _term(rng, "hole", 1), "?a, ?b")
            )
            lines.append(f"    {left} {rng.choice(RELATIONS[:3])} {_term(rng, 'hole', 1)}")
    return "\n".join(lines) + "\n"


def rival_text(rng: random.Random) -> str:
    """A file of the reward_machines package."""

    def case() -> str:
        return "&".join("!" * rng.choice((0, 0, 1, 2)) + rng.choice("abcdefg") for _ in range(rng.randint(1, 4)))

    lines = [str(0 if rng.random() < 0.9 else 7), "[3, 4, 5]" if rng.random() < 0.9 else "[]"]
    many = rng.choice((200, 2000)) if rng.random() < 0.02 else 0
    for _ in range(many or rng.randint(1, 8)):
        formula = "|".join(case() for _ in range(rng.choice((1, 1, 2, 4))))
        pay = rng.choice((_number(rng), f"-{_number(rng)}")) if rng.random() < 0.99 else "1, 2"
        name = "ConstantRewardFunction" if rng.random() < 0.9 else "RewardControl"
        lines.append(f"({rng.randint(0, 2)}, {rng.randint(0, 5)}, '{formula}', {name}({pay}))")
    lines += [f"({state}, 3, 'z', ConstantRewardFunction(1))" for state in range(3)]
    return "\n".join(lines) + "\n"
