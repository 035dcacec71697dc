"""What a recorded episode of MiniGrid looks like: its cells and what changes of them, so that a page can draw it at any size.

width, height   of the grid
cells           base64 of [W, H, 3] uint8 before the first step: type, colour, state
changes         [moment, x, y, type, colour, state], in order
poses           x, y, direction of the agent at each of the T + 1 moments, one after another
carried         [moment, type, colour, state], in order; type 0: nothing any more
view            V, the edge of the agent's observation
seen            base64; for each moment the cells of the observation [column, row] that are visible, packed as bits
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from srm.domains.minigrid.compiled import CompiledGrid
from srm.domains.scenes import Scene, to_base64

if TYPE_CHECKING:
    import gymnasium

NOTHING_CARRIED = (0, 0, 0)


@dataclass(frozen=True, eq=False)
class GridMoment(Scene):
    """A MiniGrid env between two steps."""

    cells: np.ndarray  # [W, H, 3] uint8
    pose: tuple[int, int, int]
    carried: tuple[int, int, int]
    seen: np.ndarray  # [V, V] bool, [column, row] of the agent's observation

    @classmethod
    def tell(cls, moments: Sequence[Self]) -> dict[str, Any]:
        first = moments[0]
        changes: list[list[int]] = []
        carried: list[list[int]] = []
        before, held = first.cells, NOTHING_CARRIED
        for number, moment in enumerate(moments):
            for x, y in np.argwhere((moment.cells != before).any(axis=2)).tolist():
                changes.append([number, x, y, *moment.cells[x, y].tolist()])
            if moment.carried != held:
                carried.append([number, *map(int, moment.carried)])
            before, held = moment.cells, moment.carried
        grid = {
            "width": first.cells.shape[0],
            "height": first.cells.shape[1],
            "cells": to_base64(first.cells.tobytes()),
            "changes": changes,
            "poses": [number for moment in moments for number in moment.pose],
            "carried": carried,
            "view": len(first.seen),
            "seen": to_base64(b"".join(np.packbits(moment.seen).tobytes() for moment in moments)),
        }
        return {"grid": grid}


def look(env: gymnasium.Env) -> GridMoment:
    """An environment of MiniGrid as it stands."""
    if isinstance(env, CompiledGrid):
        return GridMoment(env.cells, env.pose, env.carried, env.observation[..., 0] != 0)
    inner: Any = env.unwrapped
    _, seen = inner.gen_obs_grid()
    carried = inner.carrying.encode() if inner.carrying else NOTHING_CARRIED
    x, y = inner.agent_pos
    return GridMoment(inner.grid.encode(), (int(x), int(y), int(inner.agent_dir)), carried, np.asarray(seen))


def look_through(observation: np.ndarray) -> GridMoment:
    """A MiniGrid observation as a little grid of its own, for episodes whose environment cannot be made again."""
    edge = len(observation)
    cells, own = observation.copy(), (edge // 2, edge - 1)
    held: tuple[int, int, int] = tuple(map(int, observation[own]))  # type: ignore[assignment]
    cells[own] = (1, 0, 0)
    return GridMoment(cells, (*own, 3), held if held[0] > 1 else NOTHING_CARRIED, observation[..., 0] != 0)
