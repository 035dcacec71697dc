from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection

import numpy as np
import pytest
import torch
from torch import nn

from srm.errors import RunError
from srm.train.optimise import Optimiser
from srm.train.together import Exchange, Meeting, average, together, total


def _step(rank: int, meeting: Meeting, pipe: Connection) -> None:
    torch.set_num_threads(1)
    with together(Exchange(meeting, rank, (0.75, 0.25)[rank], lambda: True)):
        weight = nn.Parameter(torch.zeros(2))
        optimiser = Optimiser({"weight": weight}, learning_rate=0.1, epsilon=1e-8, norm=10.0)
        (weight * torch.tensor([[3.0, 4.0], [3.0, -12.0]][rank])).sum().backward()
        norm = optimiser.step()
        pipe.send((total(rank + 1), norm, weight.tolist()))


@pytest.mark.slow
def test_two_processes_take_the_same_step_along_the_mean_gradient() -> None:
    """Of three quarters (3, 4) and one quarter (3, -12) the mean is (3, 0), of norm 3; Adam's first step is the learning rate along its signs."""
    context = multiprocessing.get_context("spawn")
    ends = [context.Pipe() for _ in range(2)]
    meeting = Meeting.of(context, size=2)
    processes = [context.Process(target=_step, args=(rank, meeting, ends[rank][1])) for rank in range(2)]
    for process in processes:
        process.start()
    found = [mine.recv() for mine, _ in ends]
    for process in processes:
        process.join()
    assert found[0] == found[1]
    assert found[0][:2] == (3, pytest.approx(3.0))
    assert found[0][2] == pytest.approx([-0.1, 0.0])


def test_alone_nothing_is_averaged() -> None:
    gradient = torch.tensor([1.0, 2.0])
    average(gradient)
    assert gradient.tolist() == [1.0, 2.0]
    assert total(5) == 5


def test_a_partner_that_has_died_is_told() -> None:
    exchange = Exchange(Meeting.of(multiprocessing.get_context("spawn"), 1), 0, 0.5, lambda: False)
    with pytest.raises(RunError, match="has died; go on with --resume"):
        exchange.sum(np.zeros(1))
