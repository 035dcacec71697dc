"""Machines of the `reward_machines` package (Toro Icarte et al.), read from their text files without running them.

    0                                           # initial state
    [2]                                         # terminal states
    (0, 1, 'e&!n', ConstantRewardFunction(0))   # from, to, formula over events (or of ands of literals), reward

That package evaluates each line as Python; here each is matched letter by letter, and whatever else it holds is a mistake.
What the package means is kept where the languages differ:

* the first line of a state whose formula holds is taken: of lines that can hold together the later yields (`otherwise`);
* a state none of whose formulas holds is left for good, for no reward: a rule that leads to a node of its own;
* a reward that is not a constant becomes a signal, which a vocabulary must supply.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from srm.errors import MachineError
from srm.machine.foreign_formula import Budget, covers_all, guard_of, meet
from srm.machine.foreign_lines import CONSTANT, Edge, Reader
from srm.machine.language.source import LARGEST_FILE, printable, source_of
from srm.machine.model import ZERO, Machine, Node, Rule
from srm.machine.terms import Always, Number, SignalTerm, Term, number_text
from srm.machine.validate import LONGEST_NAME, RESERVED

FALLEN = "fell_off"


@dataclass(frozen=True)
class Imported:
    """A machine, and what a reader should know about how it was read."""

    machine: Machine
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(f"# {note}\n" for note in self.notes) + f"\n{self.machine}"


def import_reward_machine(path: str | Path) -> Imported:
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise MachineError(
            f"{printable(str(path))}: cannot be read ({reason}); give the path of a reward_machines text file"
        ) from None
    return read_reward_machine(data, str(path))


def read_reward_machine(data: bytes | str, file: str) -> Imported:
    reader = Reader(source_of(data, file))
    reader.read()
    if reader.mistakes:
        raise MachineError(*reader.mistakes)
    return _Writer(reader, Path(file)).imported()


@dataclass
class _Writer:
    """Turns what was read into a machine, and notes what was done on the way."""

    reader: Reader
    file: Path
    budget: Budget = field(default_factory=Budget)
    notes: list[str] = field(default_factory=list)
    events: dict[str, str] = field(default_factory=dict)  # their name -> ours
    signals: dict[str, str] = field(default_factory=dict)  # what their file says -> our name

    def imported(self) -> Imported:
        initial, terminal = self.reader.initial, self.reader.terminal
        assert initial is not None
        assert terminal is not None
        name = "".join(letter if letter.isprintable() else "?" for letter in self.file.name)
        self.notes.append(f"Imported from {name}, a machine of the reward_machines package.")
        kept = [edge for edge in self.reader.edges if edge.source not in terminal]
        dropped = [str(edge.line) for edge in self.reader.edges if edge.source in terminal]
        if dropped:
            self.notes.append(
                f"Left out, as that package does: edges that leave a terminal state (line {', '.join(dropped)})."
            )
        self._name_words(kept)
        sources = list(dict.fromkeys([initial, *(edge.source for edge in kept)]))
        nodes = [Node(_node(s), self._rules([edge for edge in kept if edge.source == s])) for s in sources]
        nodes += [Node(_node(state), accepting=True) for state in dict.fromkeys(terminal)]
        if any(rule.target == FALLEN for node in nodes for rule in node.rules):
            self.notes.append(f"Where no formula holds, that package ends the episode without reward: {FALLEN}.")
            nodes.append(Node(FALLEN))
        return Imported(Machine(_machine_name(self.file.stem), tuple(nodes), _node(initial)), tuple(self.notes))

    def _name_words(self, edges: list[Edge]) -> None:
        for edge in edges:
            for event in edge.formula.events:
                self.events.setdefault(event, "")
        for event in self.events:
            self.events[event] = _fresh(event, {*self.events.values(), *self.events} - {event})
            if self.events[event] != event:
                self.notes.append(f"Event {event} is a word of this language; here it is {self.events[event]}.")
        for edge in edges:
            said = f"{edge.reward}({', '.join(map(number_text, edge.arguments))})"
            if edge.reward != CONSTANT and said not in self.signals:
                taken = {*self.events.values(), *self.signals.values()}
                self.signals[said] = _fresh(_snake(said), taken)
                self.notes.append(f"Signal {self.signals[said]} stands for {said}; the vocabulary must supply it.")

    def _rules(self, edges: list[Edge]) -> tuple[Rule, ...]:
        rules: list[Rule] = []
        tier: list[Edge] = []  # those of the tier under way
        for edge in edges:
            rival = next((other for other in tier if meet(other.formula, edge.formula, self.budget)), None)
            if rival:
                self.notes.append(f"Lines {rival.line} and {edge.line} can hold together; the first is taken.")
            tier = [edge] if rival else [*tier, edge]
            number = (rules[-1].tier if rules else 0) + (rival is not None)
            guard = guard_of(edge.formula, self.events)
            target = None if edge.target == edge.source else _node(edge.target)
            rules.append(Rule(guard, self._pay(edge), target, tier=number))
        if rules and not covers_all([edge.formula for edge in edges]):
            rules.append(Rule(Always(), ZERO, FALLEN, tier=rules[-1].tier + 1))
        return tuple(rules)

    def _pay(self, edge: Edge) -> Term:
        if edge.reward == CONSTANT:
            return Number(edge.arguments[0])
        return SignalTerm(self.signals[f"{edge.reward}({', '.join(map(number_text, edge.arguments))})"])


def _node(state: int) -> str:
    return f"u{state}" if state >= 0 else f"u_minus_{-state}"


def _machine_name(stem: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_]+", "_", stem)[: LONGEST_NAME - 3].strip("_")
    return _fresh(name if re.match(r"[A-Za-z_]", name) else f"rm_{name}", set())


def _snake(said: str) -> str:
    """`RewardForward(0.5)` -> `reward_forward_0_5`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", said).lower()
    return re.sub(r"[^a-z0-9_]+", "_", words.replace("-", "minus ")).strip("_")[: LONGEST_NAME - 3]


def _fresh(name: str, taken: set[str]) -> str:
    """The name, with `_` after it as long as it is taken or a word of the language."""
    while name in taken or name in RESERVED:
        name += "_"
    return name
