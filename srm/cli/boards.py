"""The rows of a log for programs that draw curves while a run goes on: TensorBoard, and Weights & Biases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from srm.extras import require
from srm.files import refuse_link_outside
from srm.runs.folder import read_config
from srm.runs.run import Progress

PROJECT = "srm"  # where Weights & Biases keeps the runs
Write = Callable[[Mapping[str, float], int], None]  # of a row, after so many frames


@dataclass(frozen=True)
class Boards:
    """Where the log is written beside log.csv."""

    tensorboard: bool = False
    """write TensorBoard files into the run as well"""
    wandb: bool = False
    """log to Weights & Biases as well, in the project srm"""

    def refuse_missing(self) -> None:
        """Before a run is begun that could not be shown."""
        for extra in (name for name in ("tensorboard", "wandb") if getattr(self, name)):
            require(extra, f"--{extra}")

    @contextmanager
    def open(self, folder: Path) -> Iterator[Callable[[Progress], None]]:
        for name in ("tensorboard", "wandb"):  # of a run that is resumed and may be somebody else's
            refuse_link_outside(folder / name, folder)
        with ExitStack() as stack:
            boards = [stack.enter_context(_tensorboard(folder))] if self.tensorboard else []
            boards += [stack.enter_context(_wandb(folder))] if self.wandb else []

            def show(progress: Progress) -> None:
                known = {n: v for n, v in progress.row.items() if n not in ("round", "frames") and v == v}
                for write in boards:
                    write(known, int(progress.row["frames"]))

            yield show


@contextmanager
def _tensorboard(folder: Path) -> Iterator[Write]:
    from torch.utils.tensorboard import SummaryWriter

    board = SummaryWriter(str(folder / "tensorboard"))

    def write(row: Mapping[str, float], frames: int) -> None:
        for name, value in row.items():
            board.add_scalar(name, value, frames)

    try:
        yield write
    finally:
        board.close()


@contextmanager
def _wandb(folder: Path) -> Iterator[Write]:
    # It keeps its files in the folder of the run, where it finds a run that was killed when that is resumed.
    online = require("wandb", "--wandb").init(
        project=PROJECT, name=folder.name, dir=str(folder), config=read_config(folder), resume="auto"
    )
    try:
        yield lambda row, frames: online.log(dict(row), step=frames)
    finally:
        online.finish()
