"""Verbs about a machine as text: check it, show it, draw it, import it from elsewhere."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from srm.domains.registry import KnownVocabularies
from srm.errors import SettingError, SrmError, TaskError, near
from srm.files import refuse_written_over
from srm.machine.dense import dense_rules
from srm.machine.language.parse import find_machine
from srm.machine.vocabulary import Vocabulary
from srm.settings import ONE_OR_MORE

if TYPE_CHECKING:
    from srm.machine.checks.core.report import Report
    from srm.machine.model import Machine

Source = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="MACHINE")]


@dataclass(frozen=True)
class Check:
    """prove what can be proved about a machine before any training; exits with 1 if there are errors"""

    file: Source
    """an .srm file, or the name of a machine that ships with the package"""
    constraint: str | None = None
    """name of the constraint to assume, or none; the first of the machine unless given"""
    against: str | None = None
    """another machine: say whether both always pay the same, instead of all other questions"""
    forbid_farming: bool = False
    """print the atoms under which no loop can be repeated without end for gain, instead of the report"""
    forbid_outweighing: bool = False
    """print the atoms under which pay at every step never outweighs a milestone in an episode, instead of the report"""
    horizon: int | None = None
    """steps that an episode may last; those of the task's environment, where Gymnasium knows them, unless given"""
    words: Annotated[str | None, tyro.conf.arg(aliases=["--task"], metavar="VOCABULARY|TASK")] = None
    """the vocabulary: its name, a task of your own that has it (PACKAGE.MODULE:NAME, whose code runs), or none; the one that the file names unless given,
    if it ships or an installed package adds it"""
    json: bool = False
    """print the report as JSON"""
    strict: bool = False
    """exit with 1 for warnings too"""

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--", "horizon")

    def run(self) -> int:
        from srm.machine.checks.check import check, compare

        questions = [flag for flag in ("forbid_farming", "forbid_outweighing", "against") if getattr(self, flag)]
        if len(questions) > 1:
            flags = " and ".join(f"--{flag.replace('_', '-')}" for flag in questions[:2])
            raise SrmError(f"{flags} ask different questions; give one of them")
        vocabulary = self._words()
        named = None if self.words else KnownVocabularies()
        machine = find_machine(self.file, named)
        used = vocabulary if named is None else machine.own_vocabulary
        if self.forbid_farming:
            return self._forbid(machine, used)
        if self.forbid_outweighing:
            return self._forbid_outweighing(machine, used)
        if self.against is None:
            report = check(machine, used, self.constraint, self._horizon(machine))
        else:
            report = compare(machine, find_machine(self.against, named), used, self.constraint)
        self._print(report)
        return report.exit_code(strict=self.strict)

    def _words(self) -> Vocabulary | None:
        """The vocabulary that the flag names."""
        if self.words is None or self.words == "none":
            return None
        return find_words(self.words)

    def _forbid(self, machine: Machine, vocabulary: Vocabulary | None) -> int:
        from srm.machine.checks.check import forbid_farming, with_atoms

        constraint = None if self.constraint == "none" else machine.constraint(self.constraint)
        forbidden = forbid_farming(machine, vocabulary, constraint)
        if self.json:
            print(dumps({**asdict(forbidden), "atoms": [str(atom) for atom in forbidden.atoms]}, indent=2))
        else:
            print(f"constraint {with_atoms(constraint, ()).name}{'  # add to it:' if constraint else ''}")
            print(forbidden)
        return int(self.strict and bool(forbidden.unproved))

    def _forbid_outweighing(self, machine: Machine, vocabulary: Vocabulary | None) -> int:
        from srm.machine.checks.check import forbid_outweighing, subject_of, with_atoms

        steps, subject = self._horizon(machine), subject_of(machine, vocabulary, self.constraint)
        if steps is None:
            raise SettingError("how long an episode may last is not known; give --horizon N")
        outweighed = forbid_outweighing(subject, steps)
        if self.json:
            print(dumps({"atoms": list(map(str, outweighed.atoms)), "unproved": outweighed.unproved}, indent=2))
        else:
            print(
                f"constraint {with_atoms(subject.constraint, ()).name}{'  # add to it:' if subject.constraint else ''}"
            )
            print(outweighed)
        return int(self.strict and bool(outweighed.unproved))

    def _horizon(self, machine: Machine) -> int | None:
        """The flag's or, where it matters and an environment is known, that of Gymnasium."""
        env_id = machine.info.env_id if machine.info else None
        if self.horizon is not None or not any(dense_rules(machine)):
            return self.horizon
        if self.words is not None and ":" in self.words:
            from srm.domains.tasks import find_task

            env_id = find_task(self.words).env_id
        if env_id is None:
            return None
        from srm.domains.terms import longest_episode

        return longest_episode(env_id)

    def _print(self, report: Report) -> None:
        if self.json:
            print(dumps(report.as_json(), indent=2))
            return
        from rich.console import Console

        from srm.machine.checks.core.terminal import print_report

        print_report(report, Console())


