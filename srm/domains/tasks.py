"""The tasks of all domains, by name.

A task is named by its family (`doorkey`) or by one of its environments (`DoorKey-16x16`, or EnvPool's and Gymnasium's
`MiniGrid-DoorKey-16x16-v0`). Your own is a `Task` in a module that can be imported, named `package.module:task`, or an entry point of an
installed package (`srm.installed`), by its name alone.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from srm.domains.base import Task
from srm.domains.info import is_machine_file, task_of_file
from srm.domains.registry import domain_of_id, domains
from srm.errors import TaskError, near, one_line
from srm.installed import Addition, additions

FAMILIES = {task.name: task for domain in domains() for task in domain.tasks}
OWN = "one of your own is named PACKAGE.MODULE:NAME"
ENVIRONMENTS = {family: ids for domain in domains() for family, ids in domain.environments.items()}


def short_name(env_id: str) -> str:
    """`DoorKey-8x8` for `MiniGrid-DoorKey-8x8-v0`; the version stays where a newer one is the default."""
    domain = domain_of_id(env_id)
    prefix = "" if domain is None else domain.prefix
    short, _, version = env_id.removeprefix(prefix).rpartition("-")
    newest = f"{prefix}{short}-v1"
    superseded = version == "v0" and any(newest in ids for ids in ENVIRONMENTS.values())
    return f"{short}-{version}" if superseded else short


def find_task(name: str) -> Task:
    """The task that the user names, of the family or of one of its environments. One of the user's own is imported: its code runs."""
    if is_machine_file(name):
        return task_of_file(name)
    if ":" in name:
        return _own_task(name)
    if name in FAMILIES:
        return FAMILIES[name]
    for family, ids in ENVIRONMENTS.items():
        for env_id in ids:
            if name in (env_id, short_name(env_id)):
                return replace(FAMILIES[family], env_id=env_id)
    added = additions()
    if name in added:
        return _added_task(added[name])
    known = [*FAMILIES, *(short_name(env_id) for ids in ENVIRONMENTS.values() for env_id in ids), *added]
    raise TaskError(f"there is no task {name} (`srm tasks` lists them){near(name, known) or f'; {OWN}'}")


def task_in_file(name: str, where: Path, named: Task | str | None = None) -> Task:
    """The task that a file asks for. Whoever wrote the file chose the name, so code of one's own is imported only if the user named
    the same one in this very call; what ships needs no naming."""
    if isinstance(named, Task):
        return named
    if not name.isprintable():
        raise TaskError(
            f"{where} asks for the task {one_line(name)}, which is no name; mend it, or leave this folder out"
        )
    if named is None and name.endswith(".srm") and (where / "machine.srm").exists():
        return task_of_file(where / "machine.srm")  # what a run keeps, wherever it was moved to
    if ":" in name and named != name:
        raise TaskError(
            f"{where} asks for the task {name}, whose code would run; if you trust that code, name it: --task {name} "
            f"(in Python task={name!r})"
        )
    try:
        task = find_task(named or name)
    except TaskError as problem:
        # A `Task` that Python handed over has left only its name in the file.
        again = "if Python handed it over as a Task, do so again: srm.resume(RUN, task=TASK), srm.evaluate(RUN, TASK)"
        raise TaskError(f"{where}: {problem}" if ":" in name else f"{where}: {problem}; {again}") from None
    if named not in (None, name) and task.name != name:
        raise TaskError(f"{where} is of the task {name}, not of {named}; leave --task out")
    return task


def _added_task(addition: Addition) -> Task:
    task, source = addition.load(), f"task {addition.name}: {addition.entry.value} of the package {addition.package}"
    refuse_no_task(task, source)
    if task.name != addition.name:
        raise TaskError(f"{source} is the task {task.name}; its entry point must have that name")
    return task


def refuse_no_task(task: Any, source: str) -> None:
    """What is no task that can be played and read."""
    if not isinstance(task, Task):
        raise TaskError(f"{source}: is of type {type(task).__name__}, expected srm.Task")
    if getattr(task.event_reader(), "vocabulary", None) != task.vocabulary:
        raise TaskError(f"{source}: its event reader has not the task's `vocabulary`; give both the same Vocabulary")


def loaded_task(name: str) -> Task | None:
    """A task of one's own whose module this process has imported already, so that finding it runs no code."""
    module, _, attribute = name.partition(":")
    task = vars(sys.modules[module]).get(attribute) if module in sys.modules else None
    return task if isinstance(task, Task) else None


def _own_task(name: str) -> Task:
    task: Task = import_own(name, "task", "a Task")
    refuse_no_task(task, f"task {name}")
    return task


def import_own(name: str, kind: str, expected: str) -> Any:
    """What the user names as PACKAGE.MODULE:NAME: its code runs. `expected` is what it should be."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, os.getcwd())  # the user's own code, named by the user, found where the user stands
    expected = f"it is PACKAGE.MODULE:NAME of {expected} that can be imported"
    try:
        home = import_module(module)
    except Exception as error:  # whatever the user's module does when it is imported
        absent = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")
        if absent or not module:
            raise TaskError(f"{kind} {name}: {error}; {expected}") from error
        raise TaskError(f"{kind} {name}: importing {module} raises {type(error).__name__}: {error}; mend it") from error
    if not hasattr(home, attribute):
        raise TaskError(f"{kind} {name}: module {module} has no attribute '{attribute}'; {expected}")
    return getattr(home, attribute)
