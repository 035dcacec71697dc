"""Policies as networks: towers that turn what is seen into logits and values, with or without memory.

    frames  [R, D]      every frame that may be looked at, encoded (`senses.py`)
    rows    [S * N, L]  which L frames each sample sees, newest first; S steps of N sequences, step by step
    memory  [N, M]      what a tower with memory knew before the first of the S steps
    outputs [S * N, ..] those of the policy's distribution, value, and whatever else a learner asks for

A tower is a body (convolutions over cells or pictures, the same with an LSTM, or fully connected) and a head. Which body follows from what
is observed, unless one is chosen. Learners say which outputs they need and from which towers; networks, losses and environments do
not know each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from srm.domains.envs import Envs
from srm.domains.spaces import ObservationSpace, describe
from srm.errors import TaskError
from srm.rl.distributions import Distribution, Output, distribution_of
from srm.rl.nn.grid_conv import CellConvolutions, Encoding, LinearElu
from srm.rl.nn.senses import FrameEncoder, FrameReader
from srm.settings import ABOVE_ZERO, LAYER, ONE_OR_MORE, usual
from srm.trajectory import Rollout

ROOT2 = math.sqrt(2)


@dataclass(frozen=True)
class NetConfig:
    """The shape of the policy's network."""

    stack: int = 4
    """frames of a grid that the CNN sees at once; all others see one"""
    cells: Encoding = "one_hot"
    """how a cell enters the first convolution: each of its channels as one of many, or as a number (the papers' way)"""
    scale: float = 1 / 255
    """factor on those numbers"""
    width: int = usual(256, vectors=64)
    """units after the CNN's convolutions, and in each layer of the MLP; 64 for vectors unless given"""
    memory: int = usual(32, vectors=64)
    """units of the LSTM; 64 for vectors unless given"""
    towers: Literal["shared", "separate"] | None = None
    """whether policy and value come from one tower or two; unless given two for vectors, else one; AGAC always has its three"""
    activation: Literal["tanh", "relu"] = "tanh"
    """of the MLP's layers"""
    normalize: bool = True
    """bring the numbers of an observation to mean 0 and spread 1, by running estimates that are saved with the policy; cells and pictures need none"""
    spread: float = 1.0
    """of continuous actions at first, in halves of what they may be"""

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--network.", "stack", "width", "memory")
        LAYER.refuse_outside(self, "--network.", "stack", "width", "memory")
        ABOVE_ZERO.refuse_outside(self, "--network.", "scale", "spread")


@dataclass(frozen=True)
class NetInput:
    """Samples as a network takes them: S steps of N sequences."""

    frames: np.ndarray  # [R, D]
    rows: np.ndarray  # [S * N, L] uint32, or [U, L] with `inverse`
    memory: Tensor  # [N, M]
    episode_start: Tensor  # [S, N] bool: an episode begins with this step, so what was remembered is forgotten
    inverse: Tensor | None = None  # [S * N]: which of the U distinct rows each sample has, as `np.unique` returns it


@dataclass(frozen=True)
class TowerPlan:
    """What a learner asks of a tower."""

    name: str
    outputs: tuple[Output, ...]
    hidden: int | None = None  # units of one more layer before the head


class CnnBody(nn.Module):
    """Convolutions over the last frames of a grid, then one wide layer."""

    memory = 0

    def __init__(self, encoder: FrameEncoder, config: NetConfig) -> None:
        super().__init__()
        self.lags = config.stack
        self.convolutions = _cell_convolutions(encoder, self.lags, config)
        self.wide = LinearElu(self.convolutions.out, config.width)
        self.out = config.width

    def forward(self, inputs: NetInput) -> tuple[Tensor, Tensor]:
        return self.wide(self.convolutions(inputs.frames, inputs.rows)), inputs.memory


def _cell_convolutions(encoder: FrameEncoder, lags: int, config: NetConfig) -> CellConvolutions:
    assert encoder.cells is not None
    width, height, _ = encoder.space.shape
    return CellConvolutions(encoder.cells, width, height, lags, config.cells, config.scale)


