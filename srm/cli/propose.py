"""`srm propose`: a machine from demonstrations, proved before it is printed. Nothing is trained."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from srm.files import write_whole
from srm.runs.proposal import Proposing, propose


@dataclass(frozen=True)
class Propose:
    """write the machine that demonstrations suggest: milestones, what undoes them, and a constraint that nothing can be farmed under"""

    proposing: Annotated[Proposing, tyro.conf.arg(name="")] = field(default_factory=Proposing)
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = None
    """where the machine is written; printed unless given"""
    explain: bool = False
    """print what was considered and left out, too"""

    def run(self) -> int:
        proposal = propose(self.proposing)
        if self.out is None:
            print(proposal.text, end="")
        else:
            write_whole(self.out, proposal.text.encode())
            print(f"{self.out}: machine {proposal.machine.name}, {proposal.summary}", file=sys.stderr)
        if self.explain:
            print(("" if self.out else "\n") + proposal.explanation, end="")
        return 0