def find_words(name: str) -> Vocabulary:
    """A vocabulary by its name, or by that of a task which has it."""
    known = KnownVocabularies()
    if name in known:
        return known[name]
    from srm.domains.info import is_machine_file
    from srm.domains.tasks import FAMILIES, OWN, find_task

    if ":" in name or name in FAMILIES or is_machine_file(name):
        return find_task(name).vocabulary
    raise TaskError(f"there is no vocabulary {name}{near(name, known) or f'; {OWN}'}")


@dataclass(frozen=True)
class Show:
    """print a machine in the terminal, coloured; plain, and readable as a file, when piped"""

    file: Source
    """an .srm file, or the name of a machine that ships with the package"""

    def run(self) -> int:
        from rich.console import Console

        from srm.machine.drawing.terminal import show

        show(find_machine(self.file), Console())
        return 0


@dataclass(frozen=True)
class Draw:
    """draw machines as SVG, Mermaid and DOT"""

    files: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="MACHINE ...")]
    """.srm files, or names of machines that ship with the package"""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """where to write: a file (its suffix names the format), a folder, or - for the terminal"""
    format: Literal["svg", "mermaid", "dot", "all"] | None = None
    """what to write; all of them unless given"""
    constraint: str | None = None
    """name of the constraint to show, or none; the first of the machine unless given"""

    def run(self) -> int:
        from srm.machine.drawing.draw import FORMATS, SUFFIXES

        if not self.files:
            raise SrmError("give the machines to draw: .srm files or names such as doorkey")
        kinds = self._kinds(SUFFIXES)
        if len(self.files) * len(kinds) > 1 and self.out is not None and (self._is_file or str(self.out) == "-"):
            raise SrmError(f"{self.out} can hold one drawing; give a folder, or one machine and one --format")
        drawn = []
        for name in self.files:
            machine = find_machine(name)
            for kind in kinds:
                text = FORMATS[kind](machine, constraint=self.constraint)
                drawn.append((self._path(Path(name).stem + SUFFIXES[kind]), text))
        for path, text in drawn:
            _write(path, text)
        return 0

    @property
    def _is_file(self) -> bool:
        return self.out is not None and bool(self.out.suffix) and not self.out.is_dir()

    def _kinds(self, suffixes: dict[str, str]) -> list[str]:
        kind_of_file = None
        if self.out is not None and self._is_file:
            kind_of_file = next((kind for kind, suffix in suffixes.items() if suffix == self.out.suffix.lower()), None)
            if kind_of_file is None and self.format is None:
                raise SrmError(
                    f"{self.out}: the suffix names no format; give --format or one of {', '.join(suffixes.values())}"
                )
            if kind_of_file is None and self.out.exists():
                raise SrmError(f"{self.out}: exists, and is no drawing by its name; choose another -o")
            if kind_of_file is not None and self.format not in (None, kind_of_file):
                raise SrmError(
                    f"{self.out} is a file of --format {kind_of_file}, and --format {self.format} was asked for"
                )
        wanted = self.format or kind_of_file or "all"
        return list(suffixes) if wanted == "all" else [wanted]

    def _path(self, name: str) -> Path:
        if self.out is None:
            return Path(name)
        return self.out if self._is_file or str(self.out) == "-" else self.out / name


@dataclass(frozen=True)
class Import:
    """turn a machine of the reward_machines package into an .srm file, without running it"""

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """a text file: initial state, terminal states, then one (from, to, 'formula', Reward(...)) a line"""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """the .srm file to write; the terminal (-) unless given"""
    rename: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="OLD=NEW")] = ()
    """give an event, node or signal of the file another name, as in k=pick_up_key"""
    holes: bool = False
    """turn the numbers that rules pay into holes, named after the event or the node they pay for"""

    def run(self) -> int:
        from srm.machine.importer.writer import import_reward_machine

        if self.out is not None:
            refuse_written_over(self.out)
        _write(self.out, str(import_reward_machine(self.file, self._names(), self.holes)))
        return 0

    def _names(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for pair in self.rename:
            old, equals, new = pair.partition("=")
            if not (old and equals and new):
                raise SettingError(f"--rename {pair}: write OLD=NEW, as in k=pick_up_key")
            if old in names:
                raise SettingError(f"--rename {pair}: {old} is renamed to {names[old]} already; leave one out")
            names[old] = new
        return names


def _write(path: Path | None, text: str) -> None:
    """Writes the file and says so, or prints the text if there is none (or -)."""
    if path is None or str(path) == "-":
        sys.stdout.write(text)
        return
    from srm.runs.folder import write_bytes

    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode())
    print(f"wrote {path}")
