"""The verb about what a machine says of demonstrations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from srm.errors import AssignmentError, DemonstrationError
from srm.machine.language.parse import find_machine

if TYPE_CHECKING:
    from srm.domains.base import Task
    from srm.evaluate.trace import Trace
    from srm.machine.model import Machine
    from srm.trajectory import Demonstrations


@dataclass(frozen=True)
class ShowTrace:
    machine: Annotated[Positional[str], arg(metavar="MACHINE")]
    """an .srm file whose holes have values, or the name of a machine that ships with the package"""
    file: Annotated[Positional[Path], arg(metavar="DEMO_FILE")]
    """a file of demonstrations, or a task whose demonstrations are shipped"""
    demo: Annotated[int | None, arg(aliases=["-d"])] = None
    """which one to print step by step, counted from 0; the first unless given, and then the totals are of all"""
    values: Annotated[tuple[str, ...], arg(metavar="HOLE=NUMBER ...")] = ()
    """values of holes, in place of those written in the machine: --values goal=1 close=-0.2"""
    all_steps: bool = False
    """show idle steps too"""
    json: bool = False
    """print everything as JSON"""
    task: Annotated[str | None, arg(metavar="TASK")] = None
    """the task the demonstrations are of, when it is one of your own"""

    def run(self) -> int:
        from srm.evaluate.trace import trace

        demonstrations, task = self._demonstrations()
        machine = find_machine(self.machine, {task.vocabulary.name: task.vocabulary})
        values = self._values(machine)
        chosen = range(len(demonstrations)) if self.demo is None else (self.demo,)
        event_reader = task.event_reader()
        traces = {index: trace(machine, event_reader, demonstrations.trajectories[index], values) for index in chosen}
        if self.json:
            self._print_json(machine, values, traces)
        else:
            self._print_text(machine, values, traces, demonstrations)
        return 0

    def _demonstrations(self) -> tuple[Demonstrations, Task]:
        from srm.domains.demonstrations import find_file, load_with_task

        path = find_file(self.file)
        of_machine = self.task is None and find_machine(self.machine).info is not None
        demos, task = load_with_task(path, self.machine if of_machine else self.task)
        if self.demo is not None and not 0 <= self.demo < len(demos):
            raise DemonstrationError(f"{path}: has demonstrations 0 to {len(demos) - 1}, not {self.demo}")
        return demos, task

    def _values(self, machine: Machine) -> dict[str, float]:
        values = machine.concretize(dict(map(_value, self.values)))
        missing = [f"?{hole.name}" for hole in values.holes if hole.value is None]
        if missing:
            raise AssignmentError(
                f"machine {machine.name} has no value for {', '.join(missing)}, so it pays nothing definite; "
                "give them with --values HOLE=NUMBER, trace a machine whose holes have values, or infer them with `srm learn`"
            )
        return values.values()

    def _print_json(self, machine: Machine, values: dict[str, float], traces: dict[int, Trace]) -> None:
        from json import dumps

        from srm.evaluate.trace import as_json

        print(dumps(as_json(machine, values, traces), indent=2))

    def _print_text(
        self,
        machine: Machine,
        values: dict[str, float],
        traces: dict[int, Trace],
        demonstrations: Demonstrations,
    ) -> None:
        from rich.console import Console
        from rich.text import Text

        from srm.evaluate.explain import number
        from srm.evaluate.trace import total
        from srm.evaluate.trace_text import show_exercised, show_totals, show_trace

        console = Console(highlight=False)
        first, printed = next(iter(traces.items()))
        outcome = "terminated" if printed.terminated else "ran out of time"
        console.print(
            f"{machine.name} on demonstration {first} of {demonstrations.env_id}: {outcome} after {len(printed.steps)} "
            f"steps, task reward {number(printed.task_reward)}, paid by the machine {number(printed.pay)}\n",
            soft_wrap=True,
        )
        for atom in _broken(machine, values):
            console.print(Text(f"these values break {atom}\n", "yellow"), soft_wrap=True)
        show_trace(console, machine, printed, all_steps=self.all_steps)
        console.print(f"\nreturn over {_counted(len(traces))}, by hole and by rule\n")
        show_totals(console, total(machine, values, list(traces.values())))
        console.print("\nwhat each exercised\n")
        show_exercised(console, traces, machine)


def _broken(machine: Machine, values: dict[str, float]) -> list[str]:
    from srm.evaluate.batched import assignment_of, broken_atoms

    constraint = machine.constraint()
    if constraint is None:
        return []
    return broken_atoms(machine, constraint, assignment_of(machine, values, outside_constraint=True))


def _counted(demonstrations: int) -> str:
    return "this demonstration" if demonstrations == 1 else f"{demonstrations} demonstrations"


def _value(text: str) -> tuple[str, float]:
    name, _, value = text.removeprefix("?").partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        message = f"--values {text}: write HOLE=NUMBER, such as --values goal=1 close=-0.2"
        raise AssignmentError(message) from None
