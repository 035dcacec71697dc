"""A demonstration to look at: a GIF of every step, or a PNG strip of the steps at which something happened.

Frames are rendered by the environment itself, replayed from the seed; under each stand the step, the action and its
events. An episode whose seed is not known is shown as the agent saw it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from srm.domains.base import Task
from srm.domains.captions import action_name, captions
from srm.domains.record import UNKNOWN_SEED, replay
from srm.domains.registry import domains
from srm.errors import DemonstrationError
from srm.files import write_whole
from srm.trajectory import Demonstrations

_WIDTH, _LINE, _COLUMNS, _MARGIN = (
    256,
    18,
    6,
    6,
)  # pixels of a frame and a line of text; frames in a row; pixels between
_LINES = 3  # under a frame
_INK, _PAPER = (20, 20, 20), (255, 255, 255)


@dataclass(frozen=True)
class Moment:
    """The environment after a step (or before the first), and its caption."""

    picture: np.ndarray  # [height, width, 3] uint8
    lines: tuple[str, ...]
    eventful: bool


def moments(demonstrations: Demonstrations, index: int, task: Task) -> Iterator[Moment]:
    """The T + 1 moments of an episode."""
    trajectory = demonstrations.trajectories[index]
    lines = captions(task.event_reader(), trajectory)
    for moment, picture in enumerate(_pictures(demonstrations, index, task)):
        if moment == 0:
            yield Moment(picture, (f"{demonstrations.env_id}",), True)
        else:
            step = moment - 1
            title = f"{moment}  {action_name(task.vocabulary, trajectory.actions[step])}"
            yield Moment(picture, (title, *lines[step]), bool(lines[step]))


def refuse_suffix(path: Path) -> None:
    if path.suffix not in (".gif", ".png"):
        raise DemonstrationError(f"{path}: a demonstration is drawn as .gif or .png")


def draw_demonstration(demonstrations: Demonstrations, index: int, task: Task, path: Path, pause: float) -> None:
    """Writes a GIF, with `pause` seconds a step, or a PNG, by the file's name."""
    refuse_suffix(path)
    all_moments, drawn = list(moments(demonstrations, index, task)), io.BytesIO()
    if path.suffix == ".png":
        _strip([_framed(moment) for moment in all_moments if moment.eventful]).save(drawn, "PNG")
        write_whole(path, drawn.getvalue())
        return
    frames = [_framed(moment) for moment in all_moments]
    longest = max(round(pause * 1000), 20)  # players take less for a mistake and play at their own pace
    times = [longest * (3 if moment.eventful else 1) for moment in all_moments]
    frames[0].save(drawn, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0)
    write_whole(path, drawn.getvalue())


def _pictures(demonstrations: Demonstrations, index: int, task: Task) -> Iterator[np.ndarray]:
    if demonstrations.seeds[index] == UNKNOWN_SEED:
        yield from (_as_seen(observation) for observation in demonstrations.trajectories[index].observations)
    else:
        for env in replay(demonstrations, index, task.environment):
            yield _rendered(env, task)


def _rendered(env: Any, task: Task) -> np.ndarray:
    try:
        rendered = env.render()
    except NotImplementedError:
        rendered = None
    except Exception as error:  # a renderer has kinds of its own, for a screen or a library that is missing
        raise DemonstrationError(
            f"{task.env_id} cannot be rendered here: {error}; leave -o out to print its steps"
        ) from None
    if rendered is None:
        raise DemonstrationError(f"{task.env_id} renders no pictures; leave -o out to print its steps")
    return np.asarray(rendered)


def _as_seen(observation: np.ndarray) -> np.ndarray:
    """An observation as the domain draws it that knows it."""
    drawing = [domain for domain in domains() if domain.picture is not None]
    for domain in drawing:
        picture = domain.picture and domain.picture(observation)
        if picture is not None:
            return picture
    known = " and ".join(f"{domain.title}'s" for domain in drawing)
    raise DemonstrationError(
        f"the seed of the environment is not known, and only {known} observations can be drawn without it"
    )


def _framed(moment: Moment) -> Image.Image:
    picture = Image.fromarray(moment.picture)
    picture = picture.resize((_WIDTH, max(1, picture.height * _WIDTH // picture.width)))
    frame = Image.new("RGB", (_WIDTH, picture.height + _LINES * _LINE + _MARGIN), _PAPER)
    frame.paste(picture)
    draw, font = ImageDraw.Draw(frame), ImageFont.load_default(size=14)
    for number, line in enumerate(moment.lines[:_LINES]):
        draw.text((2, picture.height + 2 + number * _LINE), line, _INK, font)
    return frame


def _strip(frames: list[Image.Image]) -> Image.Image:
    columns, (width, height) = min(_COLUMNS, len(frames)), frames[0].size
    rows = -(-len(frames) // columns)
    sheet = Image.new("RGB", (columns * (width + _MARGIN) + _MARGIN, rows * (height + _MARGIN) + _MARGIN), _PAPER)
    for number, frame in enumerate(frames):
        row, column = divmod(number, columns)
        sheet.paste(frame, (_MARGIN + column * (width + _MARGIN), _MARGIN + row * (height + _MARGIN)))
    return sheet
