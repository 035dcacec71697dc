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

from srm.chance import stream
from srm.errors import DemonstrationError
from srm.evaluate import batched, symbolic
from srm.evaluate.explain import holes_compared
from srm.evaluate.payer import OpenPayer, read_rollout
from srm.infer.belief import Belief
from srm.infer.estimators import Cost
from srm.infer.objectives import logit_expert_high, loss_adv, loss_soft
from srm.infer.project import Floats, Polytope
from srm.infer.reward_net import Follower, RewardNet, RewardNetConfig, Seen, Sequences, draw, look, say
from srm.infer.sampler import Sampler, SamplerConfig
from srm.machine.model import Constraint, Machine
from srm.task.vocabulary import Vocabulary
from srm.train.learner import Means, load_weights
from srm.train.optimise import Optimiser
from srm.trajectory import Demonstrations, Mask, Rollout


@dataclass(frozen=True)
class ConcretizerConfig:
    """How the holes are inferred."""

    reward_net: RewardNetConfig = field(default_factory=RewardNetConfig)
    sampler: SamplerConfig = field(default_factory=SamplerConfig)


@dataclass(frozen=True, eq=False)
class Side:
    """Rollout or demonstrations, as the sampler needs them: pay is open, f is known."""

    residual: symbolic.Residual
    f: Floats  # [T, B]
    real: np.ndarray  # [T, B]

    def cost(self, assignments: Floats, idle: float) -> Cost:
        """J_soft of this side alone under K assignments. Steps that pay nothing whatever the holes are enter in one sum."""
        paid = batched.pay(self.residual, assignments, coefficients=True)
        assert paid.coefficients is not None
        count = max(1, int(self.real.sum()))
        f = self.f[self.real]
        at = self.f[paid.step, paid.world]  # [N]
        slope = paid.coefficients.dense()  # [K, N, H]
        across = slope.transpose(0, 2, 1)
        rest = (
            paid.pay - np.einsum("knh,kh->kn", slope, assignments) - idle - at
        )  # [K, N] the error if every hole were 0
        silent = np.square(idle + f).sum() - np.square(idle + at).sum()
        return Cost(
            square=across @ slope / count,
            linear=(across @ rest[..., None])[..., 0] / count,
            constant=(silent + np.square(rest).sum(axis=1)) / (2 * count),
            by_idle=float(idle + (f.sum() - paid.pay.sum(axis=1).mean()) / count),
        )


