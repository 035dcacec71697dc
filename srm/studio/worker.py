"""The process behind `Child`: reads questions, a line each, and answers them.

{"check": text, "constraint": name, "values": {hole: number} or null}   what `srm check` finds
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from srm.domains.base import Task
from srm.domains.tasks import find_task
from srm.errors import SrmError
from srm.machine.checks.check import Report, check
from srm.machine.language.parse import parse


def answer(task: Task, question: Mapping[str, Any]) -> dict[str, Any]:
    machine = parse(question["check"], {task.vocabulary.name: task.vocabulary})
    if question["values"] is not None:
        machine = machine.opened().concretize(question["values"])
    report = check(machine, task.vocabulary, question["constraint"])
    return findings_json(report)


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
            reply = answer(task, json.loads(line))
        except SrmError as error:
            reply = {"error": str(error)}
        print(json.dumps(reply), file=out, flush=True)


if __name__ == "__main__":
    main()
