"""A report in the terminal: question by question, each finding with its witness below it; coloured where there are colours."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from srm.machine.checks.core.report import QUESTIONS, SEVERITIES, Finding, Report

STYLES = {"error": "bold red", "warning": "yellow", "note": "green"}
TITLES = {
    "constraint": "Constraint",
    "determinism": "Determinism",
    "rules": "Rules",
    "nodes": "Nodes",
    "holes": "Holes",
    "implied": "What the constraint implies",
    "farming": "Farming",
    "episode": "What an episode can earn",
    "against": "Comparison",
}


def print_report(report: Report, console: Console) -> None:
    for line in _lines(report):
        console.print(line, soft_wrap=True, highlight=False)


def _lines(report: Report) -> Iterator[Text]:
    assumed = f"under constraint {report.constraint}" if report.constraint else "without a constraint"
    against = f" against {report.other}" if report.other else ""
    known = "" if report.words else "; no vocabulary is known, so any events may coincide"
    yield Text.assemble((report.machine, "bold"), f"{against} {assumed}{known}")
    for question in QUESTIONS:
        findings = report.of(question)
        if findings:
            yield Text("")
            yield Text(TITLES[question], "bold")
        for finding in findings:
            yield from _finding(finding)
    yield Text("")
    yield Text(", ".join(_counted(report, severity) for severity in SEVERITIES))


def _finding(finding: Finding) -> Iterator[Text]:
    place = f"{finding.place}: " if finding.place else ""
    tag = (f"{finding.severity:<9}", STYLES[finding.severity])
    yield Text.assemble("  ", tag, (place, "bold"), finding.message)
    for line in finding.witness.lines() if finding.witness else ():
        yield Text(f"             {line}", "dim")


def _counted(report: Report, severity: str) -> str:
    count = report.count(severity)
    return f"{count or 'no'} {severity}{'s' * (count != 1)}"
