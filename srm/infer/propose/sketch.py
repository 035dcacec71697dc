"""A machine as it will be written: rules, holes, counters and atoms as plain values, each rule with the reason it is there.

a milestone        pays, and leads on
what comes besides pays as often as it was seen, the number being a hole where it varies
what undoes        costs, unless something later needs it
the end            pays from everywhere: whoever solves the task has solved it, whatever was left out
what must match    stays paid only if it does: the rule of what it leads to pays it anew, in hindsight
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from srm.infer.propose.again import Again
from srm.infer.propose.attributes import Match
from srm.infer.propose.facts import taking_turns, undoers
from srm.infer.propose.stages import DONE, Future, Stage, Waypoint, find_waypoints, stages_of
from srm.infer.propose.structure import Beside, Structure, of_all
from srm.machine.vocabulary import Vocabulary

ROUNDS = 3  # of a stretch that may be done again, where nothing else bounds how often
SEARCH = 30  # how many of a kind a search may pay for and still be worth no more than what it is for
LARGEST = 5  # of what a milestone may be worth: inference reads pay as log-odds, and e^5 is 148 to 1


@dataclass(frozen=True)
class Options:
    """What a sketch may use. `again`: for each way, where a stretch that may be done again ends."""

    again: tuple[Again | None, ...]
    undo: bool = True  # what undoes a milestone costs
    besides: bool = True  # what comes besides pays; without it and a stretch that is done again, no loop is left
    matches: tuple[Match, ...] = ()  # of which only those stay paid that have the attribute of what they lead to

    def __str__(self) -> str:
        if self.matches:
            return "a machine that pays anew, in hindsight, what matches"
        less = (
            *(("no stretch is done again",) if not any(self.again) else ()),
            *(("undoing costs nothing",) if not self.undo else ()),
            *(("only milestones pay",) if not self.besides else ()),
        )
        return f"a machine in which {' and '.join(less)}" if less else "a machine with all that was read"


@dataclass(frozen=True)
class HolePlan:
    name: str
    low: float
    high: float
    whole: bool = False


@dataclass(frozen=True)
class CounterPlan:
    """Counts an event at a node, or everywhere since the last `resets`."""

    event: str
    at: str | None = None
    resets: str | None = None


@dataclass(frozen=True)
class RepayPlan:
    """Paid anew in hindsight: nothing for any of these events, and then the reward for the last whose attributes are those of the rule's event."""

    event: str
    undoing: tuple[str, ...]  # its cost is taken back too, else a mistake that was mended would cost
    attributes: tuple[str, ...]


@dataclass(frozen=True)
class RulePlan:
    event: str
    hole: HolePlan
    target: str | None
    reason: str
    counter: CounterPlan | None = None
    limit: int | HolePlan = 0  # of the counter
    repays: tuple[RepayPlan, ...] = ()
    again: bool = False  # fires several times, and leads on each time


@dataclass(frozen=True)
class NodePlan:
    name: str
    rules: tuple[RulePlan, ...]


@dataclass(frozen=True)
class AtomPlan:
    label: str
    text: str


@dataclass(frozen=True)
class Sketch:
    nodes: tuple[NodePlan, ...]
    atoms: tuple[AtomPlan, ...]
    end: str  # the hole of what ends the task

    @property
    def rules(self) -> tuple[RulePlan, ...]:
        return tuple(rule for node in self.nodes for rule in node.rules)


