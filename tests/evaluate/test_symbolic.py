"""Reading a rollout: what is kept, what is carried over, and what does not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.errors import MachineError, TrajectoryError
from srm.evaluate import batched, symbolic
from srm.evaluate.program import Program
from srm.evaluate.reference import Ambiguous
from srm.machine.language.parse import find_machine, parse
from tests.evaluate.scripts import Script, events_of
from tests.machines import WORDS

DOORS = ("open_door red (1, 1)", "hit_wall", "", "close_door red (1, 1)", "open_door red (1, 1)")


def read(
    program: Program, script: Script, carry: symbolic.Carry | None = None, over: int | None = None
) -> tuple[symbolic.Residual, symbolic.Carry]:
    ends = np.zeros((len(script), 1), np.bool_)
    if over is not None:
        ends[over] = True
    return symbolic.read(program, events_of(script), ends, np.ones_like(ends), carry)


def kept_steps(carry: symbolic.Carry) -> list[list[int]]:
    """The steps that matter of the episode under way, for each rollout it runs through."""
    return [some.entries.step[some.chosen].tolist() for some in carry.past]


def keycorridor() -> Program:
    return Program(find_machine("keycorridor"), MINIGRID_WORDS)


# What is kept


def test_only_steps_at_which_something_can_be_paid_are_kept() -> None:
    residual, _ = read(keycorridor(), DOORS)
    assert residual.entries.step.tolist() == [0, 3, 4]


def test_a_machine_without_open_guards_carries_its_node_and_nothing_of_the_past() -> None:
    program = Program(find_machine("keycorridor_rm"), MINIGRID_WORDS)
    assert not program.tables.dynamic
    _, carry = read(program, ("open_door red (1, 1)", "pick_up_key red (1, 2)"))
    assert (carry.node.tolist(), carry.past) == ([1], ())


def test_a_counter_of_open_firings_carries_the_entries_of_an_unfinished_episode() -> None:
    program = keycorridor()
    assert program.tables.dynamic == 2  # #rewarded and #rewarded_since
    _, carry = read(program, DOORS)
    assert kept_steps(carry) == [[0, 3, 4]]
    residual, carry = read(program, DOORS, carry, over=0)
    assert len(residual.past) == 1
    assert kept_steps(carry) == [[3, 4]]  # of the episode that began at step 1
    _, carry = read(program, DOORS, carry, over=4)
    assert carry.past == ()


# What does not fit


def test_words_that_the_vocabulary_lacks_are_named() -> None:
    with pytest.raises(MachineError, match="fly_away"):
        Program(parse("machine m\nstart one\n    fly_away // 1\n"), MINIGRID_WORDS)
    with pytest.raises(MachineError, match="speed"):
        Program(parse("machine m\nstart one\n    open_door and speed > 1 // 1\n"), MINIGRID_WORDS)
    with pytest.raises(MachineError, match="taste"):
        Program(parse("machine m\nstart one\n    open_door where taste = red // 1\n"), MINIGRID_WORDS)


def test_events_of_another_vocabulary_are_refused() -> None:
    over = np.zeros((1, 1), np.bool_)
    with pytest.raises(TrajectoryError, match="vocabulary minigrid"):
        symbolic.read(keycorridor(), events_of(["push red"], WORDS), over, ~over)


def test_events_that_a_vocabulary_cannot_have_read_are_refused() -> None:
    events, over = events_of(["open_door red (1, 1)"]), np.zeros((1, 1), np.bool_)
    unknown = replace(events, event=events.event + len(MINIGRID_WORDS.events))
    with pytest.raises(TrajectoryError, match=r"event \d+: the vocabulary minigrid has \d+"):
        symbolic.read(keycorridor(), unknown, over, ~over)
    with pytest.raises(TrajectoryError, match="an event happens at a step that is not valid"):
        symbolic.read(keycorridor(), events, over, over)


def test_a_reading_that_is_no_number_is_refused_with_its_place() -> None:
    signals = np.zeros((2, 1, 2))
    signals[1, 0, 1] = np.nan
    with pytest.raises(TrajectoryError, match="signal 1 reads nan at step 1 of env 0"):
        replace(events_of(["", ""], WORDS), signals=signals)


def test_ends_of_another_shape_are_refused() -> None:
    events, short = events_of(DOORS), np.zeros((4, 1), np.bool_)
    with pytest.raises(TrajectoryError, match=r"ends \(4, 1\) and valid steps \(4, 1\) for events of \(5, 1\)"):
        symbolic.read(keycorridor(), events, short, ~short)


def test_a_carry_of_other_worlds_is_refused() -> None:
    program = keycorridor()
    _, carry = read(program, DOORS)
    two = replace(carry, node=np.zeros(2, np.int32), counts=np.zeros((2, 4), np.int32))
    with pytest.raises(TrajectoryError, match="1 envs after a rollout of 2"):
        read(program, DOORS, two)


def test_two_rules_that_surely_hold_together_are_named_with_the_step() -> None:
    machine = parse("machine m\nstart one\n    first: open_door // 1\n    second: open_door or hit_wall // 2\n")
    with pytest.raises(Ambiguous, match="step 1 of env 0: rules first and second of node one both hold"):
        read(Program(machine, MINIGRID_WORDS), ("hit_wall", "open_door red (1, 1)"))


def test_two_rules_below_an_open_one_clash_only_where_it_does_not_hold() -> None:
    machine = parse("""
machine m
holes ?a
start one
    open_door and ?a > 0 // 5
    otherwise
    first: open_door // 1
    second: open_door // 2
""")
    residual, _ = read(Program(machine, MINIGRID_WORDS), ("open_door red (1, 1)",))
    assert batched.pay(residual, np.array([[1.0]])).pay.tolist() == [[5.0]]
    with pytest.raises(Ambiguous, match=r"rules first and second of node one both hold \(with \?a = -1\)"):
        batched.pay(residual, np.array([[1.0], [-1.0]]))
