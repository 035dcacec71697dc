"""How a run is getting on, while it does: a live picture on a terminal and in a notebook, elsewhere a line every ten seconds.

The picture shows the frames played, the return and, where holes are being inferred, each hole with its spread on a common scale.
It shows too how often the machine's rules fire, by which a run that does not learn can be understood while it runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from typing import Any, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from srm.rl.episodes import of_few
from srm.runs.rule_rates import rates_text

LINE_SECONDS, PICTURE_SECONDS = 10.0, 0.5
WIDTH = 100  # characters of a picture in a notebook


class RoundProgress(Protocol):
    """Where a run stands after a round."""

    @property
    def row(self) -> Mapping[str, Any]: ...  # of the log

    @property
    def frames(self) -> int: ...  # to be played in all

    @property
    def speed(self) -> float: ...  # frames a second

    @property
    def counted(self) -> int: ...  # episodes of which the row has the means

    @property
    def milestones(self) -> Mapping[str, float]: ...  # how often the rules that tell most fire an episode

    @property
    def holes(self) -> Mapping[str, tuple[float, float]]: ...  # value and spread of each that is inferred


Show = Callable[[RoundProgress], None]


@contextmanager
def shown_progress(*, visible: bool = True) -> Iterator[Show]:
    """What to call with each round."""
    if not visible:
        yield lambda progress: None
    elif in_notebook():
        with _notebook() as show:
            yield show
    elif sys.stderr.isatty():
        with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as display:
            yield lambda progress: display.update(picture(progress))
    else:
        yield _every(LINE_SECONDS, lambda progress: print(line(progress), file=sys.stderr, flush=True))


def in_notebook() -> bool:
    """Whether what is displayed goes to a notebook, and not to a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _notebook() -> Iterator[Show]:
    """One output that is drawn anew, and says at the end how far the run got."""
    from IPython.display import HTML, display

    handle = display(HTML(""), display_id=True)
    last: RoundProgress | None = None
    draw = _every(PICTURE_SECONDS, lambda progress: handle.update(HTML(as_html(picture(progress)))))

    def show(progress: RoundProgress) -> None:
        nonlocal last
        last = progress
        draw(progress)

    try:
        yield show
    finally:
        if last is not None:
            handle.update(HTML(as_html(picture(last))))


def as_html(picture: Group) -> str:
    console = Console(file=StringIO(), record=True, width=WIDTH, force_jupyter=False)
    console.print(picture)
    lines = "<pre style='line-height:1.3;overflow-x:auto'>{code}</pre>"
    return console.export_html(inline_styles=True, code_format=lines)


def _every(seconds: float, show: Show) -> Show:
    last = float("-inf")

    def at_times(progress: RoundProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            show(progress)

    return at_times


def picture(progress: RoundProgress) -> Group:
    """Progress, return, and every hole with its spread as a mark on a common scale."""
    row, seconds = progress.row, _seconds_left(progress)
    head = Table.grid(padding=(0, 2))
    head.add_row(
        ProgressBar(total=progress.frames, completed=row["frames"], width=40),
        f"{row['frames']:,.0f} of {progress.frames:,} frames",
        f"{progress.speed:,.0f}/s",
        f"{seconds / 60:.0f} min {seconds % 60:02.0f} s left at most",
    )
    reached, success = (_number(row[name]) for name in ("return", "success"))
    means = Text(f"return {reached}   success {success}{of_few(progress.counted)}", style="bold")
    rates = [Text(text)] if (text := rates_text(progress.milestones).strip()) else []
    holes = progress.holes
    if not holes:
        return Group(head, means, *rates)
    widest = max(1e-9, *(abs(value) + spread for value, spread in holes.values()))
    marks = Table.grid(padding=(0, 1))
    for name, (value, spread) in holes.items():
        marks.add_row(f"?{name}", f"{value:+.2f}", f"± {spread:.2f}", _mark(value, spread, widest))
    return Group(head, means, *rates, marks)


def line(progress: RoundProgress) -> str:
    row = progress.row
    holes = "".join(f"  {name} {value:+.2f}" for name, (value, _) in progress.holes.items())
    return (
        f"{row['frames']:.0f}/{progress.frames} frames  {progress.speed:.0f}/s  return {_number(row['return'])}  "
        f"success {_number(row['success'])}{of_few(progress.counted)}{rates_text(progress.milestones)}  "
        f"{_seconds_left(progress):.0f} s left at most{holes}"
    )


def _seconds_left(progress: RoundProgress) -> float:
    return max(0.0, progress.frames - progress.row["frames"]) / max(progress.speed, 1e-9)


def _mark(value: float, spread: float, widest: float, half: int = 20) -> Text:
    """The hole on a line from -widest to widest: `|` at nothing, a bar for the spread, a dot for the value."""

    def at(x: float) -> int:
        return max(0, min(2 * half, round(half + half * x / widest)))

    cells = [" "] * (2 * half + 1)
    for i in range(at(value - spread), at(value + spread) + 1):
        cells[i] = "─"
    cells[half] = "│"
    cells[at(value)] = "●"
    return Text("".join(cells), style="green" if value > 0 else "red" if value < 0 else "dim")


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.3f}"
