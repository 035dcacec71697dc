"""Pictures of a machine: SVG to look at, Mermaid and DOT to put into other people's documents."""

from __future__ import annotations

from srm.machine.drawing import graph
from srm.machine.drawing.scene import scene_of
from srm.machine.drawing.svg import paint
from srm.machine.model import Machine

SUFFIXES = {"svg": ".svg", "mermaid": ".mmd", "dot": ".dot"}


def svg(machine: Machine, *, constraint: str | None = None) -> str:
    """One self-contained picture, with the constraint of that name (the first, unless told) below it."""
    return paint(machine, scene_of(machine, machine.constraint(constraint)))


def mermaid(machine: Machine, *, constraint: str | None = None) -> str:
    return graph.mermaid(machine, machine.constraint(constraint))


def dot(machine: Machine, *, constraint: str | None = None) -> str:
    return graph.dot(machine, machine.constraint(constraint))


FORMATS = {"svg": svg, "mermaid": mermaid, "dot": dot}
