"""Machines: read them, prove what can be proved, and make one from the terms of a reward."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from srm.api.named import Named, with_words
from srm.domains.base import Task
from srm.domains.tasks import find_task
from srm.machine.dense import dense_rules
from srm.machine.model import Machine
from srm.machine.vocabulary import Vocabulary

if TYPE_CHECKING:
    from srm.machine.checks.core.report import Report


def load(machine: Named, vocabulary: Vocabulary | Task | None = None) -> Machine:
    """Reads a machine: an `.srm` file, or one of the library by its name. Nothing in the file is executed.

    Args:
        machine: The path of a file, or a name such as `"doorkey"`.
        vocabulary: The vocabulary it is written in, or a task that has one. A machine that names a vocabulary which ships, such as
            `words minigrid`, or which an installed package adds, is checked against that.
    """
    return with_words(machine, vocabulary)[0]


def check(
    machine: Machine | Named,
    vocabulary: Vocabulary | Task | None = None,
    *,
    constraint: str | None = None,
    against: Machine | Named | None = None,
    horizon: int | None = None,
) -> Report:
    """Proves what can be proved about a machine, for every assignment that its constraint allows. Nothing is trained.

    Args:
        machine: A machine, its file, or its name in the library.
        vocabulary: The vocabulary, or a task that has one; the one the machine names, where that ships or is installed, unless given.
        constraint: The name of the constraint to assume, or `"none"`; the first unless given.
        against: Another machine. The report then says whether both always pay the same, and nothing else.
        horizon: How many steps an episode may last, for the question what it can earn; that of the task's environment, where Gymnasium
            knows it, unless given.
    """
    from srm.machine.checks.check import compare as compare_machines

    checked, known = with_words(machine, vocabulary)
    if against is None:
        return checked.check(known, constraint, horizon or _horizon(checked, vocabulary))
    return compare_machines(checked, with_words(against, vocabulary)[0], known, constraint)


def _horizon(machine: Machine, given: Vocabulary | Task | None) -> int | None:
    """After how many steps Gymnasium ends an episode, where that matters and an environment is known."""
    env_id = given.env_id if isinstance(given, Task) else machine.info.env_id if machine.info else None
    if env_id is None or not any(dense_rules(machine)):
        return None
    from srm.domains.terms import longest_episode

    return longest_episode(env_id)


def from_terms(
    env: Task | str,
    terms: Sequence[str] = (),
    *,
    name: str | None = None,
    out: Named | None = None,
    frames: int = 10_240,
    seed: int = 0,
) -> Machine:
    """Makes a machine whose pay is a sum of terms, each times a hole, from what the terms read in random play.

    Args:
        env: An environment that Gymnasium knows, whose terms are numbers of `info`; or a task, whose terms are signals of its words.
        terms: Keys of `info`, or signals. Unless given, the keys whose names contain reward, cost, penalty or bonus (or all), and all
            signals.
        name: Of the machine; that of the environment or of the task unless given.
        out: A file to write, with what the terms read as comments; nothing is written unless given.
        frames: Steps of random play.
        seed: Of environments and actions.
    """
    from srm.domains.terms import commented
    from srm.domains.terms import from_terms as machine_from_terms

    if not isinstance(env, Task) and ":" in env:
        env = find_task(env)
    machine, play = machine_from_terms(env, tuple(terms), name=name, frames=frames, seed=seed)
    if out is not None:
        Path(out).write_text(commented(machine, play), encoding="utf-8")
    return machine
