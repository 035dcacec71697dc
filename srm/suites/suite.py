"""A suite is a whole comparison: it answers one question, and each of its curves is a command of this program.

A command is written without `srm`, `--seed` and `-o`, which the suite adds for each seed. `--reward learnt:CURVE` is the machine
that another curve has learnt with the same seed, `--from-run learnt:CURVE` the policy it has trained. A suite of your own is a TOML file:

    title = "Does the hand-set machine help?"
    seeds = 3
    first_seed = 100

    [curves]
    task = "train doorkey --frames 600000"
    machine = "train doorkey --reward doorkey_handset --frames 600000"
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from srm.domains.tasks import find_task
from srm.errors import RunError, SrmError, near
from srm.files import read_whole
from srm.settings import whole

VERBS = ("train", "learn")
LEARNT = "learnt:"
OF_ANOTHER = ("--reward", "--from-run")  # what may be another curve's
MOST_BYTES = 1 << 20  # of a file, which is read in about a second
MOST_DOTS = 200  # of a line: tomllib takes minutes for a key of a hundred thousand parts
MOST_CURVES, MOST_SEEDS = 1000, 10_000
GIVEN = ("--seed", "-o", "--out", "--resume", "--task")  # by the suite


@dataclass(frozen=True)
class CurveCommand:
    """A line of a figure: one command, for any seed."""

    name: str
    words: tuple[str, ...]  # of the command

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_+-]*", self.name):
            raise RunError(f"curve {self.name!r}: a name is letters, digits, - _ and +, since a folder is called so")
        if not " ".join(self.words).isprintable():
            raise RunError(f"curve {self.name}: its command has signs that cannot be printed; write it in one line")
        if not self.words or self.verb not in VERBS:
            hint = near(self.words[0], VERBS) if self.words else ""
            raise RunError(f"{self}: a command begins with {' or '.join(VERBS)}{hint}")
        if len(self.words) < 2 or self.task.startswith("-"):
            raise RunError(f"{self}: name the task after {self.verb} (`srm tasks` lists them)")
        for word in self.words:
            if word in GIVEN or word.startswith("-o"):  # -oDIR is one word
                raise RunError(f"{self}: leave {word} out; the suite gives it to each run")
        try:
            whole(self.value("--frames", "0"))
        except ValueError as problem:
            raise RunError(f"{self}: --frames: {problem}") from None
        if len({*self.learnt.values()}) > 1:
            raise RunError(f"{self}: {' and '.join(OF_ANOTHER)} must name the same curve")
        try:
            find_task(self.task)
        except SrmError as problem:
            raise RunError(f"{self}: {problem}") from None

    def __str__(self) -> str:
        return f"curve {self.name} = {self.command!r}"

    @property
    def command(self) -> str:
        return shlex.join(self.words)

    @property
    def verb(self) -> str:
        return self.words[0]

    @property
    def task(self) -> str:
        return self.words[1]

    @property
    def frames(self) -> int:
        """To be played in one run."""
        return whole(self.value("--frames", "0")) or find_task(self.task).frames

    @property
    def learnt(self) -> dict[str, str]:
        """The flags whose value another curve has to learn first, and the name of that curve."""
        values = {flag: self.value(flag) for flag in OF_ANOTHER}
        return {flag: value.removeprefix(LEARNT) for flag, value in values.items() if value.startswith(LEARNT)}

    @property
    def needs(self) -> str | None:
        """The curve whose machine pays this one, or whose policy it begins with."""
        return next(iter(self.learnt.values()), None)

    def value(self, flag: str, default: str = "") -> str:
        """What follows a flag; its last use counts, as on the command line."""
        values = [after for word, after in zip(self.words, self.words[1:], strict=False) if word == flag]
        return values[-1] if values else default

    def with_value(self, flag: str, value: str) -> CurveCommand:
        if flag not in self.words:
            return replace(self, words=(*self.words, flag, value))
        last = len(self.words) - 1 - self.words[::-1].index(flag)
        return replace(self, words=(*self.words[: last + 1], value, *self.words[last + 2 :]))


def curve(name: str, command: str, own_tasks: Collection[str] = ()) -> CurveCommand:
    """A curve from the text of its command; `--flag=value` counts as two words. `own_tasks`: those of one's own that the user has named."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise RunError(f"curve {name} = {command!r}: {problem}") from None
    parts = tuple(part for word in words for part in (word.split("=", 1) if word[:2] == "--" else [word]))
    if len(parts) > 1 and ":" in parts[1] and parts[1] not in own_tasks:
        raise RunError(
            f"curve {name} = {command!r} asks for the task {parts[1]}, whose code would run; if you trust that code, "
            f"name it: --task {parts[1]}"
        )
    return CurveCommand(name, parts)


