"""What the functions of the front door are given, as values: each of them takes names too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from srm.domains.base import Task
from srm.domains.tasks import ENVIRONMENTS, FAMILIES, find_task, short_name
from srm.errors import DemonstrationError, SettingError
from srm.machine.language.parse import find_machine
from srm.machine.model import Machine
from srm.machine.vocabulary import Vocabulary

if TYPE_CHECKING:
    from srm.results import RunResult
    from srm.trajectory import Demonstrations

Named = str | Path


def task_named(task: Task | str) -> Task:
    return task if isinstance(task, Task) else find_task(task)


def config_name(task: Task, given: Task | str) -> str:
    """By which a folder names its task: one of your own, handed over as a `Task`, cannot be found by that again."""
    if isinstance(given, str):
        return given
    family = FAMILIES.get(task.name)
    if family is None or task.env_id == family.env_id or task.env_id not in ENVIRONMENTS[task.name]:
        return task.name
    return short_name(task.env_id)


def with_words(machine: Machine | Named, vocabulary: Vocabulary | Task | None) -> tuple[Machine, Vocabulary | None]:
    """A machine, checked against its vocabulary where that is known."""
    given = getattr(vocabulary, "vocabulary", vocabulary)  # of a task, or of words written as functions
    if not isinstance(given, Vocabulary | None):
        raise SettingError(f"vocabulary: {given!r}, expected a Vocabulary, or a Task that has one")
    if isinstance(machine, Machine):
        return machine, given or machine.own_vocabulary
    read = find_machine(machine)
    known = given or read.own_vocabulary
    return (read if known is None else find_machine(machine, {known.name: known})), known


def machine_named(task: Task, machine: Machine | Named | None) -> tuple[Machine, str | None]:
    """The machine for a task, and its name for the config: None if it is the task's first."""
    known = {task.vocabulary.name: task.vocabulary}
    if isinstance(machine, Machine):
        return machine, machine.name
    if machine is not None:
        return find_machine(machine, known), str(machine)
    return find_machine(task.first_machine, known), None


def reward_name(machine: Machine, words: Sequence[str]) -> str:
    """As the config's reward, which has words of its own for what is no machine."""
    return f"{machine.name}.srm" if machine.name in words else machine.name


def demonstrations_named(task: Task, given: Demonstrations | Named | None, count: int | None) -> Demonstrations:
    from srm.domains import demonstrations as demos
    from srm.trajectory import Demonstrations

    if not isinstance(given, Demonstrations):
        return first_of(demos.load(demos.shipped(task) if given is None else demos.find_file(Path(given)), task), count)
    if not demos.shows(given, task):
        raise DemonstrationError(f"the demonstrations show the task {given.task}, not {task.name}")
    return first_of(given, count)


def first_of(demos: Demonstrations, count: int | None) -> Demonstrations:
    if count is None:
        return demos
    if not 1 <= count <= len(demos):
        raise DemonstrationError(f"there are {len(demos)} demonstrations, so count must lie in 1..{len(demos)}")
    return replace(demos, seeds=demos.seeds[:count], trajectories=demos.trajectories[:count])


def folder_of(run: RunResult | Named) -> str:
    from srm.results import RunResult

    if not isinstance(run, str | Path | RunResult):
        raise SettingError(f"a run is a RunResult or its folder, not a {type(run).__name__}; give several one by one")
    return str(run if isinstance(run, str | Path) else run.folder)


def free_folder(out: Named | None, parts: Sequence[str], seed: int) -> Path:
    """The one that is asked for, or runs/TASK-...-SEED with a number if that is taken."""
    if out is not None:
        return Path(out)
    folder = Path("runs") / "-".join([*(Path(part).stem.replace(":", ".") for part in parts), f"seed{seed}"])
    others: Iterator[Path] = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return next(path for path in chain([folder], others) if not path.exists())