def draw_sketch(
    structure: Structure, vocabulary: Vocabulary, options: Options, thresholds: Mapping[str, str]
) -> Sketch:
    """`thresholds`: of events that are comparisons the holes these have, which are no pay."""
    futures = [stages_of(way, again) for way, again in zip(structure.ways, options.again, strict=True)]
    end = structure.end or structure.ways[0].skeleton[-1]
    total = sum(len(way.numbers) for way in structure.ways)
    waypoints = find_waypoints(futures)
    earlier = {event for way in structure.ways for event in way.events_before_end}
    final = HolePlan(f"last_{end}", 0, LARGEST) if end in earlier else reward(end)
    writer = _Writer(vocabulary, options, end, final, structure.end is not None, total, tuple(futures))
    nodes = tuple(NodePlan(waypoint.name, tuple(writer.rules(waypoint))) for waypoint in waypoints)
    nodes = _with_matches(nodes, options.matches, vocabulary)
    ends = [rule.hole.name for node in nodes for rule in node.rules if rule.target == DONE]
    last = (
        final.name if final.name in ends else ends[0]
    )  # where ways end differently, one may end on the way of the other
    return Sketch(nodes, tuple(dict.fromkeys(_atoms(waypoints, nodes, last, vocabulary, thresholds))), last)


def _with_matches(
    nodes: tuple[NodePlan, ...], matches: Sequence[Match], vocabulary: Vocabulary
) -> tuple[NodePlan, ...]:
    """What one rule pays once is paid anew by what it leads to: by the rule that may fire again, if its node has one, else by every later
    rule that leads on. Left as it is where what undoes it is a reward on the way, which must stay paid."""

    def repays(rule: RulePlan, node: NodePlan) -> Iterator[RepayPlan]:
        if not (rule.again or rule.target) or rule.hole.high <= 0:
            return
        behind = _nodes_up_to(node, nodes)
        costs = {r.event for n in behind for r in n.rules if r.hole.high <= 0}
        rewards = {r.event for n in behind for r in n.rules if r.hole.high > 0}
        for event in dict.fromkeys(event for match in matches for event in match.events):
            shared = [m.attribute for m in matches if event in m.events and rule.event in _after(event, m.events)]
            payers = [(n, r) for n in nodes for r in n.rules if r.event == event and r.hole.high > 0]
            if not shared or len(payers) != 1 or rule.event in undoers(event, vocabulary):
                continue  # what is put down was taken up: that always matches
            home, payer = payers[0]
            stretch = any(other.again for other in home.rules)
            if payer.again or payer.limit not in (0, 1) or (stretch and home != node) or (stretch != rule.again):
                continue
            undoing = tuple(name for name in undoers(event, vocabulary) if name in costs)
            is_paid = home in behind and not (home == node and payer.target)  # when the rule fires
            if is_paid and event not in costs and not rewards & {*undoing}:
                yield RepayPlan(event, undoing, tuple(dict.fromkeys(shared)))

    return tuple(
        replace(node, rules=tuple(replace(rule, repays=tuple(repays(rule, node))) for rule in node.rules))
        for node in nodes
    )


def _nodes_up_to(node: NodePlan, nodes: Sequence[NodePlan]) -> tuple[NodePlan, ...]:
    """It, and those from which rules lead to it."""
    names = {node.name}
    for _ in nodes:
        names |= {other.name for other in nodes for rule in other.rules if rule.target in names}
    return tuple(other for other in nodes if other.name in names)


def _after(event: str, events: tuple[str, ...]) -> tuple[str, ...]:
    return events[events.index(event) + 1 :]


def reward(event: str) -> HolePlan:
    return HolePlan(event, 0, LARGEST)


def cost(event: str) -> HolePlan:
    return HolePlan(f"undo_{event}", -LARGEST, 0)


