"""The notebooks run from top to bottom, elsewhere than where they stand, and show what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
nbclient = pytest.importorskip("nbclient")

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"


def executed(name: str, folder: Path) -> Any:
    notebook = nbformat.read(FOLDER / name, as_version=4)
    return nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()


def outputs(notebook: Any, kind: str) -> list[str]:
    return [
        output["data"][kind]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if kind in output.get("data", {})
    ]


def printed(notebook: Any, stream: str) -> str:
    return "".join(
        output["text"] for cell in notebook.cells for output in cell.get("outputs", ()) if output.get("name") == stream
    )


def test_no_output_is_kept_that_could_grow_old() -> None:
    for path in FOLDER.glob("*.ipynb"):
        cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        assert [cell.source for cell in cells if cell.outputs or cell.execution_count is not None] == [], path


@pytest.mark.slow
def test_first_steps_shows_the_machine_the_posterior_and_the_run(tmp_path: Path) -> None:
    notebook = executed("first_steps.ipynb", tmp_path)
    shown = outputs(notebook, "text/html")
    assert shown[0].startswith("<svg")
    assert "no loop can be repeated without end for gain" in shown[1]
    assert "What is known of each hole" in shown[2]
    assert "of 20,000 frames" in shown[3]  # progress, as it was last drawn
    assert "data:image/svg+xml" in shown[4]
    assert outputs(notebook, "image/svg+xml")  # posterior.plot()
    assert "MiniGrid-DoorKey-6x6-v0, 20 episodes" in outputs(notebook, "text/plain")[-1]
    assert printed(notebook, "stderr") == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_own_loop_solves_more_on_a_machine_than_on_the_task_alone(tmp_path: Path) -> None:
    notebook = executed("own_training_loop.ipynb", tmp_path)
    lines = [line.split() for line in printed(notebook, "stdout").splitlines() if "solved" in line]
    machine, task, learnt = (int(words[words.index("solved") + 1]) for words in lines)
    assert machine > 2 * task
    assert learnt > 2 * task
    assert printed(notebook, "stderr") == ""
