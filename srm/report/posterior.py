"""What a posterior says of a machine's holes: the page of an inference, and the same parts for the page of a learning run.

`write_posterior_report` reads the folder of an inference and writes report.html into it. Pictures are drawn here, without scripts.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from srm.errors import RunError
from srm.experiment.config import from_plain
from srm.experiment.run import LEARNT, MACHINE, POSTERIOR, read_config, write_bytes
from srm.infer.posterior.record import KIND, HoleRecord, StepRecord, Summary
from srm.machine.checks.constraint import row_text
from srm.machine.draw import svg
from srm.machine.model import Atom, Constraint, Machine
from srm.machine.parse import load
from srm.report.marginals import amount, interval, marginal, pair
from srm.report.markup import Markup, join, table, tag
from srm.report.numbers import counted, share, signed, whole
from srm.report.page import Section, page
from srm.report.run import flattened

REPORT = "report.html"
AGAIN = "infer again with this version"
GROUNDS = {
    "demonstrations": "demonstrations",
    "play": "play",
    "constraint": "the constraint alone",
    "prior": "the prior alone",
    "nothing reads it": "nothing reads it",
}
SURE = ("demonstrations", "play")


def write_posterior_report(folder: Path) -> Path:
    """Writes the page of an inference into its folder, and returns where."""
    path = folder / REPORT
    config, learnt = read_config(folder), load(folder / LEARNT)
    summary = read_summary(folder / POSTERIOR)
    refuse_other_machine(folder, summary, learnt)
    write_bytes(path, posterior_page(folder, config, load(folder / MACHINE), learnt, summary).encode())
    return path


def read_summary(path: Path) -> Summary:
    """What posterior.json says; anything that this version would not write is refused."""
    try:
        content = json.loads(path.read_text(), parse_float=_finite, parse_constant=_finite)
    except (ValueError, OSError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise RunError(f"{path} cannot be read: {problem}; {AGAIN}") from None
    if not isinstance(content, dict) or content.pop("kind", None) != KIND:
        raise RunError(f"{path} is not a posterior; {AGAIN}")
    try:
        return from_plain(Summary, content, str(path))
    except RunError as problem:
        raise RunError(f"{problem}; {AGAIN}") from None


def refuse_other_machine(folder: Path, summary: Summary, machine: Machine) -> None:
    if tuple(hole.name for hole in summary.holes) != machine.hole_names:
        raise RunError(f"{folder}: {POSTERIOR} speaks of other holes than {LEARNT}; {AGAIN}")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number")
    return value


# The page of an inference


def posterior_page(folder: Path, config: Mapping[str, Any], machine: Machine, learnt: Machine, summary: Summary) -> str:
    kept = learnt.constraint() if summary.constraint is not None else None
    drawing = Markup(svg(learnt, constraint=kept.name if kept else None))
    region = tag("div", drawing, class_="scroll drawing", role="region", aria_label="The machine, drawn", tabindex="0")
    sections = [
        *posterior_sections(summary, learnt, kept),
        Section(
            "machine",
            "Machine with the inferred values",
            region,
            "What pays is the peak of the posterior: what explains the demonstrations best, with no larger numbers than that takes.",
        ),
        _configuration(config, learnt),
    ]
    return page(f"{machine.name}: what its holes are worth", _header(folder, config, summary), sections, (), {})


def _header(folder: Path, config: Mapping[str, Any], summary: Summary) -> Markup:
    figures = {
        "holes": whole(len(summary.holes)),
        "set by evidence": whole(sum(hole.set_by in SURE for hole in summary.holes)),
        "demonstrations": whole(summary.demonstrations),
        "demonstrated steps": whole(summary.demonstrated_steps),
        "steps of play": whole(summary.played_steps),
        "sweeps": whole(summary.convergence.sweeps),
    }
    command = config.get("command")
    return tag(
        "header",
        tag("p", "Symbolic reward machines · inference", class_="kind"),
        tag("h1", summary.machine, " ", tag("span", folder.resolve().name, class_="run")),
        warning(summary),
        tag("p", _sentence(config, summary), class_="outcome"),
        tag("p", f"Envs: {config['envs']}.", class_="command") if config.get("envs") else None,
        tag(
            "dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in figures.items()), class_="figures"
        ),
        tag("p", tag("code", command if isinstance(command, str) else shlex.join(command)), class_="command")
        if command
        else None,
    )


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


def _sentence(config: Mapping[str, Any], summary: Summary) -> str:
    holes = counted(len(summary.holes), "hole")
    shown = counted(summary.demonstrations, "demonstration")
    kept = f"constraint {summary.constraint}" if summary.constraint else "no constraint"
    added = f", with {counted(len(summary.added), 'atom')} added against farming" if summary.added else ""
    return (
        f"What {shown} and {counted(summary.played_steps, 'step')} of play in {config.get('env_id')} say of the {holes} "
        f"of machine {summary.machine}, under {kept}{added}."
    )


def _configuration(config: Mapping[str, Any], learnt: Machine) -> Section:
    parts = []
    for title, values in (("Settings", config.get("inference", {})), ("Versions", config.get("versions", {}))):
        rows = [[tag("th", tag("code", name), scope="row"), tag("td", value)] for name, value in flattened(values)]
        parts.append(
            tag("details", tag("summary", title), table(["name", "value"], rows, label=title, class_="settings"))
        )
    parts.append(tag("details", tag("summary", "The machine as text"), tag("pre", str(learnt))))
    return Section("configuration", "Configuration", join(parts))


# Parts that the page of a learning run has too


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
                tag("code", f"?{hole.name}", class_="hole"),
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
    heads = [
        "hole",
        *(
            tag("th", name, scope="col", class_="number")
            for name in ("pays", "mean", "90 % interval", "ratio", "narrower")
        ),
    ]
    rows = [
        [
            tag("th", tag("code", f"?{hole.name}", class_="hole"), scope="row"),
            tag("td", amount(hole.value, hole.decimals), class_="number", data_value=hole.value),
            tag("td", amount(hole.mean, hole.decimals), class_="number"),
            tag("td", interval(hole), class_="number"),
            tag("td", "–" if hole.ratio is None else amount(hole.ratio), class_="number"),
            tag("td", share(hole.narrower), class_="number"),
            tag("td", tag("span", GROUNDS[hole.set_by], class_="badge" if hole.set_by in SURE else "badge warning")),
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
    right = [tag("th", name, scope="col", class_="number") for name in ("demonstration", "step", "alike", "weight")]
    heads = ["hole", *right[:2], "what happened", "rule", *right[2:]]
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
        name = tag("th", tag("code", f"?{hole.name}", class_="hole"), scope="rowgroup", rowspan=len(hole.steps))
        yield [
            *([name] if place == 0 else []),
            tag("td", step.demonstration + 1, class_="number"),
            tag("td", step.step + 1, class_="number"),
            tag("td", tag("code", "; ".join(step.events), class_="event") if step.events else "–"),
            tag("td", *_rule(step)),
            tag("td", whole(step.alike), class_="number"),
            tag("td", signed(step.weight), class_="number gain" if step.weight > 0 else "number loss"),
        ]


def _rule(step: StepRecord) -> tuple[Markup | str, ...]:
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


def _atom_row(atom: Atom, machine: Machine, is_added: bool, pressed: Mapping[str, Any]) -> list[Markup]:
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
    asked = summary.convergence
    heads = ["hole", *(tag("th", name, scope="col", class_="number") for name in ("R-hat", "independent draws"))]
    rows = [
        [
            tag("th", tag("code", f"?{hole.name}", class_="hole"), scope="row"),
            _judged(
                "∞" if hole.r_hat is None else f"{hole.r_hat:.3f}",
                hole.r_hat is not None and hole.r_hat <= asked.largest_r_hat,
            ),
            _judged(
                "–" if hole.effective is None else whole(hole.effective),
                (hole.effective or 0.0) >= asked.least_effective,
            ),
        ]
        for hole in summary.holes
    ]
    verdict = "converged" if asked.converged else "has NOT converged: give more --posterior.sweeps"
    note = (
        f"After {counted(asked.sweeps, 'sweep')}: {verdict}. Asked of every hole: an R-hat of at most {asked.largest_r_hat:g} "
        f"between independent ensembles, and {whole(asked.least_effective)} independent draws."
    )
    return Section("convergence", "Convergence", table(heads, rows, label="Convergence of each hole"), note)


def _judged(text: str, good: bool) -> Markup:
    return tag("td", text, class_="number" if good else "number bad")
