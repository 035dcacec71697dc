"""The page of an inference, and the same parts on the page of a learning run; pages of Algorithm 1 keep their table."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from srm.cli import main
from srm.errors import RunError
from srm.infer.posterior.record import HoleRecord, PressedAtom, Summary
from srm.machine.language.parse import load
from srm.report.run.inference import posterior_page, write_posterior_report
from srm.report.run.learning import write_report
from srm.report.run.marginals import marginal, pair
from srm.report.run.summary import read_summary
from tests.report.look import NARROW, WIDE, look_at

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def inferred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An inference on DoorKey with few sweeps. Tests must not write into it."""
    folder = tmp_path_factory.mktemp("inferred") / "doorkey"
    quick = ["--posterior.first-look", "40", "--posterior.sweeps", "40", "-n", "4", "--frames", "1600"]
    assert main(["infer", "doorkey", *quick, "-o", str(folder)]) == 0
    return folder


@pytest.fixture
def summary(inferred: Path) -> Summary:
    return read_summary(inferred / "posterior.json")


def page_of(folder: Path, summary: Summary, **config: Any) -> str:
    machine, learnt = load(folder / "machine.srm"), load(folder / "learnt.srm")
    return posterior_page(folder, {"env_id": "E", "command": "srm infer", **config}, machine, learnt, summary)


def ids(page: str) -> list[str]:
    return re.findall(r'<section id="([\w-]+)"', page)


def test_the_page_has_all_its_parts_and_no_script(inferred: Path) -> None:
    page = (inferred / "report.html").read_text()
    assert ids(page)[0] == "marginals"
    assert {"deciding", "atoms", "convergence", "machine", "configuration"} <= set(ids(page))
    assert "<script" not in page
    assert "has NOT converged" in page
    assert page.count('class="drawn"') == 5
    for name in load(inferred / "machine.srm").hole_names:
        assert f"?{name}" in page


def test_srm_report_writes_the_same_page_again(
    inferred: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "doorkey"
    shutil.copytree(inferred, folder)
    (folder / "report.html").unlink()
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    assert (folder / "report.html").read_text() == (inferred / "report.html").read_text()


def test_a_comparison_of_a_folder_leaves_inferences_out(inferred: Path, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "all" / "learnt")
    shutil.copytree(inferred, tmp_path / "all" / "inferred")
    assert main(["report", str(tmp_path / "all")]) == 0
    assert (tmp_path / "all" / "report" / "index.html").exists()


def test_names_from_files_cannot_become_markup(inferred: Path, summary: Summary) -> None:
    hole = summary.holes[0]
    steps = (replace(hole.steps[0], events=(EVIL,), rule=EVIL, text=EVIL),)
    evil = replace(
        summary,
        machine=EVIL,
        holes=(replace(hole, steps=steps), *summary.holes[1:]),
        pressed=(PressedAtom(EVIL, 2.0),),
        unproved=(EVIL,),
    )
    page = page_of(inferred, evil, command=EVIL, env_id=EVIL, inference={EVIL: EVIL}, versions={EVIL: EVIL})
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 8


def test_atoms_are_marked_where_they_were_added_or_are_pressed(inferred: Path, summary: Summary) -> None:
    page = page_of(inferred, replace(summary, pressed=(PressedAtom('"penalty for closing door" ?close <= 0', 2.5),)))
    row = re.search(r"<tr><td><code>\?close &lt;= 0</code>.*?</tr>", page)
    assert row
    assert "pressed: +2.5 log-odds beyond it" in row[0]
    assert page.count("log-odds") == 1
    assert ">added<" not in page


def test_pictures_are_well_formed_and_stay_in_their_frame(summary: Summary) -> None:
    for hole in summary.holes:
        for end in (0.0, 150.0, -3.0):  # far from 0, and around it
            moved = replace(
                hole, extent=(hole.extent[0] + end, hole.extent[1] + end), low=hole.low + end, high=hole.high + end
            )
            assert _is_inside(str(marginal(moved)))
    for record in summary.tradeoffs:
        assert _is_inside(re.search(r"<svg.*</svg>", pair(record))[0])  # type: ignore[index]


def _is_inside(svg: str) -> bool:
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    across = [
        float(part.attrib[name]) for part in root.iter() for name in ("x", "x1", "x2", "cx") if name in part.attrib
    ]
    down = [float(part.attrib[name]) for part in root.iter() for name in ("y", "y1", "y2", "cy") if name in part.attrib]
    return 0 <= min(across) <= max(across) <= width and 0 <= min(down) <= max(down) <= height


def test_a_histogram_covers_the_same_area_whatever_its_bins(summary: Summary) -> None:
    hole: HoleRecord = replace(summary.holes[0], drawn=(0, 4, 0, 0, 0, 0, 0), before=(1,) * 7, extent=(0.0, 7.0))
    path = re.search(r'class="drawn" d="([^"]*)"', marginal(hole))
    assert path
    heights = [float(number) for number in re.findall(r"V ([\d.]+)", path[1])]
    assert heights[1] == min(heights)
    assert heights[0] == heights[2] == max(heights)


def test_a_narrow_interval_has_decimals_enough_to_tell_its_ends_apart(inferred: Path, summary: Summary) -> None:
    narrow = replace(summary.holes[0], mean=0.1403, low=0.1392, high=0.1417, spread=0.0008)
    page = page_of(inferred, replace(summary, holes=(narrow, *summary.holes[1:])))
    assert "0.13920 … 0.14170" in page
    assert replace(narrow, spread=0.0).decimals == replace(narrow, spread=3.0).decimals == 2


def test_posteriors_of_another_machine_are_refused(inferred: Path, tmp_path: Path) -> None:
    folder = tmp_path / "doorkey"
    shutil.copytree(inferred, folder)
    content = json.loads((folder / "posterior.json").read_text())
    content["holes"], content["tradeoffs"] = content["holes"][1:], []
    (folder / "posterior.json").write_text(json.dumps(content))
    with pytest.raises(RunError, match="speaks of other holes"):
        write_posterior_report(folder)


# On the page of a learning run


def test_a_learning_run_with_draws_has_the_same_parts(inferred: Path, folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(folder, run)
    for name in ("posterior.json", "learnt.srm"):
        shutil.copyfile(inferred / name, run / name)
    page = write_report(run).read_text()
    assert {"curve", "marginals", "deciding", "atoms", "convergence", "checks", "replay"} <= set(ids(page))
    assert 'class="posterior"' not in page


@pytest.mark.parametrize("kind", [None, "algorithm1"])
def test_a_run_of_algorithm_1_keeps_its_table(folder: Path, tmp_path: Path, kind: str | None) -> None:
    run = tmp_path / "sample"
    shutil.copytree(folder, run)
    content = json.loads((run / "posterior.json").read_text())
    if kind is not None:
        (run / "posterior.json").write_text(json.dumps({"kind": kind, **content}))
    page = write_report(run).read_text()
    assert page == (folder / "report.html").read_text()
    assert 'class="posterior"' in page
    assert "marginals" not in ids(page)


# In a browser


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light")])
def test_it_opens_from_disk_without_complaint_and_fits_its_window(browser, inferred, width, scheme):
    with look_at(browser, inferred / "report.html", width, scheme) as look:
        assert look.overflow <= 0
        assert look.complaints == []
        assert look.page.locator("#marginals svg").count() == 5
