"""What draws say of machines at the edge of what is allowed."""

from __future__ import annotations

from srm.domains.tasks import find_task
from srm.infer.posterior.infer import Posterior, infer, random_play
from srm.infer.posterior.sample import PosteriorConfig
from srm.machine.language.parse import parse
from tests.infer.play import demonstrations

TASK = find_task("DoorKey-5x5")
QUICK = PosteriorConfig(sweeps=40, first_look=40)


def inferred(text: str) -> Posterior:
    machine, shown = parse(text), demonstrations("DoorKey-5x5", 3).as_rollout()
    play = random_play(TASK, shown, 0, 2048)
    return infer(machine, machine.constraint(), TASK.event_reader(), shown, [play], QUICK, allow_farming=True)


def test_a_machine_that_contradicts_itself_outside_its_constraint_can_be_summarised() -> None:
    posterior = inferred(
        "machine m\nwords minigrid\nholes\n  ?a in 0 .. 5\n  ?b in 0 .. 5\n  ?goal\ncounters\n  #n counts pick_up_key\n"
        "start s\n  pick_up_key and #n < ?a // 0.1\n  pick_up_key and #n > ?b // -0.1\n  reach_goal // ?goal -> end\n"
        "accept end\nconstraint\n  ?a <= ?b\n"
    )
    assert posterior.values["a"] <= posterior.values["b"]


def test_where_nothing_constrains_a_whole_hole_the_prior_set_it() -> None:
    posterior = inferred(
        "machine m\nwords minigrid\nholes\n  ?n in 0 .. 1 whole\n  ?goal\ncounters\n  #n counts drop_key\n"
        "start s\n  drop_key and #n > 500 // ?n\n  reach_goal // ?goal -> end\naccept end\n"
    )
    assert posterior.holes[0].set_by == "prior"
