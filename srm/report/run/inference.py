"""The page of an inference: what its demonstrations say of a machine's holes.

`write_posterior_report` reads the folder of an inference and writes report.html into it. Pictures are drawn here, without scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from srm.infer.posterior.record import Summary
from srm.machine.language.parse import load
from srm.machine.model import Machine
from srm.report.html.markup import Markup, tag
from srm.report.html.numbers import counted, whole
from srm.report.html.page import Section, page
from srm.report.html.parts import figures
from srm.report.run.parts import REPORT, command_line, configuration, drawing, envs_line
from srm.report.run.posterior import BY_EVIDENCE, posterior_sections, warning
from srm.report.run.read import shown_config
from srm.report.run.summary import read_summary, refuse_other_machine
from srm.runs.folder import LEARNT, MACHINE, POSTERIOR, write_bytes


def write_posterior_report(folder: Path) -> Path:
    """Writes the page of an inference into its folder, and returns where."""
    path = folder / REPORT
    config, learnt = shown_config(folder), load(folder / LEARNT)
    summary = read_summary(folder / POSTERIOR)
    refuse_other_machine(folder, summary, learnt)
    write_bytes(path, posterior_page(folder, config, load(folder / MACHINE), learnt, summary).encode())
    return path


def posterior_page(folder: Path, config: Mapping[str, Any], machine: Machine, learnt: Machine, summary: Summary) -> str:
    kept = learnt.constraint() if summary.constraint is not None else None
    sections = [
        *posterior_sections(summary, learnt, kept),
        Section(
            "machine",
            "Machine with the inferred values",
            drawing(learnt, kept),
            "What pays is the peak of the posterior: what explains the demonstrations best, with no larger numbers than that takes.",
        ),
        configuration(config.get("inference", {}), config.get("versions", {}), learnt),
    ]
    return page(f"{machine.name}: what its holes are worth", _header(folder, config, summary), sections, (), {})


def _header(folder: Path, config: Mapping[str, Any], summary: Summary) -> Markup:
    values = {
        "holes": whole(len(summary.holes)),
        "set by evidence": whole(sum(hole.set_by in BY_EVIDENCE for hole in summary.holes)),
        "demonstrations": whole(summary.demonstrations),
        "demonstrated steps": whole(summary.demonstrated_steps),
        "steps of play": whole(summary.played_steps),
        "sweeps": whole(summary.convergence.sweeps),
    }
    return tag(
        "header",
        tag("p", "Symbolic reward machines · inference", class_="kind"),
        tag("h1", summary.machine, " ", tag("span", folder.resolve().name, class_="run")),
        warning(summary),
        tag("p", _sentence(config, summary), class_="outcome"),
        envs_line(config),
        figures(values),
        command_line(config),
    )


def _sentence(config: Mapping[str, Any], summary: Summary) -> str:
    holes = counted(len(summary.holes), "hole")
    demos = counted(summary.demonstrations, "demonstration")
    kept = f"constraint {summary.constraint}" if summary.constraint else "no constraint"
    added = f", with {counted(len(summary.added), 'atom')} added against farming" if summary.added else ""
    return (
        f"What {demos} and {counted(summary.played_steps, 'step')} of play in {config.get('env_id')} say of the {holes} "
        f"of machine {summary.machine}, under {kept}{added}."
    )
