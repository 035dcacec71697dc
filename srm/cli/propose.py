"""`srm propose`: a machine from demonstrations, proved before it is printed. Nothing is trained."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from srm.files import write_whole
from srm.runs.proposal import ProposalInputs, Proposing, propose_for, read_inputs

if TYPE_CHECKING:
    from srm.infer.propose.propose import Proposal


@dataclass(frozen=True)
class Propose:
    """write the machine that demonstrations suggest: milestones, what undoes them, and a constraint under which nothing can be farmed"""

    proposing: Annotated[Proposing, tyro.conf.arg(name="")] = field(default_factory=Proposing)
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = None
    """where the machine is written; printed unless given"""
    explain: bool = False
    """print what was considered and left out, too"""
    against: Annotated[str | None, tyro.conf.arg(metavar="MACHINE")] = None
    """print where the proposal pays differently from this machine, on the demonstrations and, if it can be proved, on any trace"""
    page: Annotated[Path | None, tyro.conf.arg(metavar="FILE.html")] = None
    """write a page: the machine, the demonstrations along its milestones, what was considered, what was proved"""

    def run(self) -> int:
        settings = self.proposing
        inputs = read_inputs(settings)
        proposal = propose_for(
            inputs.task, inputs.demonstrations, settings.play, settings.seed, settings.frames, settings.match
        )
        if self.out is None:
            print(proposal.text, end="")
        else:
            write_whole(self.out, proposal.text.encode())
            print(f"{self.out}: machine {proposal.machine.name}, {proposal.summary}", file=sys.stderr)
        if self.explain:
            print(f"\n{proposal.explanation}", end="")
        if self.against is not None:
            self._compare(proposal, inputs, self.against)
        if self.page is not None:
            from srm.report.proposal import proposal_page

            write_whole(self.page, proposal_page(proposal).encode())
            print(f"page     {self.page}", file=sys.stderr)
        return 0

    def _compare(self, proposal: Proposal, inputs: ProposalInputs, name: str) -> None:
        from srm.infer.propose.against import compare_pay, table
        from srm.machine.checks.check import compare
        from srm.machine.checks.core.report import step_text
        from srm.machine.language.parse import find_machine

        task, machine = inputs.task, proposal.machine
        other = find_machine(name, {task.vocabulary.name: task.vocabulary})
        trajectories = inputs.demonstrations.trajectories
        rows = compare_pay(machine, other, task.event_reader(), trajectories)
        print("\n" + "\n".join(table(rows, machine.name, other.name, len(trajectories))))
        report = compare(machine, other, task.vocabulary)
        for finding in report.of("against", "error") or report.of("against", "note"):
            print(f"\n{finding.message}")
            for step in finding.witness.steps if finding.witness else ():
                print(f"    {step_text(step)}")
