"""Verbs about tasks: their words, the table, and demonstrations."""

from __future__ import annotations

import sys
import textwrap
import time
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from srm.cli.machine import find_words
from srm.domains.base import Task
from srm.domains.registry import DEFAULT, domain_of, domains
from srm.domains.tasks import ENVIRONMENTS, FAMILIES, find_task, import_own, short_name
from srm.errors import DemonstrationError, SettingError, TaskError
from srm.files import refuse_written_over
from srm.installed import Addition, additions
from srm.machine.language.parse import find_machine
from srm.machine.vocabulary import Balance, Signal, Vocabulary
from srm.settings import SHARE_BELOW_ONE, ZERO_OR_MORE

if TYPE_CHECKING:
    from srm.machine.model import Machine
    from srm.trajectory import Demonstrations

TaskName = Annotated[str, arg(metavar="TASK")]
File = Annotated[Path, arg(metavar="FILE")]
Dataset = Annotated[str, arg(metavar="DATASET")]
DatasetOrFile = Annotated[str, arg(metavar="FILE|DATASET")]
Output = Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")]


@dataclass(frozen=True)
class WordsOf:
    vocabulary: Annotated[Positional[str], arg(metavar="VOCABULARY")] = DEFAULT
    """a vocabulary, or a task that has it (your own as PACKAGE.MODULE:NAME), or a machine in words of its own"""

    def run(self) -> int:
        print(tell_words(find_words(self.vocabulary)))
        return 0


def tell_words(vocabulary: Vocabulary) -> str:
    lines = [f"{vocabulary.name}: events"]
    for event in vocabulary.events:
        has = ", ".join(event.attributes) or "-"
        lines.append(
            f"  {event.name:<15} {has:<14} {event.meaning}{'' if event.act or not vocabulary.acts else ' (no act)'}"
        )
    if vocabulary.attributes:
        lines.append("attributes")
    for attribute in vocabulary.attributes:
        values = "cells (x, y)" if attribute.values is None else ", ".join(attribute.values)
        lines.append(f"  {attribute.name:<15} {attribute.meaning}: {values}")
    if vocabulary.signals:
        lines.append("signals")
        lines += [f"  {signal.name:<15} {signal.meaning}{_tell_range(signal)}" for signal in vocabulary.signals]
    known = ["at most one act happens at a step"] if len(vocabulary.acts) > 1 else []
    known += [f"at most one of {', '.join(group)} happens at a step" for group in vocabulary.exclusive]
    known += [_tell_balance(balance) for balance in vocabulary.balances]
    return "\n".join([*lines, *(["known of every episode"] if known else []), *(f"  {fact}" for fact in known)])


def _tell_range(signal: Signal) -> str:
    if signal.low is None and signal.high is None:
        return ""
    low, high = ("" if bound is None else f"{bound:g}" for bound in (signal.low, signal.high))
    return f": {low} .. {high}" if low and high else f": {low} or more" if low else f": {high} or less"


def _tell_balance(balance: Balance) -> str:
    difference = " + ".join(balance.plus) + "".join(f" - {name}" for name in balance.minus)
    bounds = f"{balance.least} or more, but finite" if balance.most is None else f"{balance.least} to {balance.most}"
    return f"{difference}: {bounds}"


@dataclass(frozen=True)
class Tasks:
    def run(self) -> int:
        print("\n\n".join([*map(tell_task, FAMILIES.values()), *map(_tell_addition, additions().values())]))
        return 0