class LayersBody(nn.Module):
    """Fully connected layers on one frame: two of them, or one wide one behind the convolutions of pictures."""

    lags = 1
    memory = 0

    def __init__(self, encoder: FrameEncoder, config: NetConfig) -> None:
        super().__init__()
        self.reader = FrameReader(encoder)
        self.out = config.width
        sizes = [self.reader.out, self.out] if encoder.pictures else [self.reader.out, self.out, self.out]
        activation = nn.Tanh if config.activation == "tanh" and not encoder.pictures else nn.ReLU
        self.layers = nn.Sequential(
            *(layer for before, after in pairwise(sizes) for layer in (nn.Linear(before, after), activation()))
        )

    def forward(self, inputs: NetInput) -> tuple[Tensor, Tensor]:
        return self.layers(self.reader(inputs.frames, inputs.rows)), inputs.memory


class _ReadLayer(nn.Module):
    """A tanh layer on what is no grid."""

    def __init__(self, encoder: FrameEncoder, width: int) -> None:
        super().__init__()
        self.reader = FrameReader(encoder)
        self.layer, self.out = nn.Linear(self.reader.out, width), width

    def forward(self, frames: np.ndarray, rows: np.ndarray) -> Tensor:
        return torch.tanh(self.layer(self.reader(frames, rows)))


class LstmBody(nn.Module):
    """An LSTM over one frame: its convolutions, or a layer on its numbers. Memory is its hidden numbers followed by its cells."""

    lags = 1

    def __init__(self, encoder: FrameEncoder, config: NetConfig) -> None:
        super().__init__()
        grid = encoder.cells is not None
        self.convolutions = _cell_convolutions(encoder, 1, config) if grid else _ReadLayer(encoder, config.width)
        self.lstm = nn.LSTMCell(self.convolutions.out, config.memory)
        self.out = config.memory
        self.memory = 2 * config.memory

    def forward(self, inputs: NetInput) -> tuple[Tensor, Tensor]:
        x = self.convolutions(inputs.frames, inputs.rows)
        x = (x if inputs.inverse is None else x.index_select(0, inputs.inverse)).view(*inputs.episode_start.shape, -1)
        memory, outputs = inputs.memory, []
        for step, starts in zip(x, inputs.episode_start, strict=True):
            remembered = memory * ~starts[:, None]
            hidden, cell = self.lstm(step, (remembered[:, : self.out], remembered[:, self.out :]))
            memory = torch.cat([hidden, cell], dim=1)
            outputs.append(hidden)
        return torch.cat(outputs), memory


Kind = Literal["auto", "cnn", "lstm", "mlp"]
Body = CnnBody | LstmBody | LayersBody


def kind_for(kind: Kind, space: ObservationSpace) -> Kind:
    """The network that is meant for these observations; one that cannot look at them is refused."""
    seen = {part.kind for part in space.parts}
    looks = "image" in seen or (seen == {"cells"} and not space.structured)
    if kind == "auto":
        return "cnn" if looks else "mlp"
    if kind == "cnn" and not looks:
        raise TaskError(
            f"--net cnn looks at a grid of cells, as MiniGrid's observation [width, height, 3] is, or at a picture, "
            f"not at {describe(space.dtype, space.shape)}; use --net mlp"
        )
    return kind


def make_encoder(kind: Kind, space: ObservationSpace, normalize: bool) -> FrameEncoder:
    cells = kind != "mlp" and not space.structured and space.parts[0].kind == "cells"
    return FrameEncoder(space, cells=cells, pictures=kind != "mlp", normalize=normalize)


def make_body(kind: Kind, encoder: FrameEncoder, config: NetConfig) -> Body:
    if kind == "lstm":
        return LstmBody(encoder, config)
    return CnnBody(encoder, config) if encoder.cells is not None else LayersBody(encoder, config)


