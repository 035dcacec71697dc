"""What the pages of both kinds of runs have: the machine drawn, the command, and the configuration."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from srm.machine.drawing.draw import svg
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.report.html.markup import Markup, join, table, tag
from srm.report.html.page import Section
from srm.report.run.read import flattened

REPORT = "report.html"


def drawing(machine: Machine, constraint: Constraint | None) -> Markup:
    picture = Markup(svg(machine, constraint=constraint.name if constraint else None))
    return tag("div", picture, class_="scroll drawing", role="region", aria_label="The machine, drawn", tabindex="0")


def command_line(config: Mapping[str, Any]) -> Markup | None:
    """By which the run was begun, where that is known."""
    command = config.get("command")
    if not command:
        return None
    return tag(
        "p", tag("code", command if isinstance(command, str) else shlex.join(map(str, command))), class_="command"
    )


def envs_line(config: Mapping[str, Any]) -> Markup | None:
    """Who stepped the environments, where that is recorded."""
    return tag("p", f"Environments: {config['envs']}.", class_="command") if config.get("envs") else None


def configuration(
    settings: Mapping[str, Any], versions: Mapping[str, Any], machine: Machine, more: Markup | None = None
) -> Section:
    parts = [
        *(
            tag("details", tag("summary", title), _settings(values, title))
            for title, values in (("Settings", settings), ("Versions", versions))
        ),
        more,
        tag("details", tag("summary", "The machine as text"), tag("pre", str(machine))),
    ]
    return Section("configuration", "Configuration", join(parts))


def _settings(settings: Mapping[str, Any], label: str) -> Markup:
    rows = [[tag("th", tag("code", name), scope="row"), tag("td", value)] for name, value in flattened(settings)]
    return table(["name", "value"], rows, label=label, class_="settings")
