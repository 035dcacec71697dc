"""A policy's network as somebody who plays one environment: the observations of an episode so far go in, an action comes out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from srm.rl.nn.nets import Net, NetInput
from srm.seeding import stream
from srm.trajectory import Observations


class Actor:
    """Draws actions as in training, or (`greedy`) takes the likeliest. An episode begins when there is one observation."""

    def __init__(self, net: Net, seed: int, *, greedy: bool = False) -> None:
        self._net, self._greedy = net, greedy
        self._rng = stream(seed, "actions of recorded episodes")
        self._memory = torch.zeros(1, net.memory)
        self._blanks = np.tile(net.blank(), (net.lags, 1))  # the frames before the beginning
        self._frames = self._blanks  # newest first
        self._rows = np.arange(net.lags, dtype=np.uint32)[None]

    def __call__(self, observations: Sequence[Observations]) -> int | np.ndarray:
        net, episode_start = self._net, len(observations) == 1
        earlier = self._blanks if episode_start else self._frames
        self._frames = np.concatenate([net.encode(observations[-1])[None], earlier[:-1]])
        with torch.no_grad():
            inputs = NetInput(self._frames, self._rows, self._memory, torch.tensor([[episode_start]]))
            outputs, self._memory = net(inputs)
            computed = {name: output[0].numpy() for name, output in outputs.items()}
        noise = net.policy.noise(None if self._greedy else self._rng, ())
        action = net.policy.act(computed, noise)
        return action if np.ndim(action) else int(action)
