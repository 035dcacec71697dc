"""What pays in `srm learn`: a machine whose holes are inferred while a policy is trained on it. Beside what every run writes:

machine.srm            the machine with its holes open
demonstrations.npz     those it was inferred from
learnt.srm             the machine with values and spreads; from the first checkpoint on, as far as they are known
posterior.json         what is known of each hole, and by what it was set
draws.safetensors      draws of the posterior; not with the other ways of inferring
check.json             what can be proved about the learnt machine
episodes.json          demonstrations and episodes of the policy, and what they were paid
report.html            all of it to look at
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import dumps
from typing import Any

import numpy as np

from srm.domains.base import Task
from srm.domains.spaces import Spaces
from srm.evaluate.batched import Paid, assignment_of
from srm.infer.algorithm1.loop import InferenceRound, infer
from srm.infer.posterior.evidence import Play
from srm.infer.posterior.infer import tidied
from srm.infer.posterior.live import LivePosterior
from srm.infer.project import Floats
from srm.machine.checks.check import check
from srm.machine.model import Machine, held_to
from srm.rl.evaluation import WHOLE_ENVS
from srm.rl.learner import RunLearner
from srm.rl.loop import Round
from srm.runs.episodes import record_episodes
from srm.runs.folder import CHECK, DRAWS, EPISODES, LEARNT, POSTERIOR, RunWriter, as_json, write_bytes
from srm.runs.inference import HoleInference, check_solution
from srm.runs.learning_settings import Learning, constraint_of
from srm.runs.pay_source import Refinement
from srm.runs.solution import Solution
from srm.runs.training import NO_CONSTRAINT
from srm.seeding import stream
from srm.trajectory import Demonstrations, Rollout

DECIMALS = 4  # of a spread


class InferredPay:
    """A machine that pays by what is believed of its holes."""

    def __init__(
        self, learning: Learning, task: Task, learner: RunLearner, machine: Machine, demonstrations: Demonstrations
    ) -> None:
        self.learning, self.task, self.learner = learning, task, learner
        self.machine, self.demonstrations = machine, demonstrations
        self.inference = HoleInference.of(
            learning.infer,
            task,
            machine,
            constraint_of(machine, learning.constraint),
            demonstrations,
            learning.infer_config,
            learning.posterior,
            learning.seed,
            allow_farming=learning.allow_farming or learning.as_printed,
        )
        spaces = Spaces(learner.envs.observation_space, learner.envs.action_space)
        self.holes = self.inference.make(spaces, learner.envs.count, learner.num_steps, learning.cores)

    # While the run goes on

    @property
    def paid(self) -> Paid | None:
        return self.holes.payer.paid

    @property
    def rates(self) -> str:
        own = ", --reward-net.learning-rate or --sampler.learning-rate"
        return own if self.learning.infer == "algorithm1" else ""

    def begin(self, frames: int) -> int:
        return self.inference.begin(self.holes, frames)

    def rounds(self, frames: int, first: int) -> Iterator[Round]:
        return infer(self.learner, self.holes, self.inference.config, first)

    def columns(self, round: Round) -> dict[str, float]:
        assert isinstance(round, InferenceRound)
        names, belief = self.machine.hole_names, round.belief
        return {
            **{f"hole.{name}": float(value) for name, value in zip(names, belief.mode, strict=True)},
            **{f"spread.{name}": float(value) for name, value in zip(names, belief.spread, strict=True)},
            "idle": belief.idle,
        }

    def refine(self, refined: int) -> Refinement | None:
        """Where the policy out-earns the demonstrations its play becomes evidence."""
        if refined >= self.learning.refine or not isinstance(self.holes, LivePosterior):
            return None
        rollout, log_prob = self._play()
        demonstrated = self.learner.log_probs(self.holes.demonstrated)
        solution = self._check_solution(self.holes.belief.mode, rollout)
        if solution is None or not solution.fails or log_prob is None or demonstrated is None:
            return None
        play = Play(rollout, log_prob, demonstrated)
        self.holes.add(play)
        return Refinement(int(play.rollout.valid.sum()), f"after {self.learner.frames:,} frames {solution}")

    def arrays(self) -> dict[str, np.ndarray]:
        return self.holes.arrays()

    def load(self, arrays: Mapping[str, np.ndarray], rounds: int) -> None:
        self.holes.load(arrays)

    def write_known(self, writer: RunWriter) -> None:
        """The machine by the belief as it is. What an earlier end of the run has written stays together until the next end."""
        if (writer.folder / POSTERIOR).exists():
            return
        belief, constraint = self.holes.belief, self.inference.constraint
        sampled = isinstance(self.holes, LivePosterior)
        mode = belief.mode if sampled else tidied(self.machine, constraint, belief.mode)
        values = dict(zip(self.machine.hole_names, mode.tolist(), strict=True))
        spreads = dict(zip(self.machine.hole_names, belief.spread.round(DECIMALS).tolist(), strict=True))
        uncertain = sampled or self.learning.infer == "algorithm1"
        machine = held_to(self.machine.concretize(values, spreads if uncertain else None), constraint)
        writer.text(LEARNT, str(machine))

    # At its end

    def write(self, writer: RunWriter) -> dict[str, Any]:
        """What was learnt, and what the policy makes of it."""
        self.holes.finish()
        constraint, (play, _) = self.inference.constraint, self._play()

        # The machine
        outcome = self.inference.outcome(self.holes, play)
        concrete = held_to(self.machine.concretize(outcome.values, outcome.spreads), constraint)
        writer.text(LEARNT, str(concrete))
        writer.text(POSTERIOR, as_json(outcome.posterior))
        if outcome.draws is not None:
            write_bytes(writer.folder / DRAWS, outcome.draws)
        checked = check(concrete, self.task.vocabulary, constraint.name if constraint else NO_CONSTRAINT)
        writer.text(CHECK, as_json(checked.as_json()))

        # The policy
        with self.learner.acting(self.learning.seed) as act:
            recorded = record_episodes(
                self.task, concrete, self.demonstrations, act, self.learning.episodes, self.learning.seed
            )
        writer.text(EPISODES, dumps(recorded))
        solution = self._check_solution(assignment_of(concrete), play)
        return {} if solution is None else {"solution": solution.to_json(), "solution_text": str(solution)}

    def close(self) -> None:
        self.holes.close()

    def _play(self) -> tuple[Rollout, np.ndarray | None]:
        """Whole episodes of the policy as it is, in envs of their own, and its log-probabilities if it knows any."""
        envs = self.task.make_envs(WHOLE_ENVS, int(stream(self.learning.seed, "solution").integers(2**31)))
        try:
            return self.learner.play_whole(envs, self.learning.seed)
        finally:
            envs.close()

    def _check_solution(self, values: Floats, play: Rollout) -> Solution | None:
        """The paper's condition under these values."""
        discount, event_reader = self.learning.learning.ppo.discount, self.task.event_reader()
        return check_solution(self.machine, event_reader, values, self.holes.demonstrated, play, discount)
