"""Verbs about tasks: their words, the table, and demonstrations."""

from __future__ import annotations

import sys
import textwrap
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from srm.domains.base import Task
from srm.domains.info import is_machine_file
from srm.domains.registry import DEFAULT, MODULES, domain_named, domain_of, domains
from srm.domains.tasks import ENVIRONMENTS, FAMILIES, find_task, short_name
from srm.errors import DemonstrationError, SettingError, TaskError, near
from srm.machine.vocabulary import Balance, Vocabulary
from srm.settings import SHARE_BELOW_ONE, ZERO_OR_MORE

if TYPE_CHECKING:
    from srm.trajectory import Demonstrations

TaskName = Annotated[str, arg(metavar="TASK")]
File = Annotated[Path, arg(metavar="FILE")]
Dataset = Annotated[str, arg(metavar="DATASET")]
Output = Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")]


@dataclass(frozen=True)
class WordsOf:
    vocabulary: Annotated[Positional[str], arg(metavar="VOCABULARY")] = DEFAULT
    """a vocabulary, a task of your own (PACKAGE.MODULE:NAME), or a machine in words of its own"""

    def run(self) -> int:
        print(tell_words(self._words()))
        return 0

    def _words(self) -> Vocabulary:
        domain = domain_named(self.vocabulary)
        if domain is not None:
            return domain.vocabulary
        if ":" in self.vocabulary or self.vocabulary in FAMILIES or is_machine_file(self.vocabulary):
            return find_task(self.vocabulary).vocabulary
        hint = near(self.vocabulary, MODULES) or f"; {DEFAULT} is one"
        raise TaskError(f"there is no vocabulary {self.vocabulary}{hint}")


def tell_words(vocabulary: Vocabulary) -> str:
    lines = [f"{vocabulary.name}: events"]
    for event in vocabulary.events:
        has = ", ".join(event.attributes) or "-"
        lines.append(f"  {event.name:<15} {has:<14} {event.meaning}{'' if event.act else ' (no act)'}")
    if vocabulary.attributes:
        lines.append("attributes")
    for attribute in vocabulary.attributes:
        values = "cells (x, y)" if attribute.values is None else ", ".join(attribute.values)
        lines.append(f"  {attribute.name:<15} {attribute.meaning}: {values}")
    if vocabulary.signals:
        lines.append("signals")
        lines += [f"  {signal.name:<15} {signal.meaning}" for signal in vocabulary.signals]
    lines += ["known of every episode", "  at most one act happens at a step"]
    lines += [f"  {_tell_balance(balance)}" for balance in vocabulary.balances]
    return "\n".join(lines)


def _tell_balance(balance: Balance) -> str:
    difference = " + ".join(balance.plus) + "".join(f" - {name}" for name in balance.minus)
    bounds = f"{balance.least} or more, but finite" if balance.most is None else f"{balance.least} to {balance.most}"
    return f"{difference}: {bounds}"


@dataclass(frozen=True)
class Tasks:
    def run(self) -> int:
        print("\n\n".join(tell_task(task) for task in FAMILIES.values()))
        return 0


def tell_task(task: Task) -> str:
    others = [short_name(env_id) for env_id in ENVIRONMENTS[task.name] if env_id != task.env_id]
    rows = {
        "environment": f"{short_name(task.env_id)}; also {', '.join(others)}" if others else short_name(task.env_id),
        "words": task.vocabulary.name,
        "machines": ", ".join(task.machines),
        "expert": "yes" if task.expert else "no",
        "frames": f"{task.frames:,}",
    }
    lines = [f"{task.name}: {task.meaning}"]
    for name, value in rows.items():
        lines += textwrap.wrap(
            value, 110, initial_indent=f"  {name:<13}", subsequent_indent=" " * 15, break_on_hyphens=False
        )
    return "\n".join(lines)


@dataclass(frozen=True)
class Demo:
    task: Positional[TaskName]
    """a task, or one of its environments: doorkey, DoorKey-16x16, ..."""
    number: Annotated[int, arg(aliases=["-n"])] = 10
    """how many demonstrations"""
    seed: int = 0
    """decides the environments they are shown in"""
    output: Output = None
    """where to write them; by default the task's name with .npz"""
    from_run: Annotated[Path | None, arg(metavar="RUN")] = None
    """let the policy of this run show how it is done, instead of the expert; episodes it fails are left out"""
    habit: Annotated[str | None, arg(metavar="HABIT")] = None
    """give MiniGrid's expert a habit: it closes every door behind itself (closes_doors), drops a key it has just taken and
    takes it again (redrops_key), or takes the used key once more (retakes_used_key)"""
    noise: float = 0.0
    """share of the actions of MiniGrid's expert that are random; it plans again after each"""

    def __post_init__(self) -> None:
        SHARE_BELOW_ONE.refuse_outside(self, "--", "noise")
        if self.from_run is not None and (self.habit is not None or self.noise > 0):
            raise SettingError(
                "--habit and --noise are of the expert, --from-run shows a policy; leave one of them out"
            )

    def run(self) -> int:
        from srm.domains.envs import stepper_of
        from srm.domains.record import record
        from srm.runs.origin import envs_line

        task = find_task(self.task)
        path = _free_path(self.output or Path(f"{task.name}.npz"))
        if self.from_run is not None:
            from srm.runs.policy import record_policy

            recorded = record_policy(self.task, self.from_run, self.number, self.seed)
        elif self.habit is not None or self.noise > 0:
            recorded = _record_with(task, self.number, self.seed, self.habit, self.noise)
        else:
            recorded = record(task, self.number, self.seed)
        with closing(task.environment(task.env_id)) as env:
            print(envs_line(task.env_id, stepper_of(env)))
        _write(recorded, path)
        return 0


