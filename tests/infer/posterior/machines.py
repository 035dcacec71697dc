"""Machines with nothing but holes and a constraint: what a prior is made of."""

from __future__ import annotations

from srm.infer.posterior.prior import Prior
from srm.machine.language.parse import parse
from srm.machine.model import Machine
from tests.machines import WORDS


def machine_of(holes: str, *atoms: str) -> Machine:
    """A machine whose only rule pays the sum of all holes."""
    listed = "\n".join(f"    {line.strip()}" for line in holes.split(","))
    total = " + ".join(line.split()[0] for line in holes.split(","))
    constraint = "constraint\n" + "\n".join(f"    {atom}" for atom in atoms) if atoms else ""
    text = f"machine sums\nwords rooms\nholes\n{listed}\nstart here\n    always // {total}\n{constraint}\n"
    return parse(text, {WORDS.name: WORDS})


def prior_of(holes: str, *atoms: str) -> Prior:
    machine = machine_of(holes, *atoms)
    return Prior.of(machine, machine.constraint())