class Tower(nn.Module):
    """A body and one head for all its outputs."""

    def __init__(self, plan: TowerPlan, body: Body) -> None:
        super().__init__()
        self.plan, self.body = plan, body
        self.hidden = LinearElu(body.out, plan.hidden) if plan.hidden else None
        self._seen = tuple(output for output in plan.outputs if output.free is None)
        self._sizes = [output.size for output in self._seen]
        self.head = nn.Linear(plan.hidden or body.out, sum(self._sizes))
        free = {
            output.name: torch.full((output.size,), output.free) for output in plan.outputs if output.free is not None
        }
        self.free, self._free = nn.ParameterDict(free), tuple(free)

    def forward(self, inputs: NetInput) -> tuple[dict[str, Tensor], Tensor]:
        x, memory = self.body(inputs)
        y = self.head(x if self.hidden is None else self.hidden(x))
        if inputs.inverse is not None and not self.body.memory:
            y = y.index_select(0, inputs.inverse)
        outputs = {
            output.name: part.squeeze(1) if output.scalar else part
            for output, part in zip(self._seen, y.split(self._sizes, dim=1), strict=True)
        }
        for name in self._free:
            outputs[name] = self.free[name].expand(len(y), -1)
        return outputs, memory

    def initialise(self, generator: torch.Generator) -> None:
        """Orthogonal weights, zero biases; each output with its own gain."""
        for module in self.modules():
            if isinstance(module, CellConvolutions):
                module.initialise(generator)
            elif isinstance(module, nn.Linear | nn.Conv2d):
                nn.init.orthogonal_(module.weight, gain=ROOT2, generator=generator)
                assert module.bias is not None
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.LSTMCell):
                for name, weight in module.named_parameters():
                    if name.startswith("weight"):
                        nn.init.orthogonal_(weight, generator=generator)
                    else:
                        nn.init.zeros_(weight)
        begin = 0
        for output in self._seen:
            rows = torch.empty(output.size, self.head.in_features)
            nn.init.orthogonal_(rows, gain=output.gain, generator=generator)
            with torch.no_grad():
                self.head.weight[begin : begin + output.size] = rows
            begin += output.size


class Net(nn.Module):
    """All towers of a learner, seeing the same frames, each with a memory of its own."""

    def __init__(
        self,
        kind: Kind,
        space: ObservationSpace,
        config: NetConfig,
        policy: Distribution,
        plans: Sequence[TowerPlan],
        seed: int,
    ) -> None:
        """Of observations of this space; `policy` is what its outputs are read as."""
        super().__init__()
        kind = kind_for(kind, space)
        self.policy = policy
        self.encoder = make_encoder(kind, space, config.normalize)
        towers = [Tower(plan, make_body(kind, self.encoder, config)) for plan in plans]
        self.towers = nn.ModuleDict({tower.plan.name: tower for tower in towers})
        self.lags: int = towers[0].body.lags
        self._memories = [tower.body.memory for tower in towers]
        self.memory: int = sum(self._memories)
        generator = torch.Generator().manual_seed(seed)
        for tower in towers:
            tower.initialise(generator)

    def forward(self, inputs: NetInput) -> tuple[dict[str, Tensor], Tensor]:
        """Every output of every tower, and all memories after the last step side by side."""
        if len(self._memories) == 1:
            (tower,) = self.towers.values()
            return tower(inputs)
        outputs: dict[str, Tensor] = {}
        memories = []
        for tower, memory in zip(self.towers.values(), inputs.memory.split(self._memories, dim=1), strict=True):
            own, memory_after = tower(replace(inputs, memory=memory))
            outputs |= own
            memories.append(memory_after)
        return outputs, torch.cat(memories, dim=1)

    @contextmanager
    def fixed(self) -> Iterator[None]:
        """Forward passes alone, with the weights as they are."""
        with torch.no_grad(), ExitStack() as stack:
            for module in self.modules():
                if isinstance(module, CellConvolutions):
                    stack.enter_context(module.fixed())
            yield

    def encode(self, observations: np.ndarray) -> np.ndarray:
        """Observations [..., *shape] as frames [..., D]."""
        return self.encoder.encode(observations)

    def blank(self) -> np.ndarray:
        """The frame [D] of a step before the episode began."""
        return self.encoder.blank()

    def watch(self, rollout: Rollout) -> None:
        """Counts what was observed in the estimates by which numbers are normalised. What was encoded before stays as it is."""
        self.encoder.watch(rollout.observations[:-1][rollout.valid])


def make_net(envs: Envs, kind: Kind, config: NetConfig, plans: Sequence[TowerPlan], seed: int) -> Net:
    """A network for the observations and actions of these environments."""
    return Net(kind, envs.observation_space, config, distribution_of(envs.action_space), plans, seed)
