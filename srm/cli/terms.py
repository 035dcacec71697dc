"""Verbs about rewards that are sums of terms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from srm.domains.terms import FRAMES, commented
from srm.files import refuse_written_over
from srm.settings import ONE_OR_MORE, ZERO_OR_MORE


@dataclass(frozen=True)
class Terms:
    """write a machine whose pay is a sum of terms, from an environment's info or from the signals of a task of your own"""

    env: Annotated[Positional[str], arg(metavar="ENV|TASK")]
    """an environment that Gymnasium knows (Hopper-v5), or a task of your own (PACKAGE.MODULE:NAME), whose signals are the terms"""
    info: Annotated[tuple[str, ...], arg(metavar="KEY ...")] = ()
    """the numbers of info that are terms; unless given those whose names contain reward, cost, penalty or bonus, or all"""
    signals: Annotated[tuple[str, ...], arg(metavar="SIGNAL ...")] = ()
    """beside a task: the signals that are terms; all of them unless given"""
    out: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """the .srm file to write; the terminal unless given"""
    frames: int = FRAMES
    """steps of random play by which the terms are measured"""
    seed: int = 0
    """of environments and actions"""

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--", "frames")
        ZERO_OR_MORE.refuse_outside(self, "--", "seed")

    def run(self) -> int:
        from srm.domains.terms import from_terms, listed_terms

        if self.out is not None:
            refuse_written_over(self.out)
        env, terms = listed_terms(self.env, self.info, self.signals)
        machine, play = from_terms(
            env, terms, name=self.out.stem if self.out else None, frames=self.frames, seed=self.seed
        )
        print(f"{play.env_id}: {play.steps:,} steps of random play, {play.episodes:,} episodes\n\n{play}\n")
        text = commented(machine, play)
        if self.out is None:
            print(text, end="")
            return 0
        from srm.runs.folder import write_bytes

        self.out.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(self.out, text.encode())
        print(f"wrote {self.out}")
        return 0


@dataclass(frozen=True)
class AuditReward:
    """print which term of a reward dominates on given play, what is paid while the task's return stands still, and loops that pay"""

    subject: Annotated[Positional[str], arg(metavar="ENV|RUN|DEMOS")]
    """an environment or a task (random play), the folder of a run (its policy plays), or a file of demonstrations"""
    machine: Annotated[str | None, arg(metavar="MACHINE")] = None
    """the reward, a machine whose holes have values; unless given that of the run, or the environment's own terms in info"""
    info: Annotated[tuple[str, ...], arg(metavar="KEY ...")] = ()
    """without a machine: the numbers of info that are terms; unless given those whose names contain reward, cost, penalty or bonus, or all"""
    task: Annotated[str | None, arg(metavar="TASK")] = None
    """the task of the run, the demonstrations or the machine, when it is one of your own"""
    frames: int = FRAMES
    """steps of random play, or of the policy"""
    seed: int = 0
    """of environments and actions"""
    json: bool = False
    """print everything as JSON"""

    def run(self) -> int:
        from json import dumps

        from srm.runs.audit import AuditSettings, audit

        settings = AuditSettings(self.subject, self.machine, self.task, self.info, self.frames, self.seed)
        report = audit(settings)
        print(dumps(report.to_json(), indent=2) if self.json else report)
        return 0
