"""`srm propose`: a machine from demonstrations, proved before it is printed. Nothing is trained."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from srm.errors import SettingError
from srm.files import refuse_written_over, write_whole
from srm.machine.language.parse import find_machine
from srm.runs.proposal import ProposalInputs, Proposing, propose_for, read_inputs

if TYPE_CHECKING:
    from srm.infer.propose.propose import Proposal
    from srm.machine.model import Machine


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
        if self.out is not None:
            refuse_written_over(self.out)
            if self.page is not None and self.page.resolve() == self.out.resolve():
                raise SettingError(f"-o and --page both name {self.out}; give the page a name of its own")
        inputs = read_inputs(settings)
        vocabulary = inputs.task.vocabulary
        other = None if self.against is None else find_machine(self.against, {vocabulary.name: vocabulary})
        proposal = propose_for(
            inputs.task, inputs.demonstrations, settings.play, settings.seed, settings.frames, settings.match
        )
        if self.out is None:
            print(proposal.text, end="")
        else:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.out, proposal.text.encode())
            print(f"{self.out}: machine {proposal.machine.name}, {proposal.summary}", file=sys.stderr)
        if self.explain:
            print(f"\n{proposal.explanation}", end="")
        if other is not None:
            _compare(proposal, inputs, other)
        if self.page is not None:
            from srm.report.proposal import proposal_page

            self.page.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.page, proposal_page(proposal).encode())
            print(f"page     {self.page}", file=sys.stderr)
        return 0


def _compare(proposal: Proposal, inputs: ProposalInputs, other: Machine) -> None:
    from srm.infer.propose.against import compare_pay, table
    from srm.machine.checks.check import compare
    from srm.machine.checks.core.report import step_text

    task, machine = inputs.task, proposal.machine
    trajectories = inputs.demonstrations.trajectories
    rows = compare_pay(machine, other, task.event_reader(), trajectories)
    print("\n" + "\n".join(table(rows, machine.name, other.name, len(trajectories))))
    report = compare(machine, other, task.vocabulary)
    for finding in report.of("against", "error") or report.of("against", "note"):
        print(f"\n{finding.message}")
        for step in finding.witness.steps if finding.witness else ():
            print(f"    {step_text(step)}")
