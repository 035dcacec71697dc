"""Lines 5 to 8 of Algorithm 1: what demonstrations and the policy's latest play say about the holes.

The reward net learns to tell the one from the other and to agree a little with the machine; the sampler learns to make the
machine agree with the reward net. Nothing here plays or trains a policy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from srm.domains.base import EventReader
from srm.domains.reading import read_events
from srm.domains.spaces import Spaces
from srm.errors import DemonstrationError
from srm.evaluate import batched, symbolic
from srm.evaluate.payer import walk_rollout
from srm.evaluate.program import Program
from srm.infer.algorithm1.estimators import Cost
from srm.infer.algorithm1.gaussian import Sampler, SamplerConfig
from srm.infer.algorithm1.objectives import logit_expert_high, loss_adv, loss_soft
from srm.infer.algorithm1.reward_net import RewardNet, RewardNetConfig
from srm.infer.algorithm1.sequences import (
    Follower,
    NetRollout,
    Sequences,
    draw_sequences,
    follow,
    forward_sequences,
)
from srm.infer.belief import Belief
from srm.infer.hole_uses import guard_holes
from srm.infer.project import Floats, Polytope
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.machine.vocabulary import Vocabulary
from srm.rl.learner import Means
from srm.rl.optimise import Optimiser
from srm.rl.saved import load_weights
from srm.seeding import stream
from srm.trajectory import Demonstrations, Events, Rollout


@dataclass(frozen=True)
class ConcretizerConfig:
    """How the holes are inferred."""

    reward_net: RewardNetConfig = field(default_factory=RewardNetConfig)
    sampler: SamplerConfig = field(default_factory=SamplerConfig)


@dataclass(frozen=True, eq=False)
class InferenceProblem:
    """What is to be concretized, and from what. Plain values, which another process can be sent."""

    machine: Machine
    constraint: Constraint | None
    vocabulary: Vocabulary
    demonstrated: Rollout
    events: Events  # of the demonstrations
    spaces: Spaces  # of the envs
    config: ConcretizerConfig
    seed: int

    @staticmethod
    def of(
        machine: Machine,
        constraint: Constraint | None,
        event_reader: EventReader,
        demonstrations: Demonstrations,
        spaces: Spaces,
        config: ConcretizerConfig,
        seed: int,
    ) -> InferenceProblem:
        demonstrated = demonstrations.as_rollout()
        events = read_events(event_reader, demonstrated, "demonstration")
        return InferenceProblem(
            machine, constraint, event_reader.vocabulary, demonstrated, events, spaces, config, seed
        )


@dataclass(frozen=True, eq=False)
class SamplerSide:
    """Rollout or demonstrations, as the sampler needs them: pay is open, f is known."""

    residual: symbolic.Residual
    f: Floats  # [T, B]
    valid: np.ndarray  # [T, B]

    def cost(self, assignments: Floats, idle: float) -> Cost:
        """J_soft of this side alone under K assignments. Steps that pay nothing whatever the holes are enter in one sum."""
        paid = batched.pay(self.residual, assignments, coefficients=True)
        assert paid.coefficients is not None
        count = max(1, int(self.valid.sum()))
        f = self.f[self.valid]
        at = self.f[paid.step, paid.env]  # [N]
        by_hole = paid.coefficients.dense()  # [K, N, H] d pay / d hole
        across = by_hole.transpose(0, 2, 1)
        # [K, N] the error if every hole were 0
        rest = paid.pay - np.einsum("knh,kh->kn", by_hole, assignments) - idle - at
        silent = np.square(idle + f).sum() - np.square(idle + at).sum()
        return Cost(
            square=across @ by_hole / count,
            linear=(across @ rest[..., None])[..., 0] / count,
            constant=(silent + np.square(rest).sum(axis=1)) / (2 * count),
            by_idle=float(idle + (f.sum() - paid.pay.sum(axis=1).mean()) / count),
        )


class Concretizer:
    """f and q, and what they need to remember between rounds."""

    def __init__(self, problem: InferenceProblem) -> None:
        machine, config, seed = problem.machine, problem.config, problem.seed
        self.program, self.config, self.seed = Program(machine, problem.vocabulary), config, seed
        self.demonstrated = problem.demonstrated
        self.net = RewardNet(problem.spaces, config.reward_net, _seed(seed, "reward net"))
        self.net.watch(self.demonstrated)
        in_guards = np.array([name in guard_holes(machine) for name in machine.hole_names], np.bool_)
        polytope = Polytope.of(machine, problem.constraint)
        self.sampler = Sampler(polytope, in_guards, config.sampler, _seed(seed, "assignments"))
        self.net_adam = _adam(self.net, config.reward_net.learning_rate)
        self.sampler_adam = _adam(self.sampler, config.sampler.learning_rate)
        self.demonstration, _ = walk_rollout(self.program, self.demonstrated, problem.events)
        if len(self.demonstration.entries.step) == 0:
            raise DemonstrationError(
                f"the demonstrations show no event of machine {machine.name}; record some of its own task with `srm demo`"
            )
        self.follower = Follower(self.net)
        self.observations = follow(self.net, self.demonstrated, _all(self.demonstrated)).observations

    def belief(self) -> Belief:
        with torch.no_grad():
            mean = self.sampler()[0].double().numpy()
        return Belief(self.sampler.mode(), mean, self.sampler.spread(), self.sampler.idle())

    def learn(
        self,
        index: int,
        rollout: Rollout,
        residual: symbolic.Residual,
        log_prob: np.ndarray,
        demonstrated_log_prob: np.ndarray,
        effort: int = 1,
    ) -> dict[str, float]:
        """Round `index`, with the rollout as the machine reads it; both log pi_A [T, B] are of the policy that played it. `effort`
        multiplies the steps."""
        rng = stream(self.seed, f"inference {index}")  # one stream a round: a resumed run needs no generator's state

        # Line 5
        holes = self.sampler.draw(self.config.sampler.samples, rng)
        idle = self.sampler.idle()

        # Lines 6 and 7
        played, demonstrated = self.follower.follow(rollout), self._follow_demonstrations()
        losses = self._fit_reward_net(
            _Targets(demonstrated, demonstrated_log_prob, batched.pay(self.demonstration, holes).mean_dense() - idle),
            _Targets(played, log_prob, batched.pay(residual, holes).mean_dense() - idle),
            effort,
            rng,
        )

        # Line 8
        played, demonstrated = self.follower.follow(rollout, played.observations), self._follow_demonstrations()
        losses |= self._fit_sampler(
            SamplerSide(self.demonstration, demonstrated.f.double().numpy(), self.demonstrated.valid),
            SamplerSide(residual, played.f.double().numpy(), rollout.valid),
            effort,
            rng,
        )
        self.follower.advance(rollout, played)
        return losses

    def _follow_demonstrations(self) -> NetRollout:
        return follow(self.net, self.demonstrated, _all(self.demonstrated), observations=self.observations)

    def _fit_reward_net(
        self, demonstrated: _Targets, played: _Targets, effort: int, rng: np.random.Generator
    ) -> dict[str, float]:
        config = self.config.reward_net
        means = Means()
        for _ in range(config.steps * effort):
            sides = [(targets, *targets.draw(config, rng)) for targets in (demonstrated, played)]
            outputs = forward_sequences(
                self.net, *((targets.rollout.observations, parts) for targets, parts, _ in sides)
            )
            (expert, expert_soft), (agent, agent_soft) = (
                targets.judge(parts, noise, f, config.floor)
                for (targets, parts, noise), f in zip(sides, outputs, strict=True)
            )
            adversarial, soft = loss_adv(expert, agent), expert_soft + agent_soft
            (adversarial + config.soft_weight * soft).backward()
            norm = self.net_adam.step()
            means.add({"loss_adv": adversarial, "loss_soft_f": soft, "gradient_norm_f": norm})
        return means.take()

    def _fit_sampler(
        self, demonstrated: SamplerSide, played: SamplerSide, effort: int, rng: np.random.Generator
    ) -> dict[str, float]:
        def cost_of(assignments: Floats, idle: float) -> Cost:
            # each side is a mean of its own: 170 demonstrated steps would drown in 8,000 of the policy
            return demonstrated.cost(assignments, idle) + played.cost(assignments, idle)

        means = Means()
        for _ in range(self.config.sampler.steps * effort):
            loss, parts = self.sampler.loss(cost_of, rng)
            loss.backward()
            means.add(parts | {"gradient_norm_q": self.sampler_adam.step()})
        return means.take()

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that learning has changed, by name, for a checkpoint."""
        parts: dict[str, Mapping[str, Tensor]] = {
            "reward_net": self.net.state_dict(),
            "sampler": self.sampler.state_dict(),
            "reward_net_adam": self.net_adam.tensors(),
            "sampler_adam": self.sampler_adam.tensors(),
        }
        return {f"{part}.{name}": value.numpy() for part, tensors in parts.items() for name, value in tensors.items()}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Goes on where a concretizer of the same shape was saved, with new episodes."""
        tensors = {name: torch.from_numpy(value) for name, value in arrays.items()}
        load_weights(self.net, "reward_net", tensors)
        load_weights(self.sampler, "sampler", tensors)
        for part, adam in (("reward_net_adam", self.net_adam), ("sampler_adam", self.sampler_adam)):
            adam.load(part, tensors)


@dataclass(frozen=True, eq=False)
class _Targets:
    """Demonstrations or play, as the reward net learns from them."""

    rollout: NetRollout
    log_prob: np.ndarray  # [T, B] of the policy, for the action taken
    pay: np.ndarray  # [T, B] the machine's mean pay over the K assignments, less c

    def draw(self, config: RewardNetConfig, rng: np.random.Generator) -> tuple[Sequences, Tensor]:
        """Some sequences [S, N], and eps [N] or [S, N]."""
        parts = draw_sequences(self.rollout, config, rng)
        shape = parts.index.shape if config.noise == "step" else parts.index.shape[1:]
        return parts, torch.from_numpy(rng.standard_normal(shape)).float()

    def judge(self, parts: Sequences, noise: Tensor, f: Tensor, floor: float | None) -> tuple[Tensor, Tensor]:
        """The discriminator's logits of the sequences' real steps, and J_soft on them."""
        logits = logit_expert_high(f, noise, parts.of(self.log_prob), floor)
        return logits[parts.valid], loss_soft(parts.of(self.pay)[parts.valid], 0.0, f[parts.valid])


def _all(rollout: Rollout) -> np.ndarray:
    return np.ones(rollout.envs, np.bool_)


def _adam(module: nn.Module, learning_rate: float) -> Optimiser:
    return Optimiser(dict(module.named_parameters()), learning_rate=learning_rate, epsilon=1e-8, max_grad_norm=math.inf)


def _seed(seed: int, purpose: str) -> int:
    return int(stream(seed, purpose).integers(2**63))
