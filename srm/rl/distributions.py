"""What a policy draws its actions from, for each kind of action.

    n samples of a minibatch; T steps, B envs; A numbers of an action; K numbers that the network computes for it

    Categorical    one of several          logits [K]
    Categoricals   one of several, A times logits [K], those of each place one after another
    ClippedGaussian  A numbers in a box    mean [A] and log_std [A], in units in which the box is -1..1

The clipped Gaussian is what a Gaussian becomes when the environment takes its draws clipped to the box, as Stable-Baselines3 and most
others do: within the box it has the Gaussian's density, and on each border the probability of everything beyond it,

    log p(z) = log N(z; mean, std)  for -1 < z < 1,    log P(N <= -1)  at -1,    log P(N >= 1)  at 1

so what is stored, shown to a machine and learnt from is the action that was truly taken, and its log-probability is right. (They keep the
draw before clipping and its density, with which a gradient has the same mean but more variance, and a demonstration at full throttle has no
right value.) Squashing by tanh would keep all draws inside, but then a demonstrated action on the border has no finite density at all.
Densities are measured against the uniform one on the box, log_uniform = 0, so that they do not depend on the units of an action.

Each distribution computes log-probabilities twice: written out, with a gradient by PyTorch, and with the gradient worked out by hand
(`derivatives`), which learning uses. Tests keep the two equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numba import njit
from torch import Tensor

from srm.domains.spaces import ActionSpace, Bounds, Choice, Choices

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
LOG_2 = math.log(2)
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Output:
    """One output of a tower, and the scale of its first weights."""

    name: str
    size: int
    gain: float
    scalar: bool = False  # [n] instead of [n, 1]
    free: float | None = None  # a number to begin with: the output is a weight of its own, the same whatever is seen


@dataclass(frozen=True)
class Derivatives:
    """Of n actions: log-probability and entropy [n], and how they change with each output, [n, size] by name."""

    log_prob: np.ndarray
    entropy: np.ndarray
    of_log_prob: dict[str, np.ndarray]
    of_entropy: dict[str, np.ndarray]


class Distribution(Protocol):
    """Outputs and actions may have any leading axes."""

    def outputs(self, spread: float) -> tuple[Output, ...]:
        """What a network computes for it; `spread` is that of the first continuous actions."""
        ...

    def noise(self, rng: np.random.Generator | None, shape: tuple[int, ...]) -> np.ndarray:
        """[*shape, ...] of which `act` makes draws; without a generator, of which it takes the likeliest."""
        ...

    def act(self, outputs: Arrays, noise: np.ndarray) -> np.ndarray:
        """Actions as the environments take them."""
        ...

    def targets(self, actions: np.ndarray) -> np.ndarray:
        """Actions as log-probabilities read them."""
        ...

    def log_prob(self, outputs: Arrays, actions: np.ndarray) -> np.ndarray:
        """Of actions as the environments take them, without a gradient."""
        ...

    def judge(self, outputs: Mapping[str, Tensor], targets: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy of n targets, [n] each, with a gradient."""
        ...


def distribution_of(space: ActionSpace) -> Distribution:
    if isinstance(space, Choice):
        return Categorical(space)
    return Categoricals(space) if isinstance(space, Choices) else ClippedGaussian(space)


# One of several


@dataclass(frozen=True)
class Categorical:
    space: Choice

    def outputs(self, spread: float) -> tuple[Output, ...]:
        return (Output("logits", self.space.count, 0.01),)

    def noise(self, rng: np.random.Generator | None, shape: tuple[int, ...]) -> np.ndarray:
        return _gumbel(rng, (*shape, self.space.count))

    def act(self, outputs: Arrays, noise: np.ndarray) -> np.ndarray:
        chosen: np.ndarray = (outputs["logits"] + noise).argmax(axis=-1)
        return chosen + self.space.start if self.space.start else chosen

    def targets(self, actions: np.ndarray) -> np.ndarray:
        return actions - self.space.start if self.space.start else actions

    def log_prob(self, outputs: Arrays, actions: np.ndarray) -> np.ndarray:
        return log_prob_of(outputs["logits"], self.targets(actions))

    def judge(self, outputs: Mapping[str, Tensor], targets: Tensor) -> tuple[Tensor, Tensor]:
        log_probs = torch.log_softmax(outputs["logits"], dim=-1)
        return log_probs.gather(-1, targets[..., None]).squeeze(-1), entropy_of(log_probs)


