"""The task of a machine that brings its words along: numbers of `info` in one environment.

Such a file is all that a task needs, so it can stand wherever a task is named: `srm demo hopper.srm`, `srm learn hopper.srm`. It names
an environment that Gymnasium knows already and keys of its `info`. Nothing of that is code, so reading it imports nothing.
"""

from __future__ import annotations

from pathlib import Path

from srm.domains.base import Task
from srm.domains.words import WrittenVocabulary
from srm.errors import TaskError
from srm.machine.language.parse import load
from srm.machine.model import Machine
from srm.trajectory import Trajectory

FRAMES = 1_000_000


def is_machine_file(name: str) -> bool:
    return name.endswith(".srm") and Path(name).exists()


def task_of_file(path: str | Path) -> Task:
    """Refuses a machine whose words are somebody else's."""
    machine = load(path)
    if machine.info is None:
        raise TaskError(
            f"{path}: a machine in the words {machine.words or 'of no vocabulary'}, which names no environment; "
            "name its task (`srm tasks` lists them), and the machine with --machine"
        )
    return task_of(machine, str(path))


def task_of(machine: Machine, path: str | None = None) -> Task:
    """The task of a machine in words of its own, which is its first machine if it is in a file."""
    assert machine.info is not None
    words = WrittenVocabulary(machine.info.vocabulary.name)
    for word in machine.info.words:
        signal = word.signal
        words.from_info(word.key, name=signal.name, low=signal.low, high=signal.high, missing=word.missing)
    return Task(
        name=machine.name,
        meaning=f"{machine.info.env_id} in numbers of its info",
        env_id=machine.info.env_id,
        vocabulary=words.vocabulary,
        event_reader=words.reader,
        machines=() if path is None else (path,),
        expert=None,
        frames=FRAMES,
        success=_played,
    )


def _played(trajectory: Trajectory) -> bool:
    """A sum of terms says how good an episode is, not whether it is done: whoever shows one shows how it is done."""
    return True