@dataclass(frozen=True)
class _Writer:
    vocabulary: Vocabulary
    options: Options
    end: str
    final: HolePlan  # what the end pays; a hole of its own where the same event is a milestone on the way
    ends: bool  # whether demonstrations end with it
    total: int  # demonstrations that solve the task
    futures: tuple[Future, ...]  # of the ways

    def rules(self, waypoint: Waypoint) -> Iterator[RulePlan]:
        """What has precedence comes first."""
        events: set[str] = set()
        for rule in (
            *self._early_end(waypoint),
            *self._closers(waypoint),
            *self._again(waypoint),
            *self._besides(waypoint),
            *self._undoing(waypoint),
        ):
            if rule.event not in events:
                events.add(rule.event)
                yield rule

    def _waited_for(self, waypoint: Waypoint) -> list[Stage]:
        """The stage of each way that leads here, equal ones of several ways as often."""
        return [future[k] for future in self.futures for k in range(len(future)) if future[k:] in waypoint.place]

    def _early_end(self, waypoint: Waypoint) -> Iterator[RulePlan]:
        if self.end not in waypoint.targets and self.final == reward(self.end):
            yield RulePlan(self.end, self.final, DONE, "solved, whatever was left out")

    def _closers(self, waypoint: Waypoint) -> Iterator[RulePlan]:
        stories: Counter[str] = Counter()
        for stage in self._waited_for(waypoint):
            stories[stage.closer] += stage.stories
        for closer, count in stories.items():
            target = waypoint.targets[closer]
            following = "" if target == DONE else f", {target.replace('_', ' ', 1)}"
            last = closer == self.end and target == DONE
            reason = f"{'ends' if last and self.ends else 'in'} {of_all(count, self.total)}{following}"
            yield RulePlan(closer, self.final if last else reward(closer), target, reason)

    def _again(self, waypoint: Waypoint) -> Iterator[RulePlan]:
        for stage in waypoint.stages:
            if stage.repeated and stage.again:
                event = stage.repeated.event
                waited = self._waited_for(waypoint)
                count = sum(s.repeated.stories for s in waited if s.repeated and s.repeated.event == event)
                reason = f"in {of_all(count, self.total)}; {stage.again.reason}"
                counter = None if stage.again.finite else CounterPlan(event)
                limit = HolePlan(f"{event}_times", 1, ROUNDS, whole=True)
                yield RulePlan(event, reward(event), None, reason, counter, limit if counter else 0, again=True)

    def _besides(self, waypoint: Waypoint) -> Iterator[RulePlan]:
        for stage in waypoint.stages if self.options.besides else ():
            for beside in stage.besides:
                limit, often = _limit(beside)
                counter = CounterPlan(beside.event, waypoint.name)
                before = stage.closer
                if stage.repeated and stage.again:
                    before = stage.repeated.event
                    counter = CounterPlan(beside.event, resets=before if stage.again.finite else None)
                    limit = limit if stage.again.finite else beside.most * ROUNDS
                reason = f"in {of_all(beside.stories, self.total)}{often}, before {before}"
                counted = not (beside.most == 1 and self._is_taken_back(beside.event, waypoint))
                yield RulePlan(beside.event, reward(beside.event), None, reason, counter if counted else None, limit)

    def _is_taken_back(self, event: str, waypoint: Waypoint) -> bool:
        """Whether undoing it costs here, and the two take turns: then it may pay each time, as the two together pay nothing. What hindsight
        pays anew pays once: no proof follows the two through it."""
        if any(event in match.events for match in self.options.matches):
            return False
        undone = self._needless_undoers(event, waypoint) if self.options.undo else ()
        return any(taking_turns(event, undoer, self.vocabulary) for undoer in undone)

    def _undoing(self, waypoint: Waypoint) -> Iterator[RulePlan]:
        """What undoes the milestone that was reached last, or one of the stretch that may be done again."""
        if not self.options.undo:
            return
        here = [stage.repeated.event for stage in waypoint.stages if stage.repeated]
        here += [beside.event for stage in waypoint.stages for beside in stage.besides]
        here += [waypoint.before] if waypoint.before is not None else []
        for event in here:
            for undoer in self._needless_undoers(event, waypoint):
                yield RulePlan(undoer, cost(event), None, f"undoes {event}, and nothing later needs it")

    def _needless_undoers(self, event: str, waypoint: Waypoint) -> Iterator[str]:
        return (undoer for undoer in undoers(event, self.vocabulary) if undoer not in waypoint.ahead)