def _gumbel(rng: np.random.Generator | None, shape: tuple[int, ...]) -> np.ndarray:
    """The largest of logits + noise is a draw from their softmax."""
    if rng is None:
        return np.zeros(shape, np.float32)
    return rng.gumbel(size=shape).astype(np.float32)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def log_prob_of(logits: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """log pi(a|s) [...] of logits [..., A] and actions [...]."""
    return np.take_along_axis(log_softmax(logits), actions[..., None], axis=-1)[..., 0]


def entropy_of(log_probs: Tensor) -> Tensor:
    """Of each of n policies, [n]."""
    return -(log_probs.exp() * log_probs).sum(dim=-1)


# One of several, A times


@dataclass(frozen=True)
class Categoricals:
    space: Choices

    def outputs(self, spread: float) -> tuple[Output, ...]:
        return (Output("logits", sum(self.space.counts), 0.01),)

    def noise(self, rng: np.random.Generator | None, shape: tuple[int, ...]) -> np.ndarray:
        return _gumbel(rng, (*shape, sum(self.space.counts)))

    def act(self, outputs: Arrays, noise: np.ndarray) -> np.ndarray:
        return np.stack([part.argmax(axis=-1) for part in self._parts(outputs["logits"] + noise)], axis=-1)

    def targets(self, actions: np.ndarray) -> np.ndarray:
        return actions

    def log_prob(self, outputs: Arrays, actions: np.ndarray) -> np.ndarray:
        parts = self._parts(outputs["logits"])
        return np.sum([log_prob_of(part, actions[..., place]) for place, part in enumerate(parts)], axis=0)

    def judge(self, outputs: Mapping[str, Tensor], targets: Tensor) -> tuple[Tensor, Tensor]:
        parts = [torch.log_softmax(part, dim=-1) for part in outputs["logits"].split(self.space.counts, dim=-1)]
        chosen = [part.gather(-1, targets[..., place, None]).squeeze(-1) for place, part in enumerate(parts)]
        return torch.stack(chosen).sum(dim=0), torch.stack([entropy_of(part) for part in parts]).sum(dim=0)

    def derivatives(self, outputs: Arrays, targets: np.ndarray) -> Derivatives:
        n = np.arange(len(targets))
        log_prob, entropy = np.zeros(len(targets), np.float32), np.zeros(len(targets), np.float32)
        of_log_prob, of_entropy = [], []
        for place, part in enumerate(self._parts(outputs["logits"])):
            log_probs = log_softmax(part)
            probs = np.exp(log_probs)
            own = -(probs * log_probs).sum(axis=-1, keepdims=True)
            log_prob += log_probs[n, targets[:, place]]
            entropy += own[:, 0]
            by_logit = -probs
            by_logit[n, targets[:, place]] += 1
            of_log_prob.append(by_logit)
            of_entropy.append(-probs * (log_probs + own))
        return Derivatives(
            log_prob,
            entropy,
            {"logits": np.concatenate(of_log_prob, axis=-1)},
            {"logits": np.concatenate(of_entropy, axis=-1)},
        )

    def _parts(self, logits: np.ndarray) -> list[np.ndarray]:
        return np.split(logits, np.cumsum(self.space.counts)[:-1], axis=-1)


# Numbers in a box


@dataclass(frozen=True)
class ClippedGaussian:
    space: Bounds

    def outputs(self, spread: float) -> tuple[Output, ...]:
        size = len(self.space.low)
        return Output("mean", size, 0.01), Output("log_std", size, 0.0, free=math.log(spread))

    def noise(self, rng: np.random.Generator | None, shape: tuple[int, ...]) -> np.ndarray:
        shape = (*shape, len(self.space.low))
        return np.zeros(shape, np.float32) if rng is None else rng.standard_normal(shape).astype(np.float32)

    def act(self, outputs: Arrays, noise: np.ndarray) -> np.ndarray:
        drawn = outputs["mean"] + np.exp(outputs["log_std"]) * noise
        return self.space.scaled_up(np.clip(drawn, -1, 1))

    def targets(self, actions: np.ndarray) -> np.ndarray:
        return self.space.scaled_down(actions)

    def log_prob(self, outputs: Arrays, actions: np.ndarray) -> np.ndarray:
        tensors = {name: torch.from_numpy(np.ascontiguousarray(outputs[name])) for name in ("mean", "log_std")}
        with torch.no_grad():
            return self._log_probs(tensors, torch.from_numpy(self.targets(actions))).sum(dim=-1).numpy()

    def judge(self, outputs: Mapping[str, Tensor], targets: Tensor) -> tuple[Tensor, Tensor]:
        return self._log_probs(outputs, targets).sum(dim=-1), self._entropies(outputs).sum(dim=-1)

    def _log_probs(self, outputs: Mapping[str, Tensor], z: Tensor) -> Tensor:
        """[..., A] of each number."""
        mean, log_std = outputs["mean"], outputs["log_std"]
        std = log_std.exp()
        within = -0.5 * ((z - mean) / std).square() - log_std - HALF_LOG_2PI + LOG_2
        below = torch.special.log_ndtr((-1 - mean) / std)
        above = torch.special.log_ndtr((mean - 1) / std)
        return torch.where(z <= -1, below, torch.where(z >= 1, above, within))

    def _entropies(self, outputs: Mapping[str, Tensor]) -> Tensor:
        """[..., A]: that of the two borders, and of the density between them, relative to the uniform one."""
        mean, log_std = outputs["mean"], outputs["log_std"]
        a, b = (-1 - mean) / log_std.exp(), (1 - mean) / log_std.exp()
        below, above = torch.special.log_ndtr(a), torch.special.log_ndtr(-b)
        between = 1 - below.exp() - above.exp()
        squares = between + a * _density(a) - b * _density(b)  # of the standard normal between a and b
        within = between * (log_std + HALF_LOG_2PI - LOG_2) + 0.5 * squares
        return within - below * below.exp() - above * above.exp()

    def derivatives(self, outputs: Arrays, targets: np.ndarray) -> Derivatives:
        mean, log_std = outputs["mean"], np.ascontiguousarray(outputs["log_std"])
        sums, by = np.zeros((2, len(mean)), np.float32), np.empty((4, *mean.shape), np.float32)
        _gaussian_derivatives(mean, log_std, targets, sums, by)
        return Derivatives(sums[0], sums[1], {"mean": by[0], "log_std": by[1]}, {"mean": by[2], "log_std": by[3]})


def _density(x: Tensor) -> Tensor:
    """Of the standard normal."""
    return (-0.5 * x.square() - HALF_LOG_2PI).exp()


@njit(cache=True)
def _log_normal_below(x):
    """log P(N <= x) of the standard normal."""
    if x > -10:
        return np.log(0.5 * math.erfc(-x / math.sqrt(2.0)))
    square = x * x  # an asymptotic series, where the probability itself would vanish; its error is below 1e-7
    series = 1 - 1 / square * (1 - 3 / square * (1 - 5 / square * (1 - 7 / square)))
    return -0.5 * square - np.log(-x) - HALF_LOG_2PI + np.log(series)


@njit(cache=True)
def _gaussian_derivatives(mean, log_std, z, sums, by):
    """`sums` [2, n]: log-probability and entropy; `by` [4, n, A]: the derivatives of each by mean and by log_std."""
    for n in range(mean.shape[0]):
        for i in range(mean.shape[1]):
            m, log_s = np.float64(mean[n, i]), np.float64(log_std[n, i])
            s = np.exp(log_s)
            a, b = (-1 - m) / s, (1 - m) / s
            below, above = _log_normal_below(a), _log_normal_below(-b)

            # The log-probability of the action
            if z[n, i] <= -1:
                hazard = np.exp(-0.5 * a * a - HALF_LOG_2PI - below)
                log_prob, by_mean, by_log_std = below, -hazard / s, -hazard * a
            elif z[n, i] >= 1:
                hazard = np.exp(-0.5 * b * b - HALF_LOG_2PI - above)
                log_prob, by_mean, by_log_std = above, hazard / s, hazard * b
            else:
                x = (z[n, i] - m) / s
                log_prob = -0.5 * x * x - log_s - HALF_LOG_2PI + LOG_2
                by_mean, by_log_std = x / s, x * x - 1
            sums[0, n] += log_prob
            by[0, n, i], by[1, n, i] = by_mean, by_log_std

            # The entropy
            at_a, at_b = np.exp(-0.5 * a * a - HALF_LOG_2PI), np.exp(-0.5 * b * b - HALF_LOG_2PI)
            between, flat = 1 - np.exp(below) - np.exp(above), log_s + HALF_LOG_2PI - LOG_2
            sums[1, n] += between * flat + 0.5 * (between + a * at_a - b * at_b)
            sums[1, n] -= below * np.exp(below) + above * np.exp(above)
            by_a = -at_a * (below + 1 + flat + 0.5 * a * a)
            by_b = at_b * (above + 1 + flat + 0.5 * b * b)
            by[2, n, i] = -(by_a + by_b) / s
            by[3, n, i] = between - a * by_a - b * by_b
