"""What each recorded episode was paid, by the holes and by the rules that paid it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from srm.machine.model import Machine, Rule
from srm.machine.terms import events_of
from srm.report.html.markup import Markup, join, table, tag
from srm.report.html.numbers import number, share, signed
from srm.report.html.parts import hole_code

RecordedEpisode = Mapping[str, Any]  # an episode of episodes.json
KINDS = {"demonstration": "demonstrations", "policy": "policy episodes"}
SHARED_HEADS = ("episode", "steps", "outcome", "return", "paid")


@dataclass(frozen=True)
class Column:
    """Something that paid: its head, and what it paid in an episode (None: nothing)."""

    head: Markup
    amount: Callable[[RecordedEpisode], float | None]
    times: Callable[[RecordedEpisode], int]


def outcome(episode: RecordedEpisode) -> str:
    if episode.get("solved", episode["terminated"] and episode["return"] > 0):
        return "solved"
    return "ended unsolved" if episode["terminated"] else "time ran out"


def name_of(episode: RecordedEpisode) -> str:
    return f"{'Demonstration' if episode['kind'] == 'demonstration' else 'Policy episode'} {episode['number']}"


def paid_tables(machine: Machine, episodes: Sequence[RecordedEpisode]) -> Markup:
    """Both tables, the second hidden until it is asked for; a page without its script shows both."""
    by_hole, by_rule = _hole_columns(machine, episodes), _rule_columns(machine, episodes)
    silent = [label for _, _, label in machine.rules if not any(label in episode["rules"] for episode in episodes)]
    return join(
        [
            tag("div", _table(by_hole, episodes, "Pay by hole"), id="paid-by-hole", data_choice="by hole"),
            tag("div", _table(by_rule, episodes, "Pay by rule"), id="paid-by-rule", data_choice="by rule"),
            tag("p", f"Rules that fired in none of them: {', '.join(silent)}.", class_="note") if silent else None,
        ]
    )


def _hole_columns(machine: Machine, episodes: Sequence[RecordedEpisode]) -> list[Column]:
    names = [*machine.hole_names, *([""] if any("" in episode["holes"] for episode in episodes) else [])]

    def column(name: str) -> Column:
        head = tag("th", hole_code(name) if name else "no hole", scope="col")
        return Column(head, lambda episode: episode["holes"].get(name), lambda _: 1)

    return [column(name) for name in names]


def _rule_columns(machine: Machine, episodes: Sequence[RecordedEpisode]) -> list[Column]:
    def column(rule: Rule, label: str) -> Column:
        words = rule.name or " or ".join(dict.fromkeys(events_of(rule.guard))) or label
        node = label.rpartition(".")[0]
        head = join([tag("span", node, class_="label") if node else None, tag("code", words, class_="event")])
        return Column(
            tag("th", head, scope="col", title=f"{label}: {rule}"),
            lambda episode: episode["rules"].get(label, (0, None))[1],
            lambda episode: episode["rules"].get(label, (0, None))[0],
        )

    fired = {label for episode in episodes for label in episode["rules"]}
    return [column(rule, label) for _, rule, label in machine.rules if label in fired]


def _table(columns: Sequence[Column], episodes: Sequence[RecordedEpisode], label: str) -> Markup:
    amounts = [column.amount(episode) for column in columns for episode in episodes]
    most = max((abs(amount) for amount in amounts if amount), default=1.0)
    rows: list[list[Markup]] = []
    numbered = list(enumerate(episodes))
    for kind, group in groupby(numbered, key=lambda item: item[1]["kind"]):
        members = list(group)
        rows.append(_mean_row(kind, columns, [episode for _, episode in members], most))
        rows += [_row(index, episode, columns, most) for index, episode in members]
    return table([*SHARED_HEADS, *(column.head for column in columns)], rows, label=label, class_="paid")


def _row(index: int, episode: RecordedEpisode, columns: Sequence[Column], most: float) -> list[Markup]:
    name = name_of(episode)
    opened = tag("a", name, href="#replay", data_episode=index, title=f"replay {name}, seed {episode['seed']}")
    solved = outcome(episode)
    return [
        tag("th", opened, scope="row"),
        tag("td", len(episode["actions"]), class_="number"),
        tag("td", solved, class_="good" if solved == "solved" else "bad"),
        tag("td", number(episode["return"]), class_="number"),
        tag("td", signed(episode["pay"]), class_="number total"),
        *_cells(columns, episode, most),
    ]


def _cells(columns: Sequence[Column], episode: RecordedEpisode, most: float) -> Iterator[Markup]:
    for column in columns:
        amount, times = column.amount(episode), column.times(episode)
        yield _amount(amount, most, f"×{times}" if times > 1 else "")


def _amount(amount: float | None, most: float, note: str = "") -> Markup:
    """A cell as deep in colour as its amount is large."""
    if amount is None:
        return tag("td", "·", class_="number none")
    kind = "gain" if amount > 0 else "loss" if amount < 0 else "zero"
    times = tag("small", note) if note else None
    depth = math.sqrt(abs(amount) / most)  # so that small amounts beside a large one can still be seen
    return tag("td", signed(amount), times, class_=f"number heat {kind}", style=f"--heat:{depth:.2f}")


def _mean_row(kind: str, columns: Sequence[Column], episodes: Sequence[RecordedEpisode], most: float) -> list[Markup]:
    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    cells = []
    for column in columns:
        amounts = [column.amount(episode) for episode in episodes]
        known = [amount or 0.0 for amount in amounts]
        cells.append(_amount(mean(known) if any(amount is not None for amount in amounts) else None, most))
    solved = [float(outcome(episode) == "solved") for episode in episodes]
    return [
        tag("th", f"{len(episodes)} {KINDS[kind]}, mean" if len(episodes) > 1 else KINDS[kind][:-1], scope="rowgroup"),
        tag("td", number(mean([len(episode["actions"]) for episode in episodes])), class_="number"),
        tag("td", f"{share(mean(solved))} solved"),
        tag("td", number(mean([episode["return"] for episode in episodes])), class_="number"),
        tag("td", signed(mean([episode["pay"] for episode in episodes])), class_="number total"),
        *cells,
    ]
