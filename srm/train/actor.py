"""A policy's network as somebody who plays one world: the views of an episode so far go in, an action comes out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from srm.chance import stream
from srm.train.nets import Net, Seen
from srm.trajectory import Views


class Actor:
    """Draws actions as in training, or (`greedy`) takes the likeliest. An episode begins when there is one view."""

    def __init__(self, net: Net, seed: int, *, greedy: bool = False) -> None:
        self._net, self._greedy = net, greedy
        self._chance = stream(seed, "actions of recorded episodes")
        self._memory = torch.zeros(1, net.memory)
        self._blanks = np.tile(net.blank(), (net.lags, 1))  # the frames before the beginning
        self._frames = self._blanks  # newest first
        self._rows = np.arange(net.lags, dtype=np.uint32)[None]

    def __call__(self, views: Sequence[Views]) -> int:
        net, begins = self._net, len(views) == 1
        earlier = self._blanks if begins else self._frames
        self._frames = np.concatenate([net.encode(views[-1])[None], earlier[:-1]])
        with torch.no_grad():
            said, self._memory = net(Seen(self._frames, self._rows, self._memory, torch.tensor([[begins]])))
        logits = said["logits"][0].numpy()
        noise = 0.0 if self._greedy else self._chance.gumbel(size=logits.shape)
        return int((logits + noise).argmax())
