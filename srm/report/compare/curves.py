"""Runs put together to curves, one panel an environment.

Runs in CURVE/seed0, CURVE/seed1, ... are the seeds of CURVE. Elsewhere runs that were asked for the same but for their seed make a
curve, which is named after its task, its pay, its learner and its network.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from srm.report.compare.collect import MeasuredRun
from srm.report.run.read import flattened

OF_NO_CONSEQUENCE = ("seed", "cores", "checkpoint_seconds", "episodes")  # to what is learnt, but for the random numbers


@dataclass(frozen=True, eq=False)
class Curve:
    """The runs that differ by their seeds alone."""

    name: str
    env_id: str
    runs: tuple[MeasuredRun, ...]
    colour: int  # the same for the same name


@dataclass(frozen=True, eq=False)
class Panel:
    """What is compared in one environment."""

    env_id: str
    curves: tuple[Curve, ...]

    @property
    def runs(self) -> tuple[MeasuredRun, ...]:
        return tuple(run for curve in self.curves for run in curve.runs)


def panels(runs: Iterable[MeasuredRun]) -> tuple[Panel, ...]:
    """One an environment, in the order they are met; the curves of a suite in its order."""
    groups: dict[tuple[str, str], list[MeasuredRun]] = {}
    for run in runs:
        groups.setdefault((run.env_id, _what_is_shared(run)), []).append(run)
    members = sorted(groups.values(), key=lambda group: _place_in_suite(group[0]))
    colours: dict[str, int] = {}
    by_env: dict[str, list[Curve]] = {env_id: [] for env_id, _ in groups}
    for name, group in zip(_names(members), members, strict=True):
        colour = colours.setdefault(name, len(colours))
        ordered = sorted(group, key=lambda run: run.seed)
        by_env[group[0].env_id].append(Curve(name, group[0].env_id, tuple(ordered), colour))
    return tuple(Panel(env_id, tuple(curves)) for env_id, curves in by_env.items())


def _what_is_shared(run: MeasuredRun) -> str:
    if run.in_curve_folder:
        return str(run.place.parent)
    settings = {name: value for name, value in run.settings.items() if name not in OF_NO_CONSEQUENCE}
    return json.dumps([run.kind, settings], sort_keys=True)


def _place_in_suite(run: MeasuredRun) -> int:
    """Stays as it was met where no suite says."""
    curves = list(run.suite["curves"]) if run.suite else []
    return curves.index(run.place.parent.name) if run.place.parent.name in curves else len(curves)


def _names(groups: Sequence[Sequence[MeasuredRun]]) -> list[str]:
    """A name for each group that no other group of its environment has."""
    first = [group[0] for group in groups]
    names = [_name(run) for run in first]
    counts: Counter[tuple[str, str]] = Counter()
    unique = []
    for run, name in zip(first, names, strict=True):
        alike = [other for other, its in zip(first, names, strict=True) if (its, other.env_id) == (name, run.env_id)]
        longer = name if len(alike) == 1 else _distinct_name(run, name, alike)
        counts[run.env_id, longer] += 1
        again = counts[run.env_id, longer]
        unique.append(longer if again == 1 else f"{longer} ({again})")
    return unique


def _name(run: MeasuredRun) -> str:
    if run.in_curve_folder:
        return run.place.parent.name
    settings, learning = run.settings, run.settings.get("learning", {})
    if run.kind == "learn":
        paid = f"learnt {Path(settings['machine']).stem}" if settings.get("machine") else "learnt"
    else:
        paid = "task reward" if settings["reward"] == "task" else Path(settings["reward"]).stem
    return " · ".join([str(settings["task"]), paid, f"{learning.get('learner', '')} {learning.get('net', '')}".strip()])


def _distinct_name(run: MeasuredRun, name: str, alike: Sequence[MeasuredRun]) -> str:
    """By the folder around the curve's, or by the settings in which the runs differ."""
    if run.in_curve_folder:
        return f"{run.place.parent.parent.name}/{name}"
    settings = [dict(flattened(other.settings)) for other in alike]
    own = dict(flattened(run.settings))
    differ = [key for key in own if key not in OF_NO_CONSEQUENCE and len({each.get(key) for each in settings}) > 1]
    return " · ".join([name, *(f"{key.removeprefix('learning.')} {own[key]}" for key in differ[:3])])
