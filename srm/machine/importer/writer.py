"""Machines of the `reward_machines` package (Toro Icarte et al.), read from their text files without running them.

    0                                           # initial state
    [2]                                         # terminal states
    (0, 1, 'e&!n', ConstantRewardFunction(0))   # from, to, formula over events (or of ands of literals), reward

That package evaluates each line as Python; here a grammar reads it, and whatever else it holds is a mistake.
What the package means is kept where the languages differ:

* the first line of a state whose formula holds counts: of lines that can hold together the later yields (`otherwise`);
* a state none of whose formulas holds is left for good, for no reward: a rule that leads to a node of its own;
* a reward that is not a constant becomes a signal, which a vocabulary must supply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from srm.errors import MachineError, SettingError, near
from srm.files import read_whole
from srm.machine.holes import Hole
from srm.machine.importer.formula import covers_all, guard_of, meet
from srm.machine.importer.reader import CONSTANT, Edge, RewardMachineFile, read_lines
from srm.machine.language.source import LARGEST_FILE, printable, source_of
from srm.machine.model import ZERO, Machine, Node, Rule
from srm.machine.terms import Always, HoleTerm, Number, SignalTerm, Term, number_text
from srm.machine.validate import LONGEST_NAME, RESERVED

FALLEN = "fell_off"
MOST_PAIRS = 1_000_000  # of cases that are compared; lines made to cost more count as if they could hold together


@dataclass(frozen=True)
class Imported:
    """A machine, and what a reader should know about how it was read."""

    machine: Machine
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(f"# {note}\n" for note in self.notes) + f"\n{self.machine}"


def import_reward_machine(path: str | Path, rename: Mapping[str, str] | None = None, holes: bool = False) -> Imported:
    path = Path(path)
    try:
        data = read_whole(path, LARGEST_FILE)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise MachineError(
            f"{printable(str(path))}: cannot be read ({reason}); give the path of a reward_machines text file"
        ) from None
    return read_reward_machine(data, str(path), rename, holes)


def read_reward_machine(
    data: bytes | str, file: str, rename: Mapping[str, str] | None = None, holes: bool = False
) -> Imported:
    """`rename` gives events, nodes and signals names of one's own; with `holes` the numbers of the file are to be inferred."""
    return _Translation(read_lines(source_of(data, file)), Path(file), dict(rename or {}), holes).imported()


