"""From demonstrations, without training anything: a machine, and what its holes are worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srm.api.named import Named, config_name, demonstrations_named, folder_of, machine_named, task_named
from srm.domains.base import Task
from srm.errors import MachineError
from srm.machine.model import Machine

if TYPE_CHECKING:
    from srm.infer.propose.propose import Proposal
    from srm.results import PosteriorResult, RunResult
    from srm.trajectory import Demonstrations

PROPOSED = "proposed"  # in place of a machine: one that is read from the demonstrations


def infer(
    task: Task | str,
    machine: Machine | Named | None = None,
    demonstrations: Demonstrations | Named | None = None,
    *,
    play: Sequence[RunResult | Named] = (),
    out: Named | None = None,
    **settings: Any,
) -> PosteriorResult:
    """Infers what each hole of a machine is worth, with intervals, in seconds. Nothing is trained.

    Args:
        task: Where the demonstrations were recorded.
        machine: The machine with holes, or `"proposed"`; the task's first unless given. Values that its holes have are not looked at.
        demonstrations: Those that ship with the task unless given.
        play: Runs whose policies play too, or files of what others have shown: what they do and demonstrators do not is evidence.
        out: A folder to write machine, posterior, draws and page into; nothing is written unless given.
        **settings: Any flag of `srm infer`, such as `seed`, `count`, `constraint`, `frames` (of random play), `allow_farming`, or
            `posterior={"sweeps": 2000}`.
    """
    from srm.domains.preferences import read_preferences
    from srm.infer.posterior.store import stored_draws, summary_of
    from srm.machine.checks.check import refuse_unfit
    from srm.machine.model import held_to
    from srm.results import PosteriorResult
    from srm.runs.folder import refuse_taken
    from srm.runs.keywords import configured
    from srm.runs.posterior import Inference, Inputs, infer_holes, read_rivals, write_inference

    resolved = task_named(task)
    if machine == PROPOSED:
        machine = propose(task, demonstrations, seed=settings.get("seed", 0), count=settings.get("count")).machine
    given_machine, named = machine_named(resolved, machine)
    settings |= {"subject": config_name(resolved, task), "machine": named, "play": [folder_of(run) for run in play]}
    config = configured(Inference, settings, "srm.infer")
    opened = given_machine.opened()
    if not opened.holes:
        raise MachineError(f"machine {opened.name} has no holes to infer; train on it with srm.train(task, machine)")
    refuse_unfit(opened, resolved.vocabulary, config.constraint)
    constraint = None if config.constraint == "none" else opened.constraint(config.constraint)
    demos = demonstrations_named(resolved, demonstrations, config.count)
    folder = None if out is None else Path(out)
    if folder is not None:
        refuse_taken(folder, resumable=False)
    answers = None if config.preferences is None else read_preferences(config.preferences, resolved)
    inputs = Inputs(resolved, opened, constraint, demos, answers, read_rivals(config.play, resolved))
    posterior = infer_holes(config, inputs)
    if folder is not None:
        from srm.report.run.inference import write_posterior_report

        write_inference(folder, config, inputs, posterior)
        write_posterior_report(folder)
    summary = summary_of(posterior, resolved.event_reader(), demos.trajectories)
    learnt = held_to(posterior.concrete, posterior.constraint)
    return PosteriorResult(learnt, summary, stored_draws(posterior), demos.env_id)


def propose(
    task: Task | str,
    demonstrations: Demonstrations | Named | None = None,
    *,
    play: Sequence[RunResult | Named] = (),
    seed: int = 0,
    count: int | None = None,
    **settings: Any,
) -> Proposal:
    """Proposes a machine from demonstrations, proved and with comments, in seconds. Nothing is trained.

    Args:
        task: What the demonstrations show.
        demonstrations: Those that ship with the task unless given.
        play: Runs whose policies play too: where one stands after a milestone and never gets to the next, there is a way back.
        seed: Of random play.
        count: Only the first so many demonstrations.
        **settings: Any other flag of `srm propose`, such as `frames` (of random play) or `match`.
    """
    from srm.runs.keywords import configured
    from srm.runs.proposal import Proposing, propose_for

    resolved = task_named(task)
    settings |= {"task": config_name(resolved, task), "seed": seed, "play": [folder_of(run) for run in play]}
    config = configured(Proposing, settings, "srm.propose")
    demos = demonstrations_named(resolved, demonstrations, count)
    return propose_for(resolved, demos, config.play, seed, config.frames, config.match)
