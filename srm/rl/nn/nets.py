"""Policies as networks: towers that turn what is seen into logits and values, with or without memory.

    frames  [R, D]      every frame that may be looked at, encoded (`Net.encode`)
    rows    [S * N, L]  which L frames each sample sees, newest first; S steps of N sequences, step by step
    memory  [N, M]      what a tower with memory knew before the first of the S steps
    outputs [S * N, ..] logits [A], value, and whatever else a learner asks for

A tower is a body (convolutions over cells, the same with an LSTM, or fully connected) and a head. Learners say which outputs
they need and from which towers; networks, losses and environments do not know each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from srm.domains.cells import Cells
from srm.domains.encodings import cells_of
from srm.domains.envs import Envs
from srm.errors import TaskError
from srm.rl.nn.grid_conv import CellConvolutions, Encoding, LinearElu, blank_frame
from srm.settings import ABOVE_ZERO, LAYER, ONE_OR_MORE

ROOT2 = math.sqrt(2)


@dataclass(frozen=True)
class NetConfig:
    """The shape of the policy's network."""

    stack: int = 4
    """frames that the CNN sees at once; the LSTM always sees one"""
    cells: Encoding = "one_hot"
    """how a cell enters the first convolution: each of its channels as one of many, or as a number (the papers' way)"""
    scale: float = 1 / 255
    """factor on those numbers"""
    width: int = 256
    """units after the CNN's convolutions, and in each layer of the MLP"""
    memory: int = 32
    """units of the LSTM"""
    towers: Literal["shared", "separate"] = "shared"
    """whether logits and value come from one tower or two; AGAC always has its three"""

    def __post_init__(self) -> None:
        ONE_OR_MORE.refuse_outside(self, "--network.", "stack", "width", "memory")
        LAYER.refuse_outside(self, "--network.", "stack", "width", "memory")
        ABOVE_ZERO.refuse_outside(self, "--network.", "scale")


@dataclass(frozen=True)
class NetInput:
    """Samples as a network takes them: S steps of N sequences."""

    frames: np.ndarray  # [R, D]
    rows: np.ndarray  # [S * N, L] uint32, or [U, L] with `inverse`
    memory: Tensor  # [N, M]
    episode_start: Tensor  # [S, N] bool: an episode begins with this step, so what was remembered is forgotten
    inverse: Tensor | None = None  # [S * N]: which of the U distinct rows each sample has, as `np.unique` returns it


@dataclass(frozen=True)
class Output:
    """One output of a tower, and the scale of its first weights."""

    name: str
    size: int
    gain: float


@dataclass(frozen=True)
class TowerPlan:
    """What a learner asks of a tower."""

    name: str
    outputs: tuple[Output, ...]
    hidden: int | None = None  # units of one more layer before the head


class CnnBody(nn.Module):
    """Convolutions over the last frames, then one wide layer."""

    memory = 0

    def __init__(self, shape: tuple[int, ...], cells: Cells, config: NetConfig) -> None:
        super().__init__()
        self.lags = config.stack
        self.convolutions = CellConvolutions(cells, shape[0], shape[1], self.lags, config.cells, config.scale)
        self.wide = LinearElu(self.convolutions.out, config.width)
        self.out = config.width

    def forward(self, inputs: NetInput) -> tuple[Tensor, Tensor]:
        return self.wide(self.convolutions(inputs.frames, inputs.rows)), inputs.memory


class LstmBody(nn.Module):
    """Convolutions over one frame, then an LSTM; memory is its hidden numbers followed by its cells."""

    lags = 1

    def __init__(self, shape: tuple[int, ...], cells: Cells, config: NetConfig) -> None:
        super().__init__()
        self.convolutions = CellConvolutions(cells, shape[0], shape[1], 1, config.cells, config.scale)
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


class MlpBody(nn.Module):
    """Two fully connected tanh layers on an observation taken as plain numbers."""

    lags = 1
    memory = 0

    def __init__(self, shape: tuple[int, ...], config: NetConfig) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(math.prod(shape), config.width), nn.Tanh(), nn.Linear(config.width, config.width), nn.Tanh()
        )
        self.out = config.width

    def forward(self, inputs: NetInput) -> tuple[Tensor, Tensor]:
        return self.layers(torch.from_numpy(inputs.frames[inputs.rows[:, 0]])), inputs.memory


Kind = Literal["cnn", "lstm", "mlp"]
Body = CnnBody | LstmBody | MlpBody


def make_body(kind: Kind, shape: tuple[int, ...], cells: Cells | None, config: NetConfig) -> Body:
    if kind == "mlp":
        return MlpBody(shape, config)
    if cells is None:
        raise TaskError(
            f"--net {kind} reads a grid of cells, as MiniGrid's observation [width, height, 3] is, not {list(shape)}; use --net mlp"
        )
    return CnnBody(shape, cells, config) if kind == "cnn" else LstmBody(shape, cells, config)


class Tower(nn.Module):
    """A body and one head for all its outputs."""

    def __init__(self, plan: TowerPlan, body: Body) -> None:
        super().__init__()
        self.plan, self.body = plan, body
        self.hidden = LinearElu(body.out, plan.hidden) if plan.hidden else None
        self.head = nn.Linear(plan.hidden or body.out, sum(output.size for output in plan.outputs))

    def forward(self, inputs: NetInput) -> tuple[dict[str, Tensor], Tensor]:
        x, memory = self.body(inputs)
        y = self.head(x if self.hidden is None else self.hidden(x))
        if inputs.inverse is not None and not self.body.memory:
            y = y.index_select(0, inputs.inverse)
        parts = y.split([output.size for output in self.plan.outputs], dim=1)
        outputs = {
            output.name: part.squeeze(1) if output.size == 1 else part
            for output, part in zip(self.plan.outputs, parts, strict=True)
        }
        return outputs, memory

    def initialise(self, generator: torch.Generator) -> None:
        """Orthogonal weights, zero biases; each output with its own gain."""
        for module in self.modules():
            if isinstance(module, CellConvolutions):
                module.initialise(generator)
            elif isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, gain=ROOT2, generator=generator)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.LSTMCell):
                for name, weight in module.named_parameters():
                    if name.startswith("weight"):
                        nn.init.orthogonal_(weight, generator=generator)
                    else:
                        nn.init.zeros_(weight)
        begin = 0
        for output in self.plan.outputs:
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
        shape: tuple[int, ...],
        config: NetConfig,
        plans: Sequence[TowerPlan],
        seed: int,
        cells: Cells | None = None,
    ) -> None:
        """Of observations of this shape; `cells` are what they hold, if they are grids of cells."""
        super().__init__()
        self.kind, self.shape, self.cells = kind, shape, cells
        towers = [Tower(plan, make_body(kind, shape, cells, config)) for plan in plans]
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
        if self.kind != "mlp":
            assert self.cells is not None
            return self.cells.encode(observations)
        return observations.reshape(*observations.shape[: observations.ndim - len(self.shape)], -1).astype(np.float32)

    def blank(self) -> np.ndarray:
        """The frame [D] of a step before the episode began."""
        if self.kind != "mlp":
            return blank_frame(self.shape[0] * self.shape[1])
        return np.zeros(math.prod(self.shape), np.float32)


def make_net(envs: Envs, kind: Kind, config: NetConfig, plans: Sequence[TowerPlan], seed: int) -> Net:
    """A network for the observations of these environments."""
    shape = envs.observation_space.shape
    return Net(kind, shape, config, plans, seed, cells_of(shape))
