"""What a posterior says of a machine's holes, as sections: of the page of an inference, and of that of a learning run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from srm.infer.posterior.record import DecidingStep, HoleRecord, PressedAtom, Summary
from srm.machine.checks.core.constraint import row_text
from srm.machine.holes import Atom, Constraint
from srm.machine.model import Machine
from srm.report.html.markup import Markup, join, table, tag
from srm.report.html.numbers import counted, share, signed, whole
from srm.report.html.page import Section
from srm.report.html.parts import hole_code, hole_head, right
from srm.report.run.marginals import amount, interval, marginal, pair

GROUNDS = {
    "demonstrations": "demonstrations",
    "play": "play",
    "preferences": "preferences",
    "constraint": "the constraint alone",
    "prior": "the prior alone",
    "nothing reads it": "nothing reads it",
}
BY_EVIDENCE = ("demonstrations", "play", "preferences")


def warning(summary: Summary) -> Markup | None:
    """That the draws cannot be trusted, where they cannot."""
    if summary.convergence.converged:
        return None
    return tag(
        "p",
        tag("span", "has NOT converged", class_="badge error"),
        f" after {counted(summary.convergence.sweeps, 'sweep')}: what follows may change with more. "
        "Give more --posterior.sweeps.",
        class_="outcome",
    )


def posterior_sections(summary: Summary, learnt: Machine, kept: Constraint | None) -> Iterator[Section]:
    yield _marginals(summary)
    if summary.tradeoffs:
        note = (
            "Pairs of holes that the draws hold together: where the cloud is slanted, the evidence knows a sum or a "
            "difference better than either hole."
        )
        pairs = tag("div", *(pair(record) for record in summary.tradeoffs), class_="pairs")
        yield Section("pairs", "Pairs that trade off", pairs, note)
    if any(hole.steps for hole in summary.holes):
        yield _deciding(summary)
    yield _constraint(summary, learnt, kept)
    yield _convergence(summary)


def _marginals(summary: Summary) -> Section:
    note = (
        "Filled: draws of the posterior. Outlined: the prior, which is uniform on the constraint within the holes' spaces. "
        "Below each: the mean and the interval that holds 90 % of the draws. The dashed line is 0."
    )
    figures = [
        tag(
            "figure",
            tag(
                "figcaption",
                hole_code(hole.name),
                tag("b", amount(hole.mean, hole.decimals)),
                tag("span", interval(hole), class_="range"),
            ),
            marginal(hole),
        )
        for hole in summary.holes
    ]
    return Section(
        "marginals", "What each hole is worth", join([tag("div", *figures, class_="marginals"), _table(summary)]), note
    )


def _table(summary: Summary) -> Markup:
    heads = ["hole", *map(right, ("pays", "mean", "90 % interval", "ratio", "narrower"))]
    rows = [
        [
            hole_head(hole.name),
            tag("td", amount(hole.value, hole.decimals), class_="number", data_value=hole.value),
            tag("td", amount(hole.mean, hole.decimals), class_="number"),
            tag("td", interval(hole), class_="number"),
            tag("td", "–" if hole.ratio is None else amount(hole.ratio), class_="number"),
            tag("td", share(hole.narrower), class_="number"),
            tag(
                "td",
                tag("span", GROUNDS[hole.set_by], class_="badge" if hole.set_by in BY_EVIDENCE else "badge warning"),
            ),
        ]
        for hole in summary.holes
    ]
    note = tag(
        "p",
        "Pays: the peak, with a preference for small numbers. It may lie nearer to 0 than the interval, since the scale of pay is nearly "
        "free: compare ratios. Ratio: of means, to the largest hole that is paid. Narrower: the share of the prior's spread that the evidence took away.",
        class_="note",
    )
    return join([table([*heads, "set by"], rows, label="What is known of each hole"), note])


def _deciding(summary: Summary) -> Section:
    place, weight = map(right, ("demonstration", "step")), map(right, ("alike", "weight"))
    heads = ["hole", *place, "what happened", "rule", *weight]
    rows = [row for hole in summary.holes for row in _deciding_rows(hole)]
    note = (
        "The demonstrated steps that moved each hole most. The weight is in the hole's own units: how much lower its mean "
        "would be without the step. Steps that weigh the same stand in one row: the first of them, and how many there are. "
        "Demonstrations and steps are counted from 1."
    )
    return Section(
        "deciding",
        "Steps that decided",
        table(heads, rows, label="Steps that decided each hole", class_="deciding"),
        note,
    )


def _deciding_rows(hole: HoleRecord) -> Iterator[list[Markup]]:
    for place, step in enumerate(hole.steps):
        name = tag("th", hole_code(hole.name), scope="rowgroup", rowspan=len(hole.steps))
        yield [
            *([name] if place == 0 else []),
            tag("td", step.demonstration + 1, class_="number"),
            tag("td", step.step + 1, class_="number"),
            tag("td", tag("code", "; ".join(step.events), class_="event") if step.events else "–"),
            tag("td", *_rule(step)),
            tag("td", whole(step.alike), class_="number"),
            tag("td", signed(step.weight), class_="number gain" if step.weight > 0 else "number loss"),
        ]


def _rule(step: DecidingStep) -> tuple[Markup | str, ...]:
    if not step.rule:
        return ("–",)
    return tag("code", step.text), tag("div", step.rule, class_="label")


def _constraint(summary: Summary, learnt: Machine, kept: Constraint | None) -> Section:
    pressed = {atom.text: atom for atom in summary.pressed}
    added = {atom.text: atom for atom in summary.added}
    rows = [
        _atom_row(atom, learnt, str(replace(atom, label=None)) in added, pressed)
        for atom in (kept.atoms if kept else ())
    ]
    elsewhere = [atom for text, atom in pressed.items() if text not in _row_texts(learnt, kept)]
    rows += [[tag("td", tag("code", atom.text)), tag("td", _press(atom.gain))] for atom in elsewhere]  # ends of spaces
    body = [
        table(["condition", ""], rows, label="Conditions on the holes")
        if rows
        else tag("p", "No condition was asked for."),
        *(tag("p", tag("span", "unproved", class_="badge warning"), f" {text}") for text in summary.unproved),
    ]
    note = (
        "Every draw keeps these. Added: forbids a loop that could be repeated without end for gain. Pressed: the "
        "demonstrations would rather break it, so it decides more than they do."
    )
    return Section("atoms", "Constraint", join(body), note)


def _row_texts(machine: Machine, kept: Constraint | None) -> set[str]:
    return {
        row_text(row) for atom in (kept.atoms if kept else ()) for row in atom.rows(machine.hole_names, machine.forms)
    }


def _atom_row(atom: Atom, machine: Machine, is_added: bool, pressed: Mapping[str, PressedAtom]) -> list[Markup]:
    gains = [
        pressed[text].gain for row in atom.rows(machine.hole_names, machine.forms) if (text := row_text(row)) in pressed
    ]
    marks = [
        tag("span", "added", class_="badge") if is_added else None,
        _press(max(gains)) if gains else None,
    ]
    label = tag("div", atom.label, class_="label") if atom.label else None
    return [tag("td", tag("code", str(replace(atom, label=None))), label), tag("td", join(marks, " "))]


def _press(gain: float) -> Markup:
    return tag("span", f"pressed: {signed(gain)} log-odds beyond it", class_="badge warning")


def _convergence(summary: Summary) -> Section:
    convergence = summary.convergence
    heads = ["hole", *map(right, ("R-hat", "independent draws"))]
    rows = [
        [
            hole_head(hole.name),
            _judged(
                "∞" if hole.r_hat is None else f"{hole.r_hat:.3f}",
                hole.r_hat is not None and hole.r_hat <= convergence.largest_r_hat,
            ),
            _judged(
                "–" if hole.effective is None else whole(hole.effective),
                (hole.effective or 0.0) >= convergence.least_effective,
            ),
        ]
        for hole in summary.holes
    ]
    verdict = "converged" if convergence.converged else "has NOT converged: give more --posterior.sweeps"
    note = (
        f"After {counted(convergence.sweeps, 'sweep')}: {verdict}. Asked of every hole: an R-hat of at most {convergence.largest_r_hat:g} "
        f"between independent ensembles, and {whole(convergence.least_effective)} independent draws."
    )
    return Section("convergence", "Convergence", table(heads, rows, label="Convergence of each hole"), note)


def _judged(text: str, good: bool) -> Markup:
    return tag("td", text, class_="number" if good else "number bad")