def _limit(beside: Beside) -> tuple[int | HolePlan, str]:
    """How often it pays, and how often it was seen."""
    least, most = max(1, beside.least), beside.most
    if least == most:
        return most, "" if most == 1 else f", {most} times"
    return HolePlan(f"{beside.event}_times", least, most, whole=True), f", {least} to {most} times"


def _atoms(
    waypoints: Sequence[Waypoint],
    nodes: Sequence[NodePlan],
    end: str,
    vocabulary: Vocabulary,
    thresholds: Mapping[str, str],
) -> Iterator[AtomPlan]:
    """What any reading of the demonstrations should keep: the end is worth most, and no stretch more than what it leads to."""
    rules = [rule for node in nodes for rule in node.rules]
    limits = {rule.limit.name for rule in rules if isinstance(rule.limit, HolePlan)}
    limits |= {thresholds[rule.event] for rule in rules if rule.event in thresholds}
    if len({rule.hole.name for rule in rules}) > 1:
        others = f" except {' '.join(f'?{name}' for name in sorted(limits))}" if limits else ""
        yield AtomPlan(f"{end} is worth most", f"every hole{others} <= ?{end}")
    places = list(zip(waypoints, nodes, strict=True))
    for waypoint, node in places:
        yield from _atoms_of_stretches(waypoint, node, end)
    for waypoint, node in places:
        yield from _atoms_of_undoing(waypoint, node, vocabulary)


def _atoms_of_stretches(waypoint: Waypoint, node: NodePlan, end: str) -> Iterator[AtomPlan]:
    rewards = {rule.event for rule in node.rules if rule.hole == reward(rule.event)}  # others end the task here
    stages = [stage for stage in waypoint.stages if stage.repeated and stage.repeated.event in rewards]
    leading: dict[str, dict[str, None]] = {}  # to what is done again, all that pays on the way, whichever way it is of
    for stage in stages:
        assert stage.repeated is not None
        besides = (beside.event for beside in stage.besides if beside.event in rewards)
        leading.setdefault(stage.repeated.event, {}).update((event, None) for event in besides)
    for again, events in leading.items():
        if events:
            together = " + ".join(f"?{event}" for event in events)
            yield AtomPlan(f"the way to {again} is worth no more than it", f"{together} <= ?{again}")
    for stage in stages:
        if stage.closer in rewards and stage.closer != end:
            assert stage.repeated is not None
            again = stage.repeated.event
            yield AtomPlan(f"{stage.closer} is worth more than another {again}", f"?{again} <= ?{stage.closer}")
            yield AtomPlan(f"and less than {end}", f"2 * ?{stage.closer} <= ?{end}")


def _atoms_of_undoing(waypoint: Waypoint, node: NodePlan, vocabulary: Vocabulary) -> Iterator[AtomPlan]:
    holes = {rule.event: rule.hole.name for rule in node.rules}
    following = {event: after for stage in waypoint.stages for event, after in _besides_in_order(stage)}
    each_time = [rule.event for rule in node.rules if rule.event in following and rule.counter is None]
    for rule in node.rules:
        for event in each_time if rule.hole.high <= 0 else ():
            balance = taking_turns(event, rule.event, vocabulary)
            if balance is None:
                continue
            yield AtomPlan(f"undoing {event} takes back what it paid", f"?{holes[event]} + ?{rule.hole.name} <= 0")
            if balance.most is None:
                after = holes[following[event]]
                yield AtomPlan(
                    f"{SEARCH} times {event} is worth no more than {after}", f"{SEARCH} * ?{holes[event]} <= ?{after}"
                )


def _besides_in_order(stage: Stage) -> Iterator[tuple[str, str]]:
    """What comes besides, each with what follows it."""
    events = [beside.event for beside in stage.besides]
    closer = stage.repeated.event if stage.repeated else stage.closer
    return zip(events, (*events, closer)[1:], strict=True)
