"""Pictures of a machine: SVG to look at, Mermaid and DOT to put into other people's documents."""

from __future__ import annotations

from srm.machine.draw_scene import scene_of
from srm.machine.draw_svg import paint
from srm.machine.model import Machine


def svg(machine: Machine, *, constraint: str | None = None) -> str:
    """One self-contained picture, with the constraint of that name (the first, unless told) below it."""
    return paint(machine, scene_of(machine, machine.constraint(constraint)))
