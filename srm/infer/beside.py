"""Lines 3 and 5 to 8 of Algorithm 1, one after the other with line 4 or at the same time on another core.

`Inline` learns in this process. `Beside` learns in a process of its own while the policy is updated here and plays on: rollouts go
there and beliefs come back through a pipe, 2 MB and some milliseconds a round. Both compute the same numbers from the same inputs.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch

from srm.errors import RunError, SrmError
from srm.evaluate.payer import OpenPayer
from srm.infer.belief import PaysByBelief
from srm.infer.concretizer import Concretizer, ConcretizerConfig
from srm.machine.model import Constraint, Machine
from srm.processes import start_shielded
from srm.task.vocabulary import Vocabulary
from srm.trajectory import Demonstrations, Rollout


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be concretized, and from what."""

    machine: Machine
    constraint: Constraint | None
    vocabulary: Vocabulary
    demonstrations: Demonstrations
    actions: int  # how many the worlds offer
    config: ConcretizerConfig
    seed: int

    def concretizer(self, payer: OpenPayer | None = None) -> Concretizer:
        return Concretizer(
            self.machine,
            self.constraint,
            self.vocabulary,
            self.demonstrations,
            self.actions,
            self.config,
            self.seed,
            payer,
        )


class Inline(PaysByBelief):
    """Everything in this process."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.machine, problem.vocabulary, problem.demonstrations.as_rollout())
        self._concretizer = problem.concretizer(self.payer)
        self.belief = self._concretizer.belief()
        self._losses: dict[str, float] = {}

    def begin(
        self, index: int, rollout: Rollout, log_prob: np.ndarray, demonstrated_log_prob: np.ndarray, effort: int
    ) -> None:
        self._losses = self._concretizer.learn(index, rollout, log_prob, demonstrated_log_prob, effort)
        self.belief = self._concretizer.belief()

    def finish(self) -> dict[str, float]:
        losses, self._losses = self._losses, {}
        return losses

    def arrays(self) -> dict[str, np.ndarray]:
        return _to_arrays(self._concretizer)

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        _load_arrays(self._concretizer, arrays)
        self.belief = self._concretizer.belief()

    def close(self) -> None:
        pass


class Beside(PaysByBelief):
    """f and q learn in a process of their own."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.machine, problem.vocabulary, problem.demonstrations.as_rollout())
        context = multiprocessing.get_context("spawn")  # a fork would copy the worlds' threads in mid-step
        self._pipe, other_end = context.Pipe()
        self._process = context.Process(target=_work, args=(other_end, problem), daemon=True)
        start_shielded(self._process)
        other_end.close()
        self.belief = self._receive()
        self._busy, self._losses = False, dict[str, float]()

    def begin(
        self, index: int, rollout: Rollout, log_prob: np.ndarray, demonstrated_log_prob: np.ndarray, effort: int
    ) -> None:
        self._send("learn", index, rollout, log_prob, demonstrated_log_prob, effort)
        self._busy = True

    def finish(self) -> dict[str, float]:
        self._settle()
        losses, self._losses = self._losses, {}
        return losses

    def _settle(self) -> None:
        if self._busy:
            self._losses, self.belief = self._receive()
            self._busy = False

    def arrays(self) -> dict[str, np.ndarray]:
        self._settle()
        self._send("arrays")
        arrays: dict[str, np.ndarray] = self._receive()
        return arrays

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._send("load", dict(arrays))
        self.belief = self._receive()

    def close(self) -> None:
        self._pipe.close()
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.kill()

    def _send(self, *message: Any) -> None:
        try:
            self._pipe.send(message)
        except OSError:
            raise self._lost() from None

    def _receive(self) -> Any:
        try:
            answer = self._pipe.recv()
        except (EOFError, OSError):
            raise self._lost() from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _lost(self) -> RunError:
        return RunError(
            "the process that infers the holes has died; go on with --resume, or begin with --cores 1, which needs none"
        )


def _to_arrays(concretizer: Concretizer) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in concretizer.tensors().items()}


def _load_arrays(concretizer: Concretizer, arrays: Mapping[str, np.ndarray]) -> None:
    concretizer.load({name: torch.from_numpy(value) for name, value in arrays.items()})


def _work(pipe: Connection, problem: Problem) -> None:
    """The other process: one answer for each message, until the pipe closes."""
    torch.set_num_threads(1)
    try:
        concretizer = problem.concretizer()
        pipe.send(concretizer.belief())
        while True:
            verb, *arguments = pipe.recv()
            if verb == "learn":
                pipe.send((concretizer.learn(*arguments), concretizer.belief()))
            elif verb == "arrays":
                pipe.send(_to_arrays(concretizer))
            else:
                _load_arrays(concretizer, arguments[0])
                pipe.send(concretizer.belief())
    except (EOFError, BrokenPipeError):
        pass
    except SrmError as error:
        pipe.send(error)
