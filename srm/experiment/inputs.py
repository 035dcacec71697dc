"""What a command names, read as the command will read it: machines, constraints and demonstrations that are not there are told before
anything runs."""

from __future__ import annotations

from srm.experiment import learning, training
from srm.experiment.learning_settings import Learning
from srm.experiment.training import Training


def refuse_unreadable(asked: Training | Learning, *, machine_to_come: bool) -> None:
    """`machine_to_come`: the machine that pays is still to be learnt, so it cannot be read yet."""
    if isinstance(asked, Learning):
        learning.read_inputs(asked)
    elif machine_to_come:
        training.refuse_idle_flags(asked)
    else:
        training.read_inputs(asked)
