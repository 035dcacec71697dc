"""The command line: one verb per stage. A verb reads files, calls one library function and writes files.

Each verb is a frozen dataclass in a module of its family; its fields are its flags, and the line under a field is its help.
Only the module of the verb that was asked for is imported, so that checking and drawing start without the learners.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from types import NoneType
from typing import Any, NamedTuple, get_args

from srm.errors import SettingError, SrmError, near
from srm.extras import DISTRIBUTION, install, is_missing
from srm.settings import number_of, whole


class Verb(NamedTuple):
    module: str
    name: str
    meaning: str
    extras: Mapping[str, str] = {}  # by the flag that needs them; "it" is the verb itself

    @property
    def help(self) -> str:
        """The meaning, and how to install what is missing here."""
        absent = [(flag, extra) for flag, extra in self.extras.items() if is_missing(extra)]
        return "\n\n".join([self.meaning, *(f"{flag} needs {extra}: {install(extra)}" for flag, extra in absent)])


VERBS = {
    "check": Verb("srm.cli.machine", "Check", "prove what can be proved about a machine before any training"),
    "show": Verb("srm.cli.machine", "Show", "print a machine in the terminal"),
    "draw": Verb("srm.cli.machine", "Draw", "draw a machine as SVG, Mermaid and DOT"),
    "import": Verb("srm.cli.machine", "Import", "turn a machine of another tool into an .srm file"),
    "terms": Verb("srm.cli.terms", "Terms", "write a machine of weighted terms, from an environment's info"),
    "words": Verb("srm.cli.task", "WordsOf", "list what a vocabulary can say"),
    "tasks": Verb("srm.cli.task", "Tasks", "list the tasks"),
    "demo": Verb("srm.cli.task", "Demo", "record demonstrations of a task with its expert"),
    "demo show": Verb("srm.cli.task", "DemoShow", "play a demonstration in the terminal, or draw it as GIF or PNG"),
    "demo import": Verb(
        "srm.cli.task",
        "DemoImport",
        "turn a file of seeds and actions, or a Minari dataset, into demonstrations",
        {"a Minari dataset": "minari"},
    ),
    "demo export": Verb("srm.cli.task", "DemoExport", "turn demonstrations into a Minari dataset", {"it": "minari"}),
    "propose": Verb("srm.cli.propose", "Propose", "propose a machine from demonstrations, proved before it is printed"),
    "audit": Verb(
        "srm.cli.terms", "AuditReward", "print which terms of a reward dominate on given play, and what it pays for"
    ),
    "infer": Verb("srm.cli.infer", "Infer", "infer the holes of a machine from demonstrations, without training"),
    "learn": Verb(
        "srm.cli.learn",
        "Learn",
        "infer the holes of a machine from demonstrations while a policy is trained",
        {"--tensorboard": "tensorboard", "--wandb": "wandb", "--envs envpool": "envpool"},
    ),
    "train": Verb(
        "srm.cli.train",
        "Train",
        "learn a policy on a task's reward or on a machine's",
        {"--tensorboard": "tensorboard", "--wandb": "wandb", "--envs envpool": "envpool"},
    ),
    "eval": Verb("srm.cli.train", "Eval", "print how well a trained policy does", {"--envs envpool": "envpool"}),
    "suite": Verb(
        "srm.cli.suite",
        "RunSuite",
        "run a whole comparison: every curve with every seed, side by side",
        {"--on ray": "ray"},
    ),
    "report": Verb("srm.cli.report", "WriteReport", "write the page of a run, or one that compares runs"),
    "studio": Verb(
        "srm.cli.studio", "OpenStudio", "open a page where you play, compare, edit and watch", {"it": "studio"}
    ),
    "trace": Verb("srm.cli.trace", "ShowTrace", "print step by step what a machine pays for demonstrations, and why"),
}


def usage() -> str:
    verbs = "\n".join(f"  {verb:<12} {row.meaning}" for verb, row in VERBS.items())
    more = "`srm VERB --help` lists the flags of a verb, `srm --version` prints the version."
    return f"usage: srm VERB ...\n\nSymbolic reward machines.\n\n{verbs}\n\n{more}"


def main(argv: list[str] | None = None) -> int:
    """Runs one verb; returns the exit code. What a user can mend is printed in a few lines, with exit code 2."""
    atexit.register(
        gc.freeze
    )  # what is left goes with the process; looking for garbage in it takes a quarter of a second
    arguments = sys.argv[1:] if argv is None else argv
    verb = arguments[0] if arguments else "srm"
    try:
        try:
            return _answer(arguments)
        finally:
            sys.stdout.flush()  # what cannot be written is told here, not by Python at its end
    except SrmError as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:  # the reader of our output has gone, as in `srm check ... | head`
        _drop_output()
    except UnicodeEncodeError as error:
        letters = ascii(error.object[error.start : error.end][:20])
        print(
            f"{verb}: {error.encoding} cannot write {letters}; set PYTHONIOENCODING=utf-8, or give another name",
            file=sys.stderr,
        )
    except OSError as error:
        if error.filename is None and error.strerror is None:
            raise
        print(f"{error.filename or verb}: {error.strerror}; nothing that was saved before is lost", file=sys.stderr)
        if error.filename is None:
            _drop_output()
    except MemoryError:
        print(
            f"{verb}: this takes more memory than there is; ask for less, as with fewer --ppo.num-envs", file=sys.stderr
        )
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 2


def _answer(arguments: Sequence[str]) -> int:
    if any("\0" in word for word in arguments):
        raise SettingError("a flag or a name holds a NUL character, which no file can be called; leave it out")
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"srm {version(DISTRIBUTION)}, Python {platform.python_version()}")
        return 0
    verb, *rest = arguments
    if rest and f"{verb} {rest[0]}" in VERBS:
        verb, *rest = f"{verb} {rest[0]}", *rest[1:]
    if verb not in VERBS:
        print(f"srm: there is no verb {verb}{near(verb, VERBS)}\n\n{usage()}", file=sys.stderr)
        return 2
    return _run(verb, rest)


def _drop_output() -> None:
    """Nobody takes what is still to be printed; Python would complain of it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(verb: str, arguments: list[str]) -> int:
    return int(parse(verb, arguments).run())


