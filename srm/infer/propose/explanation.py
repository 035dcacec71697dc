"""What was considered and what became of it, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from srm.infer.propose.again import Again
from srm.infer.propose.attributes import Match
from srm.infer.propose.facts import undoers
from srm.infer.propose.reading import Account
from srm.infer.propose.sketch import Sketch
from srm.infer.propose.structure import Structure, Way, of_all


def explain(
    account: Account,
    structure: Structure,
    sketch: Sketch,
    again: Sequence[Again | None],
    remarks: Sequence[str],
    proofs: Sequence[str],
) -> str:
    parts = [
        ("Read", list(_read(account))),
        (
            "Milestones",
            [line for n, way in enumerate(structure.ways, start=1) for line in _way(way, n, len(structure.ways))],
        ),
        (
            "Ways back",
            list(
                dict.fromkeys(
                    f"{way.skeleton[a.place]}: {a.reason}" for way, a in zip(structure.ways, again, strict=True) if a
                )
            ),
        ),
        ("Undoing", list(_undoing(account, structure, sketch))),
        ("Matching", list(dict.fromkeys(_matching(sketch)))),
        ("Left out", list(remarks)),
        ("Proof", [*proofs, "no errors, no warnings"]),
    ]
    return "\n".join(f"{title}\n" + "".join(f"  {line}\n" for line in lines) for title, lines in parts if lines)


def _matching(sketch: Sketch) -> Iterator[str]:
    for rule in sketch.rules:
        for repay in rule.repays:
            yield f"{repay.event}: only the last with the {' and '.join(repay.attributes)} of {rule.event} stays paid"


def unmatched(matches: Sequence[Match], sketch: Sketch, wanted: Sequence[Match]) -> Iterator[str]:
    """Equalities that no rule asks for, and why."""
    written = {(repay.event, name) for rule in sketch.rules for repay in rule.repays for name in repay.attributes}
    for match in matches:
        if any((event, match.attribute) in written for event in match.events):
            continue
        if not match.broken:
            yield f"{match}, so no rule asks for it"
        elif match not in wanted:
            yield f"{match}, so --match would ask for it"
        else:
            yield f"{match}, but what would have to match is paid more than once or costs elsewhere, or could not be proved"


def _read(account: Account) -> Iterator[str]:
    solved, total = len(account.solved), len(account.stories)
    yield f"{total} demonstration{'s' * (total != 1)}, {sum(story.length for story in account.stories)} steps"
    if solved < total:
        failed = ", ".join(str(story.number) for story in account.stories if not story.solved)
        yield f"{solved} solve the task; the order is read from these ({failed} left aside)"
    if account.random is None:
        yield "no random play"
    else:
        yield f"{sum(story.length for story in account.random.stories)} steps of random play"
    for run in account.runs:
        yield f"{len(run.stories)} episodes of a run's policy"


def _way(way: Way, number: int, ways: int) -> Iterator[str]:
    if ways > 1:
        yield f"way {number}, demonstrations {', '.join(map(str, way.numbers))}:"
    total = len(way.numbers)
    for milestone in way.links(way.fixed):
        free = ", ".join(f"{b.event} ({of_all(b.stories, total)}{_often(b.least, b.most)})" for b in milestone.besides)
        yield f"{milestone.event}: in {of_all(milestone.stories, total)}{f'; before it, in any order: {free}' if free else ''}"


def _often(least: int, most: int) -> str:
    return "" if most == 1 else f", {least} to {most} times" if least != most else f", {most} times"


def _undoing(account: Account, structure: Structure, sketch: Sketch) -> Iterator[str]:
    costs = {rule.event for rule in sketch.rules if rule.hole.high <= 0}
    events = dict.fromkeys(event for way in structure.ways for event in way.events)
    for event in events:
        for undoer in undoers(event, account.vocabulary):
            if undoer in costs:
                yield f"{undoer} undoes {event}, and costs"
            elif undoer in events:
                yield f"{undoer} undoes {event}, but the demonstrations need it, so it costs nothing"
