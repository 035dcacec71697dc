"""What one process trains: worlds, a learner and what pays it. Of a run on two cores each process has about half of the worlds.

`Plan` says what is trained and can be sent to another process; `Plan.part` makes it. `Partner` is the second process of a run.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from srm.chance import stream
from srm.errors import RunError, SrmError
from srm.evaluate.payer import Payer
from srm.experiment.run import Checkpoint, read_weights
from srm.infer.imitation import Imitation, Kind
from srm.machine.model import Machine
from srm.processes import start_shielded
from srm.task import demos
from srm.task.table import find_task
from srm.train.episodes import Episodes
from srm.train.learner import Learner, Pay, load_weights
from srm.train.loop import task_pay, train
from srm.train.together import Exchange, Meeting, lost, together
from srm.trajectory import Demonstrations

if TYPE_CHECKING:
    from srm.experiment.training import Training

FIRST = 0.55  # of the worlds, the first process's: the second may have to share its core with others
WATCHED = 16  # rounds by which a second process is judged
IMITATING: dict[str, Kind] = {"gail": "gail", "gan_gcl": "gan_gcl"}


@dataclass(frozen=True, eq=False)
class Part:
    learner: Learner
    pay: Pay

    @property
    def losses(self) -> dict[str, float]:
        """Of whatever pays, if it learns."""
        return self.pay.losses if isinstance(self.pay, Imitation) else {}

    def tensors(self) -> dict[str, Tensor]:
        return self.learner.tensors() | (self.pay.tensors() if isinstance(self.pay, Imitation) else {})

    def load(self, checkpoint: Checkpoint) -> None:
        tensors = {name: torch.from_numpy(value) for name, value in checkpoint.tensors.items()}
        rounds = int(checkpoint.state["round"])
        try:
            self.learner.load(tensors, int(checkpoint.state["frames"]), rounds)
            if isinstance(self.pay, Imitation):
                self.pay.load(tensors, rounds)
        except RunError as problem:
            raise RunError(f"{checkpoint.path}: {problem}") from None

    def begin_as(self, policy: Path) -> None:
        """With the weights of a policy that another run has trained, and everything else new."""
        tensors = {name: torch.from_numpy(value) for name, value in read_weights(policy)[0].items()}
        try:
            load_weights(self.learner.net, "net", tensors)
        except RunError as problem:
            raise RunError(
                f"{policy}: {problem}; --from-run needs the --learner, --net and --network of that run"
            ) from None


@dataclass(frozen=True, eq=False)
class Plan:
    training: Training
    machine: Machine | None
    shown: Demonstrations | None
    checkpoint: Checkpoint | None = None
    policy: Path | None = None  # whose weights a run without a checkpoint begins with; fresh ones if None

    @property
    def counts(self) -> tuple[int, ...]:
        """How many worlds each process plays."""
        worlds = self.training.learning.ppo.worlds
        if self.training.cores == 1:
            return (worlds,)
        if worlds < 2:
            raise RunError(f"--cores 2 cannot share --ppo.worlds {worlds}; give more, or --cores 1")
        first = min(math.ceil(worlds * FIRST), worlds - 1)
        return first, worlds - first

    def part(self, rank: int = 0) -> Part:
        """The whole, or that of process `rank` of `training.cores`."""
        training = self.training
        task = find_task(training.task)
        count = self.counts[rank]
        learning = replace(training.learning, ppo=replace(training.learning.ppo, worlds=count))
        # Worlds cannot be put back to where they were: a resumed run plays other episodes than those already seen.
        began = 0 if self.checkpoint is None else int(self.checkpoint.state["round"])
        seed = training.seed if began == 0 else int(stream(training.seed, f"resumed at {began}").integers(2**31))
        worlds = task.make_worlds(count, seed if rank == 0 else int(stream(seed, f"part {rank}").integers(2**31)))
        if self.shown is not None:
            demos.refuse_misfit(self.shown, worlds)
        demonstrated = None if self.shown is None else self.shown.as_rollout()
        learner = learning.make(worlds, training.seed, demonstrated)
        learner.draw_apart(rank)
        pay: Pay = task_pay if self.machine is None else Payer(self.machine, task.vocabulary())
        if training.reward in IMITATING:
            assert demonstrated is not None
            kind, actions = IMITATING[training.reward], worlds.actions
            pay = Imitation(kind, demonstrated, actions, learner.log_probs, training.imitation, training.seed)
        part = Part(learner, pay)
        if self.checkpoint is not None:
            part.load(self.checkpoint)
        elif self.policy is not None:
            part.begin_as(self.policy)
        return part


class Partner:
    """The second process of a run, which plays and learns as this one does, round by round."""

    def __init__(self, pipe: Connection, exchange: Exchange) -> None:
        self._pipe, self._exchange = pipe, exchange
        self._began = self._clock()
        self._rounds: deque[np.ndarray] = deque(maxlen=WATCHED)  # what the clock has gone on in each

    def begin(self) -> None:
        """It plays the next round."""
        self._tell(True)
        self._began = self._clock()

    def finish(self) -> Episodes:
        """What ended in its round."""
        try:
            said: Episodes | SrmError = self._pipe.recv()
        except (EOFError, OSError):
            raise lost() from None
        if isinstance(said, SrmError):
            raise said
        self._rounds.append(self._clock() - self._began)
        return said

    @property
    def hinders(self) -> bool:
        """Whether this process would have played the last rounds sooner by itself, doing for all worlds what it did for its own.

        So it is where others keep the second core busy: every gradient step waits for a process that does not get to work.
        """
        if len(self._rounds) < WATCHED:
            return False
        seconds, worked = np.median(self._rounds, axis=0)
        return bool(worked / self._exchange.share < seconds)

    def reason(self) -> SrmError | None:
        """Why it went, if it said so."""
        try:
            said = self._pipe.recv() if self._pipe.poll() else None
        except (EOFError, OSError):  # it was killed
            return None
        return said if isinstance(said, SrmError) else None

    def stop(self) -> None:
        self._tell(False)

    def _clock(self) -> np.ndarray:
        """The time, and how much of it this process has worked."""
        return np.array([time.perf_counter(), time.process_time() - self._exchange.idled])

    def _tell(self, go_on: bool) -> None:
        try:
            self._pipe.send(go_on)
        except OSError:
            raise lost() from None


@contextmanager
def partner(plan: Plan, size: int) -> Iterator[Partner]:
    """A second process with its share of the worlds, as long as the context lasts. `size`: of the largest gradient, at least."""
    context = multiprocessing.get_context("spawn")  # a fork would copy the worlds' threads in mid-step
    meeting = Meeting.of(context, size)
    pipe, other_end = context.Pipe()
    process = context.Process(target=_assist, args=(other_end, plan, meeting), daemon=True)
    start_shielded(process)
    other_end.close()
    try:
        exchange = Exchange(meeting, 0, plan.counts[0] / sum(plan.counts), process.is_alive)
        with together(exchange):
            other = Partner(pipe, exchange)
            try:
                yield other
            except SrmError as problem:
                raise other.reason() or problem from None
    finally:
        pipe.close()
        process.join(timeout=5)
        if process.is_alive():
            process.kill()


def _assist(pipe: Connection, plan: Plan, meeting: Meeting) -> None:
    """The second process: a round for each word of the first, until it says no more or has gone."""
    torch.set_num_threads(1)
    first = os.getppid()
    try:
        with together(Exchange(meeting, 1, plan.counts[1] / sum(plan.counts), lambda: os.getppid() == first)):
            part = plan.part(rank=1)
            rounds = train(part.learner, part.pay, frames=2**62)
            while pipe.recv():
                pipe.send(next(rounds).episodes)
    except (EOFError, OSError):
        pass  # the first tells what went wrong
    except SrmError as problem:
        with suppress(OSError):  # the first has met the same
            pipe.send(problem)
