"""The page that compares curves, as a reader meets it: opened from disk in Chromium."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from srm.cli import main
from tests.report.compare.curves import write_measured, write_suite
from tests.report.look import NARROW, WIDE, Look, look_at


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two curves in one environment, a third in another, under way; with its report."""
    out = write_suite(tmp_path_factory.mktemp("runs") / "doors")
    write_measured(out / "maze" / "seed0", [0.1, 0.2], env_id="MiniGrid-Maze-v0", finished=False)
    (out / "plain" / "seed0" / "report.html").write_text("a page")
    assert main(["report", str(out), "--csv"]) == 0
    return out


@pytest.fixture
def look(browser: Any, suite: Path) -> Any:
    with look_at(browser, suite / "report" / "index.html") as look:
        yield look


def numbers_of(look: Look, table: str) -> dict[str, list[float | None]]:
    """What the cells of each row hold, by the row's first cell."""
    rows = look.page.evaluate(
        f"""[...document.querySelectorAll('{table} tbody tr')].map(row =>
        [row.cells[0].innerText.trim(), [...row.querySelectorAll('td[data-value], td.number:not([data-value])')].map(cell =>
            cell.dataset.value === undefined ? null : Number(cell.dataset.value))])"""
    )
    return dict(rows)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_it_opens_from_disk_without_complaint_and_fits_its_window(browser, suite, width, scheme):
    with look_at(browser, suite / "report" / "index.html", width, scheme) as look:
        assert look.page.locator("#by-frames svg path.line").count() >= 3
        assert look.page.locator("#share-charts svg path.line").count() >= 3
        look.page.click("text=against time")
        assert look.page.locator("#by-time svg path.line").count() >= 3
        assert not look.page.is_visible("#by-frames")
        assert look.overflow <= 0
        assert look.complaints == []


def test_the_numbers_on_the_page_are_those_of_final_csv(look: Look, suite: Path):
    with (suite / "report" / "final.csv").open() as file:
        told = {row["curve"]: row for row in csv.DictReader(file)}
    shown = numbers_of(look, "#final")
    assert set(shown) == set(told) == {"machine", "plain", "maze"}
    for curve, row in told.items():
        _, value, _, mean, average, _ = shown[curve]
        for number, name in ((value, "return"), (mean, "return_mean"), (average, "average")):
            assert number == (pytest.approx(float(row[name])) if row[name] else None)
    for curve, (_, frames, _) in numbers_of(look, "#reach").items():
        asked = told[curve]["frames_to_reach"]
        assert frames == (float(asked) if asked else None)
    assert "0.91" in look.text("#final tr:has-text('machine')")
    assert "0.9 … 0.92" in look.text("#final tr:has-text('machine')")


def test_a_legend_entry_switches_its_curve_wherever_it_is_drawn(look: Look):
    def lines(chart: str) -> int:
        return look.page.locator(chart).first.locator("path.line:not(.partial)").count()

    entry = look.page.locator("#by-frames button", has_text="plain")
    assert (lines("#by-frames figure"), lines("#profile-chart figure")) == (2, 2)
    entry.click()
    assert (lines("#by-frames figure"), lines("#profile-chart figure")) == (1, 1)
    assert look.page.locator("#profile-chart button", has_text="plain").get_attribute("aria-pressed") == "false"
    look.page.click("text=against time")  # what is folded is drawn once it is opened, a moment later
    drawn = look.page.locator("#by-time figure").first.locator("path.line:not(.partial)")
    expect(drawn).to_have_count(1)
    look.page.locator("#by-time button", has_text="plain").click()
    expect(drawn).to_have_count(2)


def test_pointing_at_a_curve_reads_it_off(look: Look):
    reading = look.page.locator("#by-frames .entry", has_text="machine").locator(".reading")
    assert reading.inner_text() == "0.91 [0.9, 0.92]"
    box = look.page.locator("#by-frames svg").first.bounding_box()
    look.page.mouse.move(box["x"] + box["width"] * 0.38, box["y"] + 50)
    assert re.fullmatch(r"at 3\d{3} frames", look.page.locator("#by-frames .where").first.inner_text())
    assert reading.inner_text() == "0.65 [0.6, 0.7]"


def test_runs_at_their_goal_are_marked_where_they_stopped(look: Look):
    assert look.page.locator("#by-frames figure").first.locator("circle.mark").count() == 3
    assert look.text("#runs tr:has-text('machine/seed0')").count("stopped at 0.9") == 1


def test_every_run_is_listed_with_links_that_lead_to_it(look: Look, suite: Path):
    links = look.page.evaluate("[...document.querySelectorAll('#runs a')].map(a => [a.innerText, a.href])")
    assert len(links) == 8
    assert ["plain/seed2", f"{(suite / 'plain' / 'seed2').as_uri()}/"] in links
    assert ["page", (suite / "plain" / "seed0" / "report.html").as_uri()] in links
    assert "not over" in look.text("#runs tr:has-text('maze')")
    for href in look.page.evaluate("[...document.querySelectorAll('#files a')].map(a => a.getAttribute('href'))"):
        assert (suite / "report" / href).exists()


def test_holes_are_told_by_seed(look: Look):
    assert look.page.locator("#holes tbody tr").count() == 2
    row = look.text("#holes tr:has-text('?goal')").split()
    assert row == ["?goal", "1.1", "1", "±", "0.25", "1.1", "±", "0.25", "1.2", "±", "0.25"]
    assert look.page.locator("#holes tr:has-text('?goal') circle").count() == 3


def test_without_scripts_the_tables_can_still_be_read(browser, suite):
    with look_at(browser, suite / "report" / "index.html", script=False) as look:
        assert look.page.is_visible("#final table")
        assert look.page.is_visible("#reach circle >> nth=0")
        assert look.overflow <= 0


def test_a_name_that_looks_like_markup_is_only_a_name(browser, tmp_path):
    hostile = "<img src=x onerror=console.log(1)>"
    for seed in (0, 1):
        run = write_measured(
            tmp_path / hostile / f"seed{seed}", [0.1, 0.2], seed=seed, kind="learn", holes={"a<b": 1.0}
        )
        config = json.loads((run / "config.json").read_text())
        (run / "config.json").write_text(json.dumps(config | {"command": hostile, "env_id": hostile}))
    assert main(["report", str(tmp_path)]) == 0
    with look_at(browser, tmp_path / "report" / "index.html") as look:
        assert hostile in look.text("#runs")
        assert look.text("h1") == hostile
        assert look.complaints == []


def test_everything_that_can_be_worked_or_seen_has_a_name(look: Look):
    nameless = look.page.evaluate(
        """[...document.querySelectorAll('button, a, [role=img], [role=region]')]
        .filter(part => !(part.innerText || part.textContent || part.ariaLabel || part.querySelector('title')))
        .map(part => part.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