@dataclass(frozen=True)
class Suite:
    name: str
    title: str
    curves: Mapping[str, CurveCommand]
    seeds: int = 3
    scale: float = 1.0
    first_seed: int = 0  # the others follow it

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise RunError(f"suite {self.name}: seeds = {self.seeds}, and at least one is needed")
        if self.first_seed < 0:
            raise RunError(f"suite {self.name}: first_seed = {self.first_seed}, and it must be 0 or more")
        if self.seeds > MOST_SEEDS or self.first_seed >= 1 << 62 or len(self.curves) > MOST_CURVES:
            raise RunError(
                f"suite {self.name}: at most {MOST_CURVES:,} curves and {MOST_SEEDS:,} seeds, of 62 bits; ask for fewer"
            )
        if not self.title.isprintable():
            raise RunError(f"suite {self.name}: its title has signs that cannot be printed; write it in one line")
        if not self.curves:
            raise RunError(f'suite {self.name} has no curves; write NAME = "train TASK ..." under [curves]')
        for curve in self.curves.values():
            if curve.needs is None:
                continue
            if curve.needs not in self.curves:
                hint = near(curve.needs, self.curves) or f"; the suite has {', '.join(self.curves)}"
                raise RunError(f"{curve}: there is no curve {curve.needs}{hint}")
            if self.curves[curve.needs].verb != "learn":
                raise RunError(f"{curve}: curve {curve.needs} is no `learn`, so there is no machine that it has learnt")

    @property
    def frames(self) -> int:
        return self.seeds * sum(curve.frames for curve in self.curves.values())

    def scaled(self, scale: float) -> Suite:
        """With so many times the frames in every run."""
        if not 0 < scale < float("inf"):
            raise RunError(f"--scale {scale}: it multiplies the frames of every run, so it must be above 0")
        if scale == 1:
            return self
        shrunk = {
            name: curve.with_value("--frames", str(max(1, round(curve.frames * scale))))
            for name, curve in self.curves.items()
        }
        return replace(self, curves=shrunk, scale=scale)

    def only(self, names: tuple[str, ...]) -> Suite:
        """These curves, and those whose machines they need."""
        for name in names:
            if name not in self.curves:
                hint = near(name, self.curves) or f"; it has {', '.join(self.curves)}"
                raise RunError(f"--only {name}: suite {self.name} has no such curve{hint}")
        wanted = {*names, *(self.curves[name].needs for name in names)}
        return replace(self, curves={name: curve for name, curve in self.curves.items() if name in wanted})


def suite(
    name: str,
    title: str,
    commands: Mapping[str, str],
    seeds: int = 3,
    first_seed: int = 0,
    own_tasks: Collection[str] = (),
) -> Suite:
    """A suite from the texts of its commands."""
    curves = {key: curve(key, command, own_tasks) for key, command in commands.items()}
    return Suite(name, title, curves, seeds, first_seed=first_seed)


def read_suite(path: Path, own_tasks: Collection[str] = ()) -> Suite:
    try:
        text = read_whole(path, MOST_BYTES).decode()
        if max(line.count(".") for line in text.split("\n")) > MOST_DOTS:
            raise ValueError(f"a line has more than {MOST_DOTS} dots")
        content = tomllib.loads(text)
    except FileNotFoundError:
        raise RunError(f"{path} does not exist") from None
    except OSError as problem:
        raise RunError(f"{path} cannot be read: {problem.strerror}; give a TOML file") from None
    except (ValueError, RecursionError) as problem:
        raise RunError(f"{path} is not TOML: {problem}") from None
    try:
        return _checked(path.stem, content, own_tasks)
    except RunError as problem:
        raise RunError(f"{path}: {problem}") from None


def _checked(name: str, content: Mapping[str, Any], own_tasks: Collection[str]) -> Suite:
    kinds = {
        "title": (str, "a sentence in quotes"),
        "seeds": (int, "a number"),
        "first_seed": (int, "a number"),
        "curves": (dict, "a table"),
    }
    for word, value in content.items():
        if word not in kinds:
            raise RunError(
                f"{word} is not known here; a suite has title, seeds, first_seed and [curves]{near(word, kinds)}"
            )
        kind, expected = kinds[word]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise RunError(f"{word} = {value!r}: {expected} is needed")
    for title, command in content.get("curves", {}).items():
        if not isinstance(command, str):
            raise RunError(f'curve {title}: write a command in quotes, as in {title} = "train doorkey --frames 600000"')
    seeds = {word: content[word] for word in ("seeds", "first_seed") if word in content}
    return suite(name, content.get("title", name), content.get("curves", {}), own_tasks=own_tasks, **seeds)
