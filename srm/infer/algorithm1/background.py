"""Lines 3 and 5 to 8 of Algorithm 1, one after the other with line 4 or at the same time on another core.

`InlineInference` learns in this process. `BackgroundInference` learns in a process of its own (`worker.py`) while the policy is updated
here and plays on: rollouts go there and beliefs come back through a pipe, 2 MB and some milliseconds a round. Both compute the same
numbers from the same inputs.

The other process is a fresh Python that never sees this one's main module, so a script needs no main guard and a notebook will do. What
happened in a rollout is read here, so that a vocabulary may be defined in either.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np

from srm.domains.base import EventReader
from srm.errors import RunError
from srm.infer.algorithm1.concretizer import Concretizer, InferenceProblem
from srm.infer.belief import LogProb, PaysByBelief
from srm.trajectory import Rollout

PACKAGE = Path(__file__).parents[2] / "__init__.py"
# This very package, wherever it was imported from. Other folders of this process come after those of Python itself, so that a struct.py
# in the current folder is nobody's `struct`.
START = f"""\
import importlib.util, sys
package = importlib.util.spec_from_file_location("srm", {str(PACKAGE)!r})
sys.modules["srm"] = importlib.util.module_from_spec(package)
package.loader.exec_module(sys.modules["srm"])
sys.path += [folder for folder in sys.argv[2:] if folder not in sys.path]
from srm.infer.algorithm1.worker import work
work(int(sys.argv[1]))
"""


def refuse_unknown(*log_probs: LogProb) -> None:
    """The discriminator of Algorithm 1 is made of them."""
    if any(log_prob is None for log_prob in log_probs):
        raise RunError(
            "Algorithm 1 needs the log-probabilities of what the policy does, and this learner knows none; "
            "use --infer posterior, or a learner whose policy draws its actions"
        )


class InlineInference(PaysByBelief):
    """Everything in this process."""

    def __init__(self, problem: InferenceProblem, event_reader: EventReader) -> None:
        super().__init__(problem.machine, event_reader, problem.demonstrated)
        self._concretizer = Concretizer(problem)
        self.belief = self._concretizer.belief()
        self._losses: dict[str, float] = {}

    def begin(
        self, index: int, rollout: Rollout, log_prob: LogProb, demonstrated_log_prob: LogProb, effort: int
    ) -> None:
        refuse_unknown(log_prob, demonstrated_log_prob)
        assert self.payer.residual is not None
        assert log_prob is not None
        assert demonstrated_log_prob is not None
        learn = self._concretizer.learn
        self._losses = learn(index, rollout, self.payer.residual, log_prob, demonstrated_log_prob, effort)
        self.belief = self._concretizer.belief()

    def finish(self) -> dict[str, float]:
        losses, self._losses = self._losses, {}
        return losses

    def arrays(self) -> dict[str, np.ndarray]:
        return self._concretizer.arrays()

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._concretizer.load(arrays)
        self.belief = self._concretizer.belief()


class BackgroundInference(PaysByBelief):
    """f and q learn in a process of their own."""

    def __init__(self, problem: InferenceProblem, event_reader: EventReader) -> None:
        super().__init__(problem.machine, event_reader, problem.demonstrated)
        self._pipe, other_end = Pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, str(other_end.fileno()), *sys.path],
            pass_fds=(other_end.fileno(),),
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C reaches this process alone, which ends the other
        )
        other_end.close()
        self._busy, self._losses = False, dict[str, float]()
        try:
            self._send(problem)
            self.belief = self._receive()
        except BaseException:
            self.close()
            raise

    def begin(
        self, index: int, rollout: Rollout, log_prob: LogProb, demonstrated_log_prob: LogProb, effort: int
    ) -> None:
        refuse_unknown(log_prob, demonstrated_log_prob)
        self._send(("learn", index, rollout, self.payer.events, log_prob, demonstrated_log_prob, effort))
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
        self._send(("arrays",))
        arrays: dict[str, np.ndarray] = self._receive()
        return arrays

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._send(("load", dict(arrays)))
        self.belief = self._receive()

    def close(self) -> None:
        self._pipe.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, message: Any) -> None:
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
