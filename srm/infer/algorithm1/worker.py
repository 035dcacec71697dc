"""The process of `BackgroundInference`: one answer for each message, until the pipe closes.

It ends without a word when whoever began it is gone, however that ended: nobody waits for its answers any more.
"""

from __future__ import annotations

from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import torch

from srm.errors import SrmError
from srm.infer.algorithm1.concretizer import Concretizer


def work(handle: int) -> None:
    """`handle` is this process's end of the pipe; the first message is the problem."""
    torch.set_num_threads(1)
    pipe = Connection(handle)
    with suppress(_Abandoned):
        try:
            concretizer = Concretizer(_receive(pipe))
            _send(pipe, concretizer.belief())
            while True:
                verb, *arguments = _receive(pipe)
                _send(pipe, _answer(concretizer, verb, arguments))
        except SrmError as error:
            _send(pipe, error)


def _answer(concretizer: Concretizer, verb: str, arguments: list[Any]) -> Any:
    if verb == "learn":
        return concretizer.learn(*arguments), concretizer.belief()
    if verb == "arrays":
        return concretizer.arrays()
    concretizer.load(*arguments)
    return concretizer.belief()


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
