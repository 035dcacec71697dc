"""Whether the learnt values keep the constraint and by how much, and what `srm check` found about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from srm.machine.checks.core.report import SEVERITIES, Witness, WitnessStep
from srm.machine.checks.core.subject import TOLERANCE
from srm.machine.holes import Atom, Constraint
from srm.machine.model import Machine
from srm.report.html.markup import Markup, join, table, tag
from srm.report.html.numbers import counted, number

TIGHT = 1e-3  # room that does not show


@dataclass(frozen=True)
class Margin:
    """How far an atom is from being broken; below 0 it is."""

    atom: Atom
    room: float


def margins(machine: Machine, constraint: Constraint) -> Iterator[Margin]:
    """Of each atom that says anything, the room of its tightest condition."""
    values = machine.values()
    for atom in constraint.atoms:
        rooms = []
        for row in atom.rows(machine.hole_names, machine.forms):
            value = sum(float(coefficient) * values[name] for name, coefficient in row.coefficients.items())
            room = float(row.bound) - value
            rooms.append(-abs(room) if row.equality else room)
        if rooms:
            yield Margin(atom, min(rooms))


def margin_table(machine: Machine, constraint: Constraint) -> Markup:
    listed = list(margins(machine, constraint))
    widest = max([abs(margin.room) for margin in listed] or [1.0]) or 1.0
    rows = [
        [
            tag("td", tag("code", str(replace(margin.atom, label=None))), margin.atom.label and _label(margin.atom)),
            tag("td", _meter(margin.room / widest), tag("span", number(margin.room)), class_="number margin"),
            tag("td", _verdict(margin.room)),
        ]
        for margin in listed
    ]
    return table(["condition", "margin", ""], rows, label=f"Margins of the constraint {constraint.name}")


def _label(atom: Atom) -> Markup:
    return tag("div", atom.label, class_="label")


def _meter(part: float) -> Markup:
    return tag("span", class_="meter", style=f"--part:{min(abs(part), 1.0):.3f}", aria_hidden="true")


def _verdict(room: float) -> Markup:
    if room < -TOLERANCE:
        return tag("span", "broken", class_="badge error")
    return tag("span", "at its bound" if room <= TIGHT else "kept", class_="badge note")


def findings(check: Mapping[str, Any]) -> Markup:
    """Errors first, then warnings, then what was proved."""
    ordered = sorted(check["findings"], key=lambda finding: SEVERITIES.index(finding["severity"]))
    if not ordered:
        return tag("p", "Nothing was found.")
    return tag("ul", *(_finding(finding) for finding in ordered), class_="findings")


def summary(check: Mapping[str, Any]) -> str:
    notes = sum(finding["severity"] == "note" for finding in check["findings"])
    parts = [counted(check["errors"], "error"), counted(check["warnings"], "warning"), counted(notes, "note")]
    return ", ".join(parts)


def _finding(finding: Mapping[str, Any]) -> Markup:
    severity, witness = finding["severity"], finding.get("witness")
    lines = list(_witness(witness).lines()) if witness else []
    example = tag("details", tag("summary", "example"), tag("pre", "\n".join(lines))) if lines else None
    place = tag("code", finding["place"]) if finding["place"] else None
    about = tag("div", join([place, tag("span", finding["message"])], " "))
    return tag("li", tag("span", severity, class_=f"badge {severity}"), about, example)


def _witness(plain: Mapping[str, Any]) -> Witness:
    steps = tuple(
        WitnessStep(**{"rule": None, **step, "events": tuple(step.get("events", ()))})
        for step in plain.get("steps", ())
    )
    lists = {name: tuple(plain.get(name, ())) for name in ("events", "atoms")}
    return Witness(**{**plain, **lists, "steps": steps})