class Concretizer:
    """f and q, and what they need to remember between rounds."""

    def __init__(
        self,
        machine: Machine,
        constraint: Constraint | None,
        vocabulary: Vocabulary,
        demonstrations: Demonstrations,
        actions: int,
        config: ConcretizerConfig,
        seed: int,
        payer: OpenPayer | None = None,  # that reads the same rollouts; None: one of its own
    ) -> None:
        self.payer, self.config = payer or OpenPayer(machine, vocabulary), config
        self.demonstrated = demonstrations.as_rollout()
        shape = self.demonstrated.views.shape[2:]
        self.net = RewardNet(shape, actions, config.reward_net, _seed(seed, "reward net"))
        self.sampler = Sampler(
            Polytope.of(machine, constraint), _guard_holes(machine), config.sampler, _seed(seed, "assignments")
        )
        self.net_adam = _adam(self.net, config.reward_net.learning_rate)
        self.sampler_adam = _adam(self.sampler, config.sampler.learning_rate)
        self.seed = seed
        self.demonstration, _ = read_rollout(self.payer.program, vocabulary, self.demonstrated)
        if len(self.demonstration.entries.step) == 0:
            raise DemonstrationError(
                f"the demonstrations show no event of machine {machine.name}; record some of its own task with `srm demo`"
            )
        self.follower = Follower(self.net)
        self.views = look(self.net, self.demonstrated, _all(self.demonstrated)).views

    def belief(self) -> Belief:
        with torch.no_grad():
            mean = self.sampler()[0].double().numpy()
        return Belief(self.sampler.mode(), mean, self.sampler.spread(), self.sampler.idle())

    def learn(
        self, index: int, rollout: Rollout, log_prob: np.ndarray, demonstrated_log_prob: np.ndarray, effort: int = 1
    ) -> dict[str, float]:
        """Round `index`; both log pi_A [T, B] are of the policy that played the rollout. `effort` multiplies the steps."""
        chance = stream(self.seed, f"inference {index}")  # one stream a round: a resumed run needs no generator's state
        played = self.payer.read(rollout)
        holes = self.sampler.draw(self.config.sampler.samples, chance)  # 5
        idle = self.sampler.idle()
        mine = self.follower.look(rollout)
        theirs = look(self.net, self.demonstrated, _all(self.demonstrated), views=self.views)
        losses = self._fit_reward_net(  # 6, 7
            _Lesson(theirs, demonstrated_log_prob, batched.pay(self.demonstration, holes).mean_dense() - idle),
            _Lesson(mine, log_prob, batched.pay(played, holes).mean_dense() - idle),
            effort,
            chance,
        )
        mine = self.follower.look(rollout, mine.views)
        theirs = look(self.net, self.demonstrated, _all(self.demonstrated), views=self.views)
        losses |= self._fit_sampler(  # 8
            Side(self.demonstration, theirs.f.double().numpy(), self.demonstrated.real),
            Side(played, mine.f.double().numpy(), rollout.real),
            effort,
            chance,
        )
        self.follower.leave(rollout, mine)
        return losses

    def _fit_reward_net(
        self, theirs: _Lesson, mine: _Lesson, effort: int, chance: np.random.Generator
    ) -> dict[str, float]:
        config = self.config.reward_net
        means = Means()
        for _ in range(config.steps * effort):
            sides = [(lesson, *lesson.draw(config, chance)) for lesson in (theirs, mine)]
            said = say(self.net, *((lesson.seen.views, parts) for lesson, parts, _ in sides))
            (expert, expert_soft), (agent, agent_soft) = (
                lesson.judge(parts, noise, f, config.floor)
                for (lesson, parts, noise), f in zip(sides, said, strict=True)
            )
            adversarial, soft = loss_adv(expert, agent), expert_soft + agent_soft
            (adversarial + config.soft_weight * soft).backward()
            norm = self.net_adam.step()
            means.add({"loss_adv": adversarial, "loss_soft_f": soft, "gradient_norm_f": norm})
        return means.take()

    def _fit_sampler(self, theirs: Side, mine: Side, effort: int, chance: np.random.Generator) -> dict[str, float]:
        def cost_of(assignments: Floats, idle: float) -> Cost:
            # each side is a mean of its own: 170 demonstrated steps would drown in 8,000 of the policy
            return theirs.cost(assignments, idle) + mine.cost(assignments, idle)

        means = Means()
        for _ in range(self.config.sampler.steps * effort):
            loss, told = self.sampler.loss(cost_of, chance)
            loss.backward()
            means.add(told | {"gradient_norm_q": self.sampler_adam.step()})
        return means.take()

    def tensors(self) -> dict[str, Tensor]:
        """Everything that learning has changed, by name, for a checkpoint."""
        parts: dict[str, Mapping[str, Tensor]] = {
            "reward_net": self.net.state_dict(),
            "sampler": self.sampler.state_dict(),
            "reward_net_adam": self.net_adam.tensors(),
            "sampler_adam": self.sampler_adam.tensors(),
        }
        return {f"{part}.{name}": value for part, tensors in parts.items() for name, value in tensors.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Goes on where a concretizer of the same shape was saved, with new episodes."""
        load_weights(self.net, "reward_net", tensors)
        load_weights(self.sampler, "sampler", tensors)
        for part, adam in (("reward_net_adam", self.net_adam), ("sampler_adam", self.sampler_adam)):
            adam.load({name.removeprefix(f"{part}."): value for name, value in tensors.items()})


@dataclass(frozen=True, eq=False)
class _Lesson:
    """One side of the reward net's lesson."""

    seen: Seen
    log_prob: np.ndarray  # [T, B] of the policy, for the action taken
    pay: np.ndarray  # [T, B] the machine's mean pay over the K assignments, less c

    def draw(self, config: RewardNetConfig, chance: np.random.Generator) -> tuple[Sequences, Tensor]:
        """Some sequences [S, N], and eps [N] or [S, N]."""
        parts = draw(self.seen, config, chance)
        shape = parts.index.shape if config.noise == "step" else parts.index.shape[1:]
        return parts, torch.from_numpy(chance.standard_normal(shape)).float()

    def judge(self, parts: Sequences, noise: Tensor, f: Tensor, floor: float | None) -> tuple[Tensor, Tensor]:
        """The discriminator's logits of the sequences' real steps, and J_soft on them."""
        logits = logit_expert_high(f, noise, parts.of(self.log_prob), floor)
        return logits[parts.real], loss_soft(parts.of(self.pay)[parts.real], 0.0, f[parts.real])


def _guard_holes(machine: Machine) -> Mask:
    """Which holes some guard reads, [H]."""
    read = {name for _, rule, _ in machine.rules for name in holes_compared(machine, rule.guard)}
    return np.array([name in read for name in machine.hole_names], np.bool_)


def _all(rollout: Rollout) -> np.ndarray:
    return np.ones(rollout.worlds, np.bool_)


def _adam(module: nn.Module, learning_rate: float) -> Optimiser:
    return Optimiser(dict(module.named_parameters()), learning_rate=learning_rate, epsilon=1e-8, norm=math.inf)


def _seed(seed: int, purpose: str) -> int:
    return int(stream(seed, purpose).integers(2**63))
