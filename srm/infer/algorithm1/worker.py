"""The process of `BackgroundInference`: one answer for each message, until the pipe closes.

It ends without a word when whoever began it is gone, however that ended: nobody waits for its answers any more.
"""

from __future__ import annotations

from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import torch

from srm.errors import SrmError
from srm.evaluate import symbolic
from srm.evaluate.payer import walk_rollout
from srm.infer.algorithm1.concretizer import Concretizer, InferenceProblem


def work(handle: int) -> None:
    """`handle` is this process's end of the pipe; the first message is the problem."""
    torch.set_num_threads(1)
    pipe = Connection(handle)
    with suppress(_Abandoned):
        try:
            worker = Worker(_receive(pipe))
            _send(pipe, worker.concretizer.belief())
            while True:
                verb, *arguments = _receive(pipe)
                _send(pipe, worker.answer(verb, arguments))
        except SrmError as error:
            _send(pipe, error)


class Worker:
    """f and q, and where the machine stands between two rollouts."""

    def __init__(self, problem: InferenceProblem) -> None:
        self.concretizer = Concretizer(problem)
        self._carry: symbolic.Carry | None = None

    def answer(self, verb: str, arguments: list[Any]) -> Any:
        if verb == "learn":
            index, rollout, events, *others = arguments
            residual, self._carry = walk_rollout(self.concretizer.program, rollout, events, self._carry)
            return self.concretizer.learn(index, rollout, residual, *others), self.concretizer.belief()
        if verb == "arrays":
            return self.concretizer.arrays()
        self.concretizer.load(*arguments)
        return self.concretizer.belief()


class _Abandoned(Exception):
    """The other end of the pipe is closed."""


def _receive(pipe: Connection) -> Any:
    try:
        return pipe.recv()
    except (EOFError, OSError):
        raise _Abandoned from None


def _send(pipe: Connection, answer: Any) -> None:
    try:
        pipe.send(answer)
    except OSError:
        raise _Abandoned from None