def _record_with(task: Task, count: int, seed: int, habit: str | None, noise: float) -> Demonstrations:
    domain = domain_of(task.vocabulary)
    if domain is None or domain.record_with is None:
        planners = " and ".join(f"{domain.title}'s" for domain in domains() if domain.record_with is not None)
        raise TaskError(f"{task.name}: habits and noise are of {planners} planner; record it without them")
    return domain.record_with(task, count, seed, habit=habit, noise=noise)


@dataclass(frozen=True)
class DemoShow:
    file: Positional[File]
    """a file of demonstrations, or a task whose demonstrations are shipped"""
    episode: Annotated[int, arg(aliases=["-e"])] = 0
    """which one, counted from 0"""
    output: Output = None
    """write a .gif of every step, or a .png of the steps at which something happens"""
    task: TaskName | None = None
    """the task they are of, when it is one of your own"""
    pause: float = 0.15
    """seconds a step takes"""

    def __post_init__(self) -> None:
        ZERO_OR_MORE.refuse_outside(self, "--", "pause")

    def run(self) -> int:
        from srm.domains.demonstrations import find_file, load_with_task

        path = find_file(self.file)
        demonstrations, task = load_with_task(path, self.task)
        if not 0 <= self.episode < len(demonstrations):
            raise DemonstrationError(f"{path}: has episodes 0 to {len(demonstrations) - 1}, not {self.episode}")
        if self.output is not None:
            from srm.domains.pictures import refuse_suffix

            refuse_suffix(_free_path(self.output))
        _play(demonstrations, self.episode, task, self.pause)
        if self.output is not None:
            from srm.domains.pictures import draw_demonstration

            draw_demonstration(demonstrations, self.episode, task, self.output, self.pause)
            print(f"written to {self.output}")
        return 0


def _play(demonstrations: Demonstrations, episode: int, task: Task, pause: float) -> None:
    """Prints a line for each step; in a terminal, with the environment above it."""
    from rich.console import Console, Group
    from rich.live import Live

    from srm.domains.captions import action_name, captions

    trajectory = demonstrations.trajectories[episode]
    events = captions(task.event_reader(), trajectory)
    lines = [
        f"{step + 1:>4}  {action_name(task.vocabulary, action):<8} {'; '.join(events[step])}".rstrip()
        for step, action in enumerate(trajectory.actions)
    ]
    outcome = "solved" if task.solved(trajectory) else "not solved"
    seed = demonstrations.seeds[episode]
    title = f"{demonstrations.env_id}, episode {episode}" + (f", seed {seed}" if seed >= 0 else "")
    print(f"{title}: {outcome} in {trajectory.steps} steps, return {trajectory.total_reward:.3f}")
    domain = domain_of(task.vocabulary)
    if sys.stdout.isatty() and domain is not None and domain.map is not None and seed >= 0:
        from srm.domains.record import replay

        console = Console()
        with Live(console=console, auto_refresh=False, transient=True) as live:
            for moment, env in enumerate(replay(demonstrations, episode, task.environment)):
                line = lines[moment - 1] if moment else ""
                live.update(Group(domain.map(env), line), refresh=True)
                time.sleep(pause)
    print("\n".join(lines))


@dataclass(frozen=True)
class DemoImport:
    dataset: Positional[Dataset]
    """a dataset of the local Minari store, such as minigrid/BabyAI-Pickup/optimal-v0"""
    task: TaskName
    """the task it shows"""
    output: Output = None
    """where to write the demonstrations; by default the task's name with .npz"""

    def run(self) -> int:
        from srm.domains.minari import import_minari

        task = find_task(self.task)
        path = _free_path(self.output or Path(f"{task.name}.npz"))
        _write(import_minari(self.dataset, task), path)
        return 0


@dataclass(frozen=True)
class DemoExport:
    file: Positional[File]
    """a file of demonstrations, or a task whose demonstrations are shipped"""
    dataset: Positional[Dataset]
    """what Minari shall call it: NAMESPACE/NAME-v0"""

    def run(self) -> int:
        from srm.domains.demonstrations import find_file, load
        from srm.domains.minari import export_minari

        export_minari(load(find_file(self.file)), self.dataset)
        print(f"{self.dataset}: added to the local Minari store")
        return 0


def _free_path(path: Path) -> Path:
    """A place to write to, in a folder that is there: refused before anybody plays."""
    if path.exists():
        raise DemonstrationError(f"{path}: exists, and is not written over; choose another name with -o")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write(demonstrations: Demonstrations, path: Path) -> None:
    from srm.domains.demonstrations import save

    save(demonstrations, path)
    print(f"{path}: {demonstrations}")
