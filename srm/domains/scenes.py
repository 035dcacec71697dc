"""What a recorded episode looks like, moment by moment, in as few bytes as a page should carry.

A MiniGrid environment is kept as its cells and what changes of them, so that a page can draw it at any size:

    width, height   of the grid
    cells           base64 of [W, H, 3] uint8 before the first step: type, colour, state
    changes         [moment, x, y, type, colour, state], in order
    poses           x, y, direction of the agent at each of the T + 1 moments, one after another
    carried         [moment, type, colour, state], in order; type 0: nothing any more
    view            V, the edge of the square of cells that the agent sees
    seen            base64; for each moment the cells of the observation [column, row] that are visible, packed as bits

Of any other environment that renders, small pictures are kept: `images` (data URLs) and `at`, one index into them a moment.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from srm.domains.minigrid.compiled import CompiledGrid

if TYPE_CHECKING:
    import gymnasium

WIDEST = 320  # pixels of a kept picture
NOTHING_CARRIED = (0, 0, 0)


@dataclass(frozen=True, eq=False)
class GridMoment:
    """A MiniGrid environment between two steps."""

    cells: np.ndarray  # [W, H, 3] uint8
    pose: tuple[int, int, int]
    carried: tuple[int, int, int]
    seen: np.ndarray  # [V, V] bool, [column, row] of the agent's observation


@dataclass(frozen=True)
class Picture:
    """What an environment renders, compressed."""

    webp: bytes


Moment = GridMoment | Picture | None  # None: nothing can be shown


def look(env: gymnasium.Env) -> Moment:
    """The environment as it stands."""
    from minigrid.minigrid_env import MiniGridEnv

    if isinstance(env, CompiledGrid):
        return GridMoment(env.cells, env.pose, env.carried, env.observation[..., 0] != 0)
    inner = env.unwrapped
    if isinstance(inner, MiniGridEnv):
        _, seen = inner.gen_obs_grid()
        carried = inner.carrying.encode() if inner.carrying else NOTHING_CARRIED
        x, y = inner.agent_pos
        return GridMoment(inner.grid.encode(), (int(x), int(y), int(inner.agent_dir)), carried, np.asarray(seen))
    if env.render_mode == "rgb_array":
        rendered: Any = env.render()
        return _compressed(np.asarray(rendered))
    return None


def look_through(observation: np.ndarray) -> GridMoment:
    """A MiniGrid observation as a little grid of its own, for episodes whose environment cannot be made again."""
    edge = len(observation)
    cells, own = observation.copy(), (edge // 2, edge - 1)
    held: tuple[int, int, int] = tuple(map(int, observation[own]))  # type: ignore[assignment]
    cells[own] = (1, 0, 0)
    return GridMoment(cells, (*own, 3), held if held[0] > 1 else NOTHING_CARRIED, observation[..., 0] != 0)


def tell(moments: Sequence[Moment]) -> dict[str, Any]:
    """The moments of one episode as plain data: {"grid": ...}, {"pictures": ...} or nothing."""
    grids = [moment for moment in moments if isinstance(moment, GridMoment)]
    if grids and len(grids) == len(moments):
        return {"grid": _tell_grid(grids)}
    pictures = [moment for moment in moments if isinstance(moment, Picture)]
    if pictures and len(pictures) == len(moments):
        return {"pictures": _tell_pictures(pictures)}
    return {}


def _tell_grid(moments: Sequence[GridMoment]) -> dict[str, Any]:
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
    return {
        "width": first.cells.shape[0],
        "height": first.cells.shape[1],
        "cells": _base64(first.cells.tobytes()),
        "changes": changes,
        "poses": [number for moment in moments for number in moment.pose],
        "carried": carried,
        "view": len(first.seen),
        "seen": _base64(b"".join(np.packbits(moment.seen).tobytes() for moment in moments)),
    }


def _tell_pictures(pictures: Sequence[Picture]) -> dict[str, Any]:
    distinct = list(dict.fromkeys(picture.webp for picture in pictures))
    index = {webp: number for number, webp in enumerate(distinct)}
    images = [f"data:image/webp;base64,{_base64(webp)}" for webp in distinct]
    return {"images": images, "at": [index[picture.webp] for picture in pictures]}


def _compressed(rendered: np.ndarray) -> Picture:
    from PIL import Image

    image = Image.fromarray(rendered)
    image.thumbnail((WIDEST, WIDEST))
    file = io.BytesIO()
    image.save(file, "WEBP", quality=60)
    return Picture(file.getvalue())


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
