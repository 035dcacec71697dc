"""The process behind `Child`: reads questions, a line each, and answers them.

{"check": text, "constraint": name, "values": {hole: number} or null}       what `srm check` finds
{"posterior": text, "constraint": name, "demos": [file], "preferences": file or null}   draws, and what is known of each hole
{"propose": true, "demos": [file]}                                          the machine that demonstrations suggest
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from srm.domains import demonstrations as demos
from srm.domains.base import Task
from srm.domains.preferences import play_again, read_preferences
from srm.domains.tasks import find_task
from srm.errors import DemonstrationError, SrmError
from srm.files import parse_json
from srm.machine.checks.check import Report, check
from srm.machine.language.parse import parse
from srm.trajectory import as_rollout

SWEEPS = 300  # at most: a person waits, and to choose a pair few draws will do
DRAWS = 800  # that are handed over


def answer(task: Task, question: Mapping[str, Any]) -> dict[str, Any]:
    if "propose" in question:
        return answer_proposal(task, question)
    return answer_posterior(task, question) if "posterior" in question else answer_check(task, question)


def answer_check(task: Task, question: Mapping[str, Any]) -> dict[str, Any]:
    machine = parse(question["check"], {task.vocabulary.name: task.vocabulary})
    if question["values"] is not None:
        machine = machine.opened().concretize(question["values"])
    report = check(machine, task.vocabulary, question["constraint"])
    return findings_json(report)


def answer_posterior(task: Task, question: Mapping[str, Any]) -> dict[str, Any]:
    """As `srm infer` does it, with fewer draws; without demonstrations it is the prior that is drawn from."""
    from srm.infer.posterior.infer import RANDOM_FRAMES, first_plays, infer, prior_draws
    from srm.infer.posterior.prior import Prior
    from srm.infer.posterior.sample import PosteriorConfig

    machine = parse(question["posterior"], {task.vocabulary.name: task.vocabulary}).opened()
    constraint = None if question["constraint"] == "none" else machine.constraint(question["constraint"])
    episodes = [episode for path in question["demos"] for episode in demos.load(Path(path), task).trajectories]
    if not episodes:
        draws = prior_draws(Prior.of(machine, constraint), 0)
        return {"draws": _thinned(draws), "values": None, "answers": 0}
    config = PosteriorConfig(first_look=100, sweeps=SWEEPS)
    demonstrated, path = as_rollout(episodes), question["preferences"]
    answers = None if path is None else read_preferences(Path(path), task)
    known = infer(
        machine,
        constraint,
        task.event_reader(),
        demonstrated,
        first_plays(machine, config, task, demonstrated, 0, RANDOM_FRAMES),
        config,
        compared=None if answers is None else (answers, play_again(answers, task)),
    )
    count = 0 if answers is None else len(answers.comparisons)
    return {"draws": _thinned(known.draws.assignments), "values": dict(known.values), "answers": count}


def answer_proposal(task: Task, question: Mapping[str, Any]) -> dict[str, Any]:
    """As `srm propose` does it."""
    from srm.runs.proposal import propose_for

    files = [demos.load(Path(path), task) for path in question["demos"]]
    if not files:
        raise DemonstrationError("a machine is proposed from demonstrations, and there are none; play, and keep some")
    first = files[0]
    joined = replace(
        first,
        seeds=tuple(seed for file in files for seed in file.seeds),
        trajectories=tuple(episode for file in files for episode in file.trajectories),
    )
    proposal = propose_for(task, joined)
    return {"text": proposal.text, "explanation": proposal.explanation, "summary": proposal.summary}


def _thinned(draws: np.ndarray) -> list[list[float]]:
    rows: list[list[float]] = draws[:: max(1, len(draws) // DRAWS)].tolist()
    return rows


def findings_json(report: Report) -> dict[str, Any]:
    """Findings with their examples as lines to read."""
    return {
        "findings": [
            {
                "severity": finding.severity,
                "place": finding.place,
                "message": finding.message,
                "example": list(finding.witness.lines()) if finding.witness else [],
            }
            for finding in report.findings
        ]
    }


def main() -> None:
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else prints does not answer
    task = find_task(sys.argv[1])
    for line in sys.stdin:
        try:
            reply = answer(task, parse_json(line))
        except SrmError as error:
            reply = {"error": str(error)}
        print(json.dumps(reply), file=out, flush=True)


if __name__ == "__main__":
    main()