def _tell_addition(addition: Addition) -> str:
    """Nothing is imported for a list: what it is shows when it is named."""
    return f"{addition.name}: of the package {addition.package} ({addition.entry.value})"


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
    """a task, or one of its environments: doorkey, DoorKey-16x16, ...; your own as PACKAGE.MODULE:NAME"""
    number: Annotated[int, arg(aliases=["-n"])] = 10
    """how many demonstrations"""
    seed: int = 0
    """decides the environments they are shown in"""
    output: Output = None
    """where to write them; by default the task's name with .npz"""
    from_run: Annotated[Path | None, arg(metavar="RUN")] = None
    """let the policy of this run show how it is done, instead of the expert; episodes it fails are left out"""
    expert: Annotated[str | None, arg(metavar="MODULE:NAME")] = None
    """who shows how it is done, in place of the task's expert: a function plan(env), act(observation) or act(env, observation), or a class that is made
    anew for every episode; naming it runs its code"""
    habit: Annotated[str | None, arg(metavar="HABIT")] = None
    """give the task's own expert a habit. MiniGrid's closes every door behind itself (closes_doors), drops a key it has just taken and takes it again
    (redrops_key), or takes the used key once more (retakes_used_key); LunarLander's flies in a style, gentle or frugal, Hopper's hops
    in one, frugal or fast, and highway-env's drives in one, cautious or brisk"""
    noise: float = 0.0
    """share of the expert's actions that are random. MiniGrid's expert plans again after each; any other must be act(observation), and episodes that
    fail are left out"""

    def __post_init__(self) -> None:
        SHARE_BELOW_ONE.refuse_outside(self, "--", "noise")
        if self.from_run is not None and (self.habit is not None or self.noise > 0 or self.expert is not None):
            raise SettingError(
                "--expert, --habit and --noise are of the expert, --from-run shows a policy; leave one of them out"
            )
        if self.expert is not None and self.habit is not None:
            raise SettingError("--habit is of the task's own expert, --expert shows another; leave one of them out")

    def run(self) -> int:
        from srm.domains.envs import stepper_of
        from srm.domains.record import record
        from srm.evaluate.success import solved
        from srm.runs.origin import envs_line

        task = find_task(self.task)
        path = _free_path(self.output or Path(f"{task.name}.npz"))
        if self.from_run is not None:
            from srm.runs.policy import record_policy

            recorded = record_policy(self.task, self.from_run, self.number, self.seed)
        elif self.expert is None and (self.habit is not None or (self.noise > 0 and _has_planner(task))):
            recorded = _record_with(task, self.number, self.seed, self.habit, self.noise)
        else:
            with_expert = task
            if self.expert is not None:
                with_expert = replace(task, expert=import_own(self.expert, "expert", "an expert"))
            judge = partial(solved, task, machine=_own_machine(task))
            recorded = record(with_expert, self.number, self.seed, judge, noise=self.noise, report=print)
        with closing(task.environment(task.env_id)) as env:
            print(envs_line(task.env_id, stepper_of(env)))
        _write(recorded, path)
        return 0


def _has_planner(task: Task) -> bool:
    domain = domain_of(task.vocabulary)
    return domain is not None and domain.record_with is not None


def _own_machine(task: Task) -> Machine | None:
    """The first that the task names: it may say what success is."""
    if task.success is not None or not task.machines:
        return None
    return find_machine(task.machines[0], {task.vocabulary.name: task.vocabulary})


def _record_with(task: Task, count: int, seed: int, habit: str | None, noise: float) -> Demonstrations:
    domain = domain_of(task.vocabulary)
    if domain is None or domain.record_with is None:
        titles = ", ".join(domain.title for domain in domains() if domain.record_with is not None)
        raise TaskError(f"{task.name}: habits are of the experts of {titles}; record it without them")
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
    """the task they are of, when it is one of your own: PACKAGE.MODULE:NAME"""
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
    from srm.evaluate.success import solved

    trajectory = demonstrations.trajectories[episode]
    events = captions(task.event_reader(), trajectory)
    lines = [
        f"{step + 1:>4}  {action_name(task.vocabulary, action):<8} {'; '.join(events[step])}".rstrip()
        for step, action in enumerate(trajectory.actions)
    ]
    outcome = "solved" if solved(task, trajectory, _own_machine(task)) else "not solved"
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
    dataset: Positional[DatasetOrFile]
    """a .json or .csv file of seeds and actions, or a dataset of the local Minari store, such as minigrid/BabyAI-Pickup/optimal-v0"""
    task: TaskName
    """the task it shows; your own as PACKAGE.MODULE:NAME"""
    output: Output = None
    """where to write the demonstrations; by default the task's name with .npz"""

    def run(self) -> int:
        from srm.domains.minari import import_minari
        from srm.domains.scripts import SUFFIXES, import_script

        task = find_task(self.task)
        path = _free_path(self.output or Path(f"{task.name}.npz"))
        if self.dataset.endswith(SUFFIXES):
            _write(import_script(Path(self.dataset), task), path)
        else:
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
    refuse_written_over(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write(demonstrations: Demonstrations, path: Path) -> None:
    from srm.domains.demonstrations import save

    save(demonstrations, path)
    print(f"{path}: {demonstrations}")