def parse(verb: str, arguments: Sequence[str]) -> Any:
    """The verb with its flags. Asked for help it prints that and ends; what is wrong with a flag is printed in one line."""
    import tyro

    row = VERBS[verb]
    action: Any = getattr(_imported(row.module), row.name)
    output = io.StringIO()
    try:
        with redirect_stderr(output):
            return tyro.cli(action, args=arguments, prog=f"srm {verb}", description=row.help, registry=_plain_values())
    except SystemExit as ended:
        if not ended.code:
            raise
        raise SettingError(f"{_complaint(output.getvalue())} `srm {verb} --help` lists the flags") from None


def _imported(module: str) -> Any:
    """Without looking for garbage, then or later, among what is imported: that takes a third of a second, and there is none."""
    if module not in sys.modules:
        gc.disable()
        import_module(module)
        gc.freeze()
        gc.enable()
    return import_module(module)


def _plain_values() -> Any:
    """How values are written: a million may be 1e6, and a flag that may be left out takes `INT` in its help, not `{None}|INT`."""
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

    registry = ConstructorRegistry()

    @registry.primitive_rule
    def number(flag: PrimitiveTypeInfo) -> Any:
        if flag.type not in (int, float):
            return None
        kind = flag.type

        def read(words: list[str]) -> float:
            return whole(words[0]) if kind is int else number_of(words[0])

        return PrimitiveConstructorSpec(
            1, kind.__name__.upper(), read, lambda value: isinstance(value, kind), lambda value: [str(value)]
        )

    @registry.primitive_rule
    def optional(flag: PrimitiveTypeInfo) -> Any:
        kinds = get_args(flag.type)
        if len(kinds) != 2 or kinds[1] is not NoneType:
            return None
        spec: Any = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(kinds[0], flag.markers))
        return replace(
            spec,
            instance_from_str=lambda words: None if words == ["None"] else spec.instance_from_str(words),
            is_instance=lambda value: value is None or spec.is_instance(value),
            str_from_instance=lambda value: ["None"] if value is None else spec.str_from_instance(value),
        )

    return registry


def _complaint(output: str) -> str:
    """What tyro says below its title, up to the next rule, and the first flag of those that it thinks were meant."""
    lines = [line.strip(" │") for line in output.splitlines()]
    rules = [n for n, line in enumerate(lines) if line.startswith(("╭", "---", "───", "╰"))]
    body = " ".join(lines[rules[0] + 1 : rules[1]]).strip().rstrip(".")
    meant = re.search(r"meant:\s+(--[^\s,]+)", " ".join(lines))
    return " ".join(body.split()) + (f"; did you mean {meant[1]}?" if meant else ";")