@dataclass
class _Translation:
    """Turns what was read into a machine, and notes what was done on the way."""

    read: RewardMachineFile
    file: Path
    rename: Mapping[str, str]
    with_holes: bool
    notes: list[str] = field(default_factory=list)
    events: dict[str, str] = field(default_factory=dict)  # by what the file calls them
    signals: dict[str, str] = field(default_factory=dict)  # by what the file calls them
    nodes: dict[int, str] = field(default_factory=dict)
    holes: dict[str, dict[float, str]] = field(default_factory=dict)  # by what they pay for, and how much it was
    hole_names: set[str] = field(default_factory=set)
    pairs: int = 0

    def imported(self) -> Imported:
        initial, terminal = self.read.initial, self.read.terminal
        name = "".join(letter if letter.isprintable() else "?" for letter in self.file.name)
        self.notes.append(f"Imported from {name}, a machine of the reward_machines package.")
        kept = [edge for edge in self.read.edges if edge.source not in terminal]
        dropped = [str(edge.line) for edge in self.read.edges if edge.source in terminal]
        if dropped:
            self.notes.append(
                f"Left out, as that package does: edges that leave a terminal state (line {', '.join(dropped)})."
            )
        sources = list(dict.fromkeys([initial, *(edge.source for edge in kept)]))
        self._choose_names(kept, [*sources, *terminal])
        leaving: dict[int, list[Edge]] = {state: [] for state in sources}
        for edge in kept:
            leaving[edge.source].append(edge)
        nodes = [Node(self.nodes[state], self._rules(edges)) for state, edges in leaving.items()]
        nodes += [Node(self.nodes[state], accepting=True) for state in dict.fromkeys(terminal)]
        fallen = self.rename.get(FALLEN, FALLEN)
        if any(rule.target == fallen for node in nodes for rule in node.rules):
            self.notes.append(f"Where no formula holds, that package ends the episode without reward: {fallen}.")
            nodes.append(Node(fallen))
        holes = {hole: value for numbers in self.holes.values() for value, hole in numbers.items()}
        self.notes += [f"Hole ?{hole} was {number_text(value)}." for hole, value in holes.items()]
        machine = Machine(_machine_name(self.file.stem), tuple(nodes), self.nodes[initial], tuple(map(Hole, holes)))
        return Imported(machine, tuple(self.notes))

    # Names

    def _choose_names(self, edges: list[Edge], states: list[int]) -> None:
        self.nodes = {state: f"u{state}" if state >= 0 else f"u_minus_{-state}" for state in states}
        self.events = {event: event for edge in edges for event in edge.formula.events}
        used = set(self.events)
        for event in (event for event in self.events if event in RESERVED):
            self.events[event] = _fresh(event, used)
            if event not in self.rename:
                self.notes.append(f"Event {event} is a word of this language; here it is {self.events[event]}.")
        for call in dict.fromkeys(_call(edge) for edge in edges if edge.reward != CONSTANT):
            self.signals[call] = _fresh(_snake(call), used)
        self._refuse_renames()
        self.events = {event: self.rename.get(event, name) for event, name in self.events.items()}
        self.signals = {call: self.rename.get(name, name) for call, name in self.signals.items()}
        self.nodes = {state: self.rename.get(name, name) for state, name in self.nodes.items()}
        for call, name in self.signals.items():
            self.notes.append(f"Signal {name} stands for {call}; the vocabulary must supply it.")

    def _refuse_renames(self) -> None:
        words, nodes = [*self.events, *self.signals.values()], [*self.nodes.values(), FALLEN]
        for old, new in self.rename.items():
            if old not in (*words, *nodes):
                hint = near(old, [*words, *nodes]) or f"; it has {', '.join([*words, *nodes][:20])}"
                raise SettingError(f"--rename {old}={new}: {self.file.name} has no event, node or signal {old}{hint}")
            if not re.fullmatch(rf"[A-Za-z_][A-Za-z0-9_]{{0,{LONGEST_NAME - 1}}}", new) or new in RESERVED:
                why = "is a word of the language" if new in RESERVED else "is no name; use letters, digits and _"
                raise SettingError(f"--rename {old}={new}: {new} {why}")
            for kind in (words, nodes):
                others = [self.rename.get(name, name) for name in kind if name != old]
                if old in kind and new in others:
                    raise SettingError(f"--rename {old}={new}: another is called {new}; choose another name")

    # Rules

    def _rules(self, edges: list[Edge]) -> tuple[Rule, ...]:
        rules: list[Rule] = []
        tier: list[Edge] = []  # those of the tier under way
        for edge in edges:
            rival = next((other for other in tier if self._meet(other, edge)), None)
            if rival:
                self.notes.append(f"Lines {rival.line} and {edge.line} can hold together; the first is taken.")
            tier = [edge] if rival else [*tier, edge]
            number = (rules[-1].tier if rules else 0) + (rival is not None)
            guard = guard_of(edge.formula, self.events)
            target = None if edge.target == edge.source else self.nodes[edge.target]
            rules.append(Rule(guard, self._pay(edge), target, tier=number))
        if rules and not covers_all([edge.formula for edge in edges]):
            rules.append(Rule(Always(), ZERO, self.rename.get(FALLEN, FALLEN), tier=rules[-1].tier + 1))
        return tuple(rules)

    def _meet(self, one: Edge, other: Edge) -> bool:
        self.pairs += len(one.formula.cases) * len(other.formula.cases)
        return self.pairs > MOST_PAIRS or meet(one.formula, other.formula)

    def _pay(self, edge: Edge) -> Term:
        if edge.reward != CONSTANT:
            return SignalTerm(self.signals[_call(edge)])
        value = edge.arguments[0]
        stays = edge.target == edge.source
        if not self.with_holes or (stays and value == 0):  # nothing happens, and nothing is paid
            return Number(value)
        happening = {event for case in edge.formula.cases for event, happens in case.items() if happens}
        paid_for = self.events[happening.pop()] if len(happening) == 1 else self.nodes[edge.target]
        holes = self.holes.setdefault(paid_for, {})
        if value not in holes:
            holes[value] = _fresh(f"{paid_for}_{len(holes) + 1}" if holes else paid_for, self.hole_names)
        return HoleTerm(holes[value])


def _call(edge: Edge) -> str:
    return f"{edge.reward}({', '.join(map(number_text, edge.arguments))})"


def _machine_name(stem: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_]+", "_", stem)[: LONGEST_NAME - 3].strip("_")
    return _fresh(name if re.match(r"[A-Za-z_]", name) else f"rm_{name}", set())


def _snake(call: str) -> str:
    """`RewardForward(0.5)` -> `reward_forward_0_5`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", call).lower()
    return re.sub(r"[^a-z0-9_]+", "_", words.replace("-", "minus ")).strip("_")[: LONGEST_NAME - 3]


def _fresh(name: str, used: set[str]) -> str:
    """The name, with `_` after it as long as it is in `used` or a word of the language; it is in `used` then."""
    while name in used or name in RESERVED:
        name += "_"
    used.add(name)
    return name
