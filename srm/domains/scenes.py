"""What a recorded episode looks like, moment by moment, in as few bytes as a page should carry.

A domain may have scenes of its own, which a page draws at any size. Of any other environment that renders, small pictures are kept:
`images` (data URLs) and `at`, one index into them a moment.
"""

from __future__ import annotations

import base64
import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from srm.domains.registry import domain_of_env

if TYPE_CHECKING:
    import gymnasium

WIDEST = 320  # pixels of a kept picture


class Scene(ABC):
    """An environment between two steps, as much of it as a page needs to draw it."""

    @classmethod
    @abstractmethod
    def tell(cls, moments: Sequence[Self]) -> dict[str, Any]:
        """All moments of one episode as plain data, under the one name by which a page knows the kind."""


@dataclass(frozen=True)
class Picture(Scene):
    """What an environment renders, compressed."""

    webp: bytes

    @classmethod
    def tell(cls, moments: Sequence[Self]) -> dict[str, Any]:
        distinct = list(dict.fromkeys(picture.webp for picture in moments))
        index = {webp: number for number, webp in enumerate(distinct)}
        images = [f"data:image/webp;base64,{to_base64(webp)}" for webp in distinct]
        return {"pictures": {"images": images, "at": [index[picture.webp] for picture in moments]}}


def look(env: gymnasium.Env) -> Scene | None:
    """The environment as it stands; None: it cannot be shown."""
    domain = domain_of_env(env)
    if domain is not None and domain.look is not None:
        return domain.look(env)
    if env.render_mode == "rgb_array":
        try:
            rendered: Any = env.render()
        except Exception:  # a renderer has kinds of its own, for a screen or a library that is missing
            return None
        return _compressed(np.asarray(rendered))
    return None


def tell(moments: Sequence[Scene | None]) -> dict[str, Any]:
    """The moments of one episode as plain data, such as {"grid": ...} or {"pictures": ...}; nothing unless all are of one kind."""
    kinds, scenes = {type(moment) for moment in moments}, [moment for moment in moments if moment is not None]
    return type(scenes[0]).tell(scenes) if scenes and len(kinds) == 1 else {}


def _compressed(rendered: np.ndarray) -> Picture:
    from PIL import Image

    image = Image.fromarray(rendered)
    image.thumbnail((WIDEST, WIDEST))
    file = io.BytesIO()
    image.save(file, "WEBP", quality=60)
    return Picture(file.getvalue())


def to_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
