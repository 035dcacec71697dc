"""The page of a learning run, as a reader meets it: opened from disk in Chromium."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from minigrid.core.grid import Grid
from PIL import Image

from srm.domains.demonstrations import load as load_demonstrations
from srm.domains.record import replay
from srm.machine.language.parse import load
from srm.report.run.learning import write_report
from srm.runs.rule_rates import rule_names
from tests.report.look import NARROW, WIDE, Look, look_at
from tests.report.sample import write_run


@pytest.fixture
def look(browser: Any, folder: Path) -> Any:
    with look_at(browser, folder / "report.html") as look:
        yield look


def edited(folder: Path, target: Path, name: str, change: Any) -> Path:
    """A copy of a run with one JSON file changed, and its report."""
    shutil.copytree(folder, target)
    content = json.loads((target / name).read_text())
    change(content)
    (target / name).write_text(json.dumps(content))
    return write_report(target)


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("+", ""))


# Opening


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, 820, NARROW])
def test_it_opens_from_disk_without_complaint_and_fits_its_window(browser, folder, width, scheme):
    with look_at(browser, folder / "report.html", width, scheme) as look:
        look.page.click("#paid-after")
        look.page.click("text=by rule")
        for summary in look.page.query_selector_all("#configuration summary"):
            summary.click()
        assert look.page.query_selector_all("#loss-charts svg path.line")
        assert look.overflow <= 0
        assert look.complaints == []


def test_the_dark_page_is_dark_and_the_light_one_light(browser, folder):
    shades = {}
    for scheme in ("light", "dark"):
        with look_at(browser, folder / "report.html", scheme=scheme) as look:
            told = look.page.evaluate("getComputedStyle(document.body).backgroundColor")
            card = look.page.evaluate("getComputedStyle(document.querySelector('#machine .card')).fill")
            shades[scheme] = [np.mean([int(part) for part in re.findall(r"\d+", rgb)[:3]]) for rgb in (told, card)]
    assert min(shades["light"]) > 200
    assert max(shades["dark"]) < 60


def test_a_run_under_way_has_a_page_of_what_there_is(browser, folder, tmp_path):
    run = tmp_path / "under way"
    run.mkdir()
    for name in ("config.json", "machine.srm", "log.csv"):
        shutil.copy(folder / name, run / name)
    with look_at(browser, write_report(run)) as look:
        assert "This run has not ended" in look.text("header")
        assert look.page.query_selector("#curve-charts svg")
        assert look.page.query_selector("#replay") is None
        assert look.complaints == []


def test_a_name_that_looks_like_markup_is_only_a_name(browser, folder, tmp_path):
    hostile = "</script><script>console.log('ran')</script><img src=x onerror=\"console.log('ran')\">"

    def poison(config: dict[str, Any]) -> None:
        config["command"] = hostile
        config["learning"]["task"] = hostile

    path = edited(folder, tmp_path / "run", "config.json", poison)
    shown = edited(
        path.parent, tmp_path / "again", "episodes.json", lambda told: told["episodes"][0].update(env_id=hostile)
    )
    with look_at(browser, shown) as look:
        assert look.text(".command") == hostile
        assert hostile in look.text("#episode-outcome")
        assert look.complaints == []


def test_without_scripts_the_tables_can_still_be_read(browser, folder):
    with look_at(browser, folder / "report.html", script=False) as look:
        assert look.page.is_visible("#paid-by-hole table")
        assert look.page.is_visible("#paid-by-rule table")
        assert look.overflow <= 0


# Values


def test_values_on_the_page_are_those_of_the_learnt_machine(look: Look, folder: Path):
    rows = look.page.evaluate(
        "[...document.querySelectorAll('.posterior tbody tr')].map(row => [...row.cells].map(cell => cell.innerText))"
    )
    shown = {row[0]: number(row[1]) for row in rows}
    assert shown == {f"?{name}": value for name, value in load(folder / "learnt.srm").values().items()}
    drawn = look.page.text_content("#machine svg.srm-machine")
    for hole in load(folder / "learnt.srm").holes:
        assert f"{hole.value:g}".replace("-", "−") in drawn


def test_a_hole_that_nobody_exercised_is_marked(look: Look):
    assert look.page.inner_text(".posterior tr:has-text('?drop')").endswith("set by the constraint alone")
    assert "?drop" in look.text("#machine > .note")


def test_every_rule_has_a_chart_of_its_rate(look: Look, folder: Path):
    names = look.page.locator("#rule-charts .entry").all_inner_texts()
    assert [name.split()[0] for name in names] == list(rule_names(load(folder / "machine.srm")))
    assert not look.page.locator("#loss-charts .entry", has_text="rule.").count()


def test_what_an_episode_was_paid_adds_up_from_holes_and_from_rules(look: Look):
    for table in ("#paid-by-hole", "#paid-by-rule"):
        rows = look.page.evaluate(
            f"[...document.querySelectorAll('{table} tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"
        )
        for _, _, _, _, paid, *parts in rows:
            amounts = [number(re.sub("×.*", "", part)) for part in parts if part != "·"]
            assert sum(amounts) == pytest.approx(number(paid), abs=0.006 * len(amounts) + 0.001)


# Charts


def test_a_legend_entry_switches_its_line(look: Look):
    entry = look.page.locator("#curve-charts button", has_text="share of episodes solved")
    lines = look.page.locator("#curve-charts figure").first.locator("path.line")
    assert lines.count() == 2
    entry.click()
    assert lines.count() == 1
    assert entry.get_attribute("aria-pressed") == "false"


def test_arrow_keys_read_values_off_all_charts_of_a_group(look: Look):
    first = look.page.locator("#hole-charts figure").first
    before = first.locator(".reading").inner_text()
    first.locator("svg").focus()
    look.page.keyboard.press("ArrowRight")
    assert first.locator(".reading").inner_text() != before
    told = look.page.locator("#hole-charts .where").all_inner_texts()
    assert len(set(told)) == 1
    assert told[0] == "at 8192 frames"


# Replay


def pixels(look: Look, canvas: str = "#env") -> np.ndarray:
    """The canvas as [height, width, 3]."""
    url = look.page.evaluate(f"document.querySelector('{canvas}').toDataURL()")
    content = base64.b64decode(url.partition(",")[2])
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


def test_the_world_looks_as_minigrid_draws_it(look: Look, folder: Path):
    envs = replay(load_demonstrations(folder / "demonstrations.npz"), 0)
    moment = -1
    for _ in range(4):  # the start, and the three steps that are paid
        while moment < int(look.page.input_value("#moment")):
            env, moment = next(envs), moment + 1
        drawn = pixels(look)
        edge = drawn.shape[1] // env.unwrapped.width
        truth = env.unwrapped.get_frame(highlight=True, tile_size=edge).astype(int)
        assert drawn.shape == truth.shape
        assert np.abs(drawn - truth).mean() < 2.0
        look.page.click("#paid-after")


def test_every_thing_looks_as_minigrid_draws_it(browser, folder, tmp_path):
    things = [(kind, colour, 0) for kind in (2, 3, 5, 6, 7) for colour in (3, 4)]
    things += [(4, colour, state) for colour in (0, 3) for state in (0, 1, 2)] + [(8, 1, 0), (9, 0, 0)]
    things += [(1, 0, 0)] * 18  # the agent stands on the last of them
    cells = np.array(things, np.uint8).reshape(12, 3, 3)

    def furnish(told: dict[str, Any]) -> None:
        grid = told["episodes"][0]["grid"]
        nothing = base64.b64encode(bytes(len(base64.b64decode(grid["seen"])))).decode()
        content = base64.b64encode(cells.tobytes()).decode()
        grid |= {"width": 12, "height": 3, "cells": content, "poses": [11, 2, 1] * 100, "seen": nothing}

    with look_at(browser, edited(folder, tmp_path / "run", "episodes.json", furnish)) as look:
        drawn = pixels(look)
        edge = drawn.shape[0] // 3
        truth = Grid.decode(cells)[0].render(edge, agent_pos=(11, 2), agent_dir=1).astype(int)
        off = np.abs(drawn - truth).reshape(3, edge, 12, edge, 3).mean(axis=(1, 3, 4))
        assert off.max() < 8.0, f"cell {np.unravel_index(off.argmax(), off.shape)} differs"


def test_the_own_view_is_what_the_policy_saw(look: Look, folder: Path):
    look.page.locator("#replay").scroll_into_view_if_needed()
    trajectory = load_demonstrations(folder / "demonstrations.npz").trajectories[0]
    for observation in trajectory.observations:
        grid, visible = Grid.decode(observation)
        truth = grid.render(12, agent_pos=(3, 6), agent_dir=3, highlight_mask=visible).astype(int)
        assert np.abs(pixels(look, "#own-view") - truth).mean() < 4.0
        look.page.keyboard.press("ArrowRight")


def test_stepping_scrubbing_and_playing_move_the_replay(look: Look):
    page, slider = look.page, look.page.locator("#moment")
    steps = int(slider.get_attribute("max"))
    seen = [pixels(look)]
    page.click("#step-on")
    seen.append(pixels(look))
    slider.fill(str(steps))
    seen.append(pixels(look))
    assert not any((a == b).all() for a, b in pairwise(seen))
    assert look.text("#step-title").startswith(f"Step {steps} of {steps}")
    assert page.is_disabled("#step-on")
    page.click("#to-start")
    assert (pixels(look) == seen[0]).all()
    page.select_option("#speed", "15")
    page.click("#play")
    page.wait_for_selector("#step-on:disabled")
    assert look.text("#play") == "play"  # it stopped by itself
    page.click("#step-back")
    assert slider.input_value() == str(steps - 1)


def test_keys_step_jump_and_play(look: Look):
    page, moment = look.page, lambda: int(look.page.input_value("#moment"))
    page.locator("#replay").scroll_into_view_if_needed()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert moment() == 1
    page.keyboard.press("Shift+ArrowRight")
    assert look.text("#step-pay") != "0"
    page.focus("#moment")
    page.keyboard.press("End")
    assert moment() == int(page.get_attribute("#moment", "max"))
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    assert look.text("#play") == "pause"
    page.keyboard.press("ArrowRight")
    assert look.text("#play") == "play"


def test_keys_leave_the_page_alone_where_the_replay_is_out_of_sight(look: Look):
    look.page.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
    look.page.keyboard.press("ArrowRight")
    assert look.page.input_value("#moment") == "0"


def test_the_drawing_follows_the_machine(look: Look):
    def lit(kind: str) -> list[str]:
        parts = look.page.query_selector_all(f"#replay-drawing [data-{kind}].active")
        return sorted({part.get_attribute(f"data-{kind}") for part in parts})

    assert lit("node") == ["before_unlocking"]
    look.page.click("#paid-after")
    assert (lit("node"), lit("rule")) == (["before_unlocking"], ["before_unlocking.1"])
    look.page.click("#paid-after")
    assert (lit("node"), lit("rule")) == (["after_unlocking"], ["before_unlocking.3"])
    look.page.click("#to-end")
    assert (lit("node"), lit("rule")) == (["end"], ["after_unlocking.2"])


def test_the_running_total_of_every_episode_ends_at_what_it_was_paid(look: Look, folder: Path):
    told = json.loads((folder / "episodes.json").read_text())["episodes"]
    assert [episode["kind"] for episode in told] == ["demonstration"] * 3 + ["policy"] * 3
    for index, episode in enumerate(told):
        look.page.select_option("#episode-choice", str(index))
        look.page.click("#to-end")
        assert number(look.text("#paid-so-far")) == pytest.approx(episode["pay"], abs=0.005)
        assert number(look.text("#return-so-far")) == pytest.approx(episode["return"], abs=0.005)


def test_hindsight_changes_the_running_total_when_it_happens(browser, tmp_path):
    run = tmp_path / "run"
    write_run(run, "obstructedmaze", "obstructedmaze_1", demonstrations=1, episodes=0)

    def pay_more_later(told: dict[str, Any]) -> None:
        (episode,) = told["episodes"]
        unlocking = next(entry for entry in episode["trace"] if "repaid" in entry)
        unlocking["repaid"][0]["now"] += 0.3
        earlier = next(entry for entry in episode["trace"] if entry["step"] == unlocking["repaid"][0]["step"])
        earlier["kept"] += 0.3
        episode["pay"] += 0.3

    path = edited(run, tmp_path / "edited", "episodes.json", pay_more_later)
    with look_at(browser, path) as look:
        page, paid = look.page, lambda: number(look.text("#paid-so-far"))
        page.click("#paid-after")
        assert (look.text("#step-pay"), paid()) == ("+0.1", 0.1)
        assert "made this +0.4" in look.text("#step-facts")
        page.click("#trace >> text=unlock_door")
        assert "+0.1 becomes +0.4" in look.text("#step-facts")
        before = paid()
        page.click("#step-back")
        assert before - paid() == pytest.approx(0.6 + 0.3)
        page.click("#to-end")
        assert paid() == pytest.approx(5.6 + 0.3)


def test_a_row_of_the_table_opens_its_episode(look: Look):
    look.page.click("#paid-by-hole >> text=Policy episode 2")
    assert look.page.evaluate("document.querySelector('#episode-choice').selectedOptions[0].text") == "Policy episode 2"


def test_an_entry_of_the_trace_leads_to_its_step(look: Look):
    look.page.click("#trace >> text=unlock_door")
    assert "unlock_door" in look.text("#step-facts")
    assert look.page.get_attribute("#trace button:has-text('unlock_door')", "aria-current") == "step"


def test_what_holes_have_paid_adds_up_to_what_was_paid(look: Look):
    look.page.click("text=Pay by hole, added up")
    look.page.click("#to-end")
    sums = [number(value.inner_text()) for value in look.page.query_selector_all("#share-strips b")]
    assert len(sums) > 1
    assert sum(sums) == pytest.approx(number(look.text("#paid-so-far")), abs=0.005)
    assert not look.page.is_visible("#signal-strips"), "a grid has no signals"


def test_signals_are_drawn_over_time_with_the_thresholds_of_guards(browser, folder, tmp_path):
    def change(content: Any) -> None:
        content["thresholds"] = {"speed": {"speed > ?safe": 2.5}}
        for episode in content["episodes"]:
            episode["signals"] = [{"speed": step, "tilt": 0} for step in range(len(episode["actions"]))]

    path = edited(folder, tmp_path / "run", "episodes.json", change)
    with look_at(browser, path) as look:
        speed = look.page.query_selector_all("#signal-strips .strip")[0]
        assert len(speed.query_selector_all(".cut")) == 1
        assert "speed –" in speed.inner_text()
        for _ in range(3):
            look.page.click("#step-on")
        assert "speed 2 (speed > ?safe: 2.5)" in speed.inner_text()  # what the third step read
        cut, dot = (float(speed.query_selector(part).get_attribute(y)) for part, y in ((".cut", "y1"), (".dot", "cy")))
        assert cut < dot, "the reading lies below the threshold"
        assert look.complaints == []
        box = speed.query_selector("svg").bounding_box()
        look.page.mouse.click(box["x"] + box["width"] - 1, box["y"] + 5)
        assert look.page.is_disabled("#step-on"), "a click at the right end goes to the end"


def test_an_episode_that_cannot_be_shown_is_still_told(browser, folder, tmp_path):
    path = edited(folder, tmp_path / "run", "episodes.json", lambda told: [e.pop("grid") for e in told["episodes"]])
    with look_at(browser, path) as look:
        assert not look.page.is_visible("#env")
        look.page.click("#paid-after")
        assert "pick_up_key" in look.text("#step-facts")
        assert look.complaints == []


def test_pictures_of_another_environment_are_shown(browser, folder, tmp_path):
    images = []
    for shade in (40, 200):
        file = io.BytesIO()
        Image.new("RGB", (60, 40), (shade, 0, 0)).save(file, "WEBP")
        images.append("data:image/webp;base64," + base64.b64encode(file.getvalue()).decode())

    def change(told: dict[str, Any]) -> None:
        for episode in told["episodes"]:
            del episode["grid"]
            episode["pictures"] = {
                "images": images,
                "at": [moment % 2 for moment in range(len(episode["actions"]) + 1)],
            }

    path = edited(folder, tmp_path / "run", "episodes.json", change)
    with look_at(browser, path) as look:
        assert look.page.evaluate("document.getElementById('picture').naturalWidth") == 60
        first = look.page.get_attribute("#picture", "src")
        look.page.click("#step-on")
        assert look.page.get_attribute("#picture", "src") != first
        assert look.complaints == []


# For everybody


def test_everything_that_can_be_worked_or_seen_has_a_name(look: Look):
    nameless = look.page.evaluate(
        """[...document.querySelectorAll('button, select, input, a, canvas, [role=img], [role=region]')]
        .filter(part => !part.hidden && !(part.innerText || part.ariaLabel || part.labels?.length
            || part.getAttribute('aria-labelledby') || part.querySelector('title')))
        .map(part => part.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
