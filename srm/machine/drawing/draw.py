"""Pictures of a machine: SVG to look at, Mermaid and DOT to put into other people's documents."""

from __future__ import annotations

from srm.machine.drawing import graph
from srm.machine.drawing.scene import scene_of
from srm.machine.drawing.svg import paint
from srm.machine.holes import Constraint
from srm.machine.model import Machine

SUFFIXES = {"svg": ".svg", "mermaid": ".mmd", "dot": ".dot"}


def svg(machine: Machine, *, constraint: str | None = None) -> str:
    """One self-contained picture, with the constraint of that name below it: the first unless given, and none for `none`."""
    return paint(machine, scene_of(machine, _chosen(machine, constraint)))


def mermaid(machine: Machine, *, constraint: str | None = None) -> str:
    return graph.mermaid(machine, _chosen(machine, constraint))


def dot(machine: Machine, *, constraint: str | None = None) -> str:
    return graph.dot(machine, _chosen(machine, constraint))


def _chosen(machine: Machine, constraint: str | None) -> Constraint | None:
    return None if constraint == "none" else machine.constraint(constraint)


FORMATS = {"svg": svg, "mermaid": mermaid, "dot": dot}
