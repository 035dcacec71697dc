"""How a run is getting on: the same row of the log as a picture, as HTML and as a line."""

from __future__ import annotations

import math
from io import StringIO

import pytest
from rich.console import Console

from srm.report.progress import as_html, in_notebook, line, picture, shown_progress
from srm.runs.run import Progress

TRAINING = Progress(
    {"frames": 500, "return": 0.5, "success": 0.75}, 2000, 100.0, 12, {"unlock": 0.25, "later": math.nan}
)
HOLES = {"hole.goal": 1.5, "spread.goal": 0.25, "hole.drop": -0.5, "spread.drop": 1.0}
LEARNING = Progress({**TRAINING.row, **HOLES}, 2000, 100.0, 100, {})


def printed(progress: Progress) -> str:
    console = Console(file=StringIO(), width=120)
    console.print(picture(progress))
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def test_a_picture_says_how_far_the_run_is_and_of_how_many_episodes_the_means_are() -> None:
    text = printed(TRAINING)
    assert "500 of 2,000 frames" in text
    assert "0 min 15 s left at most" in text
    assert "return 0.500   success 0.750 of 12 episodes" in text
    assert "unlock 0.25 an episode" in text


def test_holes_are_marked_on_one_scale_with_nothing_in_the_middle() -> None:
    goal, drop = (line for line in printed(LEARNING).splitlines() if line.startswith("?"))
    assert "+1.50 ± 0.25" in goal
    assert "-0.50 ± 1.00" in drop
    assert goal.index("│") < goal.index("●")  # above 0
    assert drop.index("●") < drop.index("│")  # below


def test_a_line_has_the_same_numbers_and_a_dash_for_what_is_not_known() -> None:
    assert line(LEARNING) == (
        "500/2000 frames  100/s  return 0.500  success 0.750  15 s left at most  goal +1.50  drop -0.50"
    )
    assert "return -  success -" in line(
        Progress({"frames": 1, "return": math.nan, "success": math.nan}, 2, 1.0, 0, {})
    )


def test_in_a_notebook_a_picture_is_html_of_its_own_style() -> None:
    html = as_html(picture(LEARNING))
    assert html.startswith("<pre style=")
    assert "?goal" in html
    assert "<style" not in html


def test_where_nobody_watches_a_line_is_printed_at_first_and_then_rarely(capsys: pytest.CaptureFixture[str]) -> None:
    assert not in_notebook()
    with shown_progress() as show:
        show(TRAINING)
        show(TRAINING)
    assert capsys.readouterr().err == f"{line(TRAINING)}\n"
    with shown_progress(visible=False) as show:
        show(TRAINING)
    assert capsys.readouterr().err == ""
