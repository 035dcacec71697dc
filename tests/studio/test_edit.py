"""Editing in the browser: mistakes where they are, proofs as one types, and episodes paid anew as a slider moves."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from srm.evaluate.payer import read_rollout
from srm.evaluate.trace import trace
from srm.machine.language.parse import library_text, load, parse
from srm.studio import child as child_part
from srm.studio import edit as edit_part
from srm.studio.bench import Bench
from srm.studio.child import Child
from srm.studio.edit import Edit, verdict
from tests.report.look import Look
from tests.studio.numbers import MACHINE
from tests.studio.serving import Served, opened, serving

CHECKED = "#edit-proofs:has-text('notes')"


@pytest.fixture
def edit(look: Look) -> Look:
    look.page.click("#tab-edit")
    look.page.wait_for_selector(CHECKED)
    return look


def retype(look: Look, old: str, new: str) -> None:
    """As a person would: select the words, and type others."""
    place = look.page.input_value("#editor textarea").index(old)
    look.page.focus("#editor textarea")
    look.page.evaluate(f"document.querySelector('#editor textarea').setSelectionRange({place}, {place + len(old)})")
    look.page.keyboard.insert_text(new)


def ranking(look: Look) -> list[str]:
    return [line.split("\n")[0] for line in look.page.locator("#edit-ranking li").all_inner_texts()]


def test_a_machine_is_edited_into_an_error_and_out_of_it(edit: Look) -> None:
    retype(edit, "unlock_door  ", "unlok_door  ")
    edit.page.wait_for_selector("#edit-mistakes li")
    assert "did you mean unlock_door?" in edit.text("#edit-mistakes")
    assert edit.page.inner_text("#editor .mistake") == "unlok_door"
    assert edit.page.locator("#edit-drawing.stale").count() == 1
    retype(edit, "unlok_door", "unlock_door")
    edit.page.wait_for_selector("#edit-mistakes li", state="detached")
    edit.page.wait_for_selector("#edit-drawing:not(.stale) svg")
    assert edit.page.locator("#editor .mistake").count() == 0


def test_proofs_follow_the_text(edit: Look) -> None:
    assert "0 errors" in edit.text("#edit-proofs")
    retype(edit, "?close + ?unlock <= 0", '?close + ?unlock <= 0\n    "x" ?goal <= -1\n    "y" ?goal >= 1')
    edit.page.wait_for_selector("#edit-findings .badge.error")
    assert "cannot be met" in edit.text("#edit-findings")


def test_words_and_holes_are_completed_by_keys(edit: Look) -> None:
    retype(edit, "reach_goal    // ?goal", "reach_goal    // ?goa")
    edit.page.keyboard.press("Backspace")
    edit.page.wait_for_selector(".offers:not([hidden])")
    edit.page.keyboard.press("Enter")
    assert "reach_goal    // ?goal" in edit.page.input_value("#editor textarea")
    retype(edit, "drop_key ", "drop_k")
    edit.page.keyboard.press("Backspace")
    assert "puts the carried key" in edit.text(".offers")
    edit.page.keyboard.press("Tab")
    assert "drop_key" in edit.page.input_value("#editor textarea")


def test_a_slider_changes_the_ranking_the_verdict_and_the_margins(edit: Look) -> None:
    before = ranking(edit)
    assert before[0].startswith("Demonstration")
    edit.page.locator(".slider input[type=number]").nth(0).fill("-5")  # ?goal
    edit.page.keyboard.press("Enter")
    edit.page.wait_for_selector("#edit-margins .badge.error")
    edit.page.wait_for_selector("#edit-ranking li:first-child:has-text('Random')")
    assert ranking(edit) != before
    assert "shows nothing that you want" in edit.text("#edit-verdict")
    slider = edit.page.locator(".slider input[type=range]").nth(0)
    slider.focus()
    edit.page.keyboard.press("End")
    edit.page.wait_for_selector("#edit-ranking li:first-child:has-text('Demonstration')")


def test_values_of_sliders_pay_the_episode_under_way(edit: Look) -> None:
    edit.page.locator(".slider input[type=number]").nth(3).fill("0.5")  # ?pick
    edit.page.keyboard.press("Enter")
    edit.page.wait_for_selector("#edit-breaks-state:has-text('checking')", state="detached")
    edit.page.wait_for_timeout(400)
    edit.page.click("#tab-play")
    from tests.studio.test_play import press, solution

    for action in solution(int(edit.page.get_attribute("#world", "data-seed"))):
        press(edit, action)
        if action == 3:
            assert edit.text("#now-pay") == "+0.5"
            break


def test_a_file_is_not_written_over_without_a_word(edit: Look, tmp_path: Path) -> None:
    page = edit.page
    page.fill("#edit-name", "mine.srm")
    page.click("#edit-save")
    page.wait_for_selector("#edit-state:has-text('Saved')")
    saved = (tmp_path / "mine.srm").read_text()
    assert load(tmp_path / "mine.srm").name == "doorkey"
    page.click("#edit-save-values")
    page.wait_for_selector("#edit-over:not([hidden])")
    assert (tmp_path / "mine.srm").read_text() == saved
    page.click("#edit-over")
    page.wait_for_selector("#edit-state:has-text('Saved')")
    assert load(tmp_path / "mine.srm").values()
    page.fill("#edit-name", "../mine.srm")
    page.click("#edit-save")
    page.wait_for_selector("#trouble:not([hidden])")
    assert not (tmp_path.parent / "mine.srm").exists()


def test_a_machine_of_the_library_is_opened(edit: Look) -> None:
    edit.page.select_option("#edit-open", "keycorridor")
    edit.page.wait_for_selector("#edit-drawing svg[data-machine=keycorridor]")
    assert "before_finding_key" in edit.page.input_value("#editor textarea")


def test_a_machine_is_proposed_and_taken_back(browser: Any, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(_: Child, kind: str, question: dict[str, Any], *ends: str) -> dict[str, Any]:
        proposal = {
            "text": library_text("doorkey_handset"),
            "explanation": "it pays what was done",
            "summary": "2 nodes",
        }
        return proposal if kind == "propose" else {"findings": []}

    monkeypatch.setattr(Child, "ask", ask)
    with opened(browser, served.address) as look:
        look.page.click("#tab-edit")
        before = look.page.input_value("#editor textarea")
        look.page.click("#edit-propose")
        look.page.wait_for_selector("#edit-drawing svg[data-machine=doorkey_handset]")
        look.page.click("#edit-why summary")
        assert look.text("#edit-explanation") == "it pays what was done"
        assert look.page.input_value("#edit-name") == "proposed.srm"
        look.page.focus("#editor textarea")
        look.page.keyboard.press("Control+z")
        look.page.wait_for_selector("#edit-drawing svg[data-machine=doorkey]")
        assert look.page.input_value("#editor textarea") == before


@pytest.mark.slow
def test_what_is_proposed_is_a_machine_for_the_task(served: Served) -> None:
    proposal = served.ask("propose")
    assert parse(proposal["text"], {"minigrid": served.studio.task.vocabulary}).rules
    assert proposal["summary"]


def part(served: Served) -> Edit:
    return served.studio.questions["pay"].__self__  # type: ignore[attr-defined]


def test_every_episode_is_paid_what_its_trace_says(served: Served) -> None:
    studio, task = served.studio, served.studio.task
    bench = Bench.of(task, part(served)._file({"name": "doorkey_handset"})["text"], {})
    episodes = studio.library.with_play()
    truth = [trace(bench.machine, task.event_reader(), e.trajectory, bench.values).pay for e in episodes]
    assert part(served).totals(bench, episodes) == pytest.approx(np.array(truth))


def test_episodes_are_read_once_however_often_they_are_paid(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """How fast that makes a slider: `python -m tests.studio.latency`."""
    readings = []
    monkeypatch.setattr(edit_part, "read_rollout", lambda *given: readings.append(given) or read_rollout(*given))
    pays = [served.ask("pay", values={"goal": goal})["episodes"] for goal in (0.0, 1.0, 2.0)]
    assert len(readings) == 1
    assert len({str(rows) for rows in pays}) == 3


def test_the_verdict_names_who_earns_what_it_should_not() -> None:
    def row(name: str, group: str, pay: float) -> dict:
        return {"name": name, "group": group, "pay": pay}

    shows = [row("Demonstration 1", "given", 2.0), row("Yours 1", "kept", 1.0)]
    assert verdict([*shows, row("Random 1", "random", 0.5)]).startswith(
        "Every demonstration earns more than each of the 1"
    )
    assert verdict([*shows, row("Random 1", "random", 1.0)]).startswith(
        "Random 1 earns as much as 1 of 2 demonstrations"
    )
    assert "nothing to compare" in verdict(shows)


def test_a_check_that_is_overtaken_gives_way(served: Served) -> None:
    text = part(served)._file({"name": "obstructedmaze_3"})["text"]
    child, answers = Child("doorkey"), {}
    question = {"check": text, "constraint": None, "values": None}

    def ask(number: int) -> None:
        answers[number] = child.ask("tab", question)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    child.close()
    assert answers[3] is not None
    assert len(answers[3]["findings"]) > 3
    assert [answers[number] for number in (1, 2)] == [None, None]


def test_a_check_of_values_gives_way_to_one_of_another_text(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, answers = threading.Event(), {}

    def never(process: Any, question: Any) -> Any:
        begun.set()
        if question == {"check": "old"}:
            process.wait()  # as long as it is let
            return None
        return {"findings": []}

    monkeypatch.setattr(child_part, "_exchange", never)
    monkeypatch.setattr(child_part, "GRACE", 0.0)
    child = Child("doorkey")
    old = threading.Thread(target=lambda: answers.update(old=child.ask("values", {"check": "old"})))
    old.start()
    assert begun.wait(60)
    assert child.ask("holes", {"check": "new"}, "values") == {"findings": []}
    old.join(60)
    child.close()
    assert answers == {"old": None}


def test_what_is_no_machine_is_answered_with_its_places(served: Served) -> None:
    answer = served.ask("machine", text="machine x\nwords minigrid\nstart a\n    open_dor // 1\n")
    assert answer["errors"] == [
        {
            "line": 4,
            "column": 5,
            "length": 8,
            "message": "vocabulary minigrid has no event open_dor; did you mean open_door?",
        }
    ]
    _, _, content = served.request(
        "/api/machine", json.dumps({"session": served.session, "values": {"nothing": 1}}).encode()
    )
    assert "?nothing" in json.loads(content)["error"]


def test_a_task_of_numbers_is_edited_though_no_keys_play_it(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    Path("rod.srm").write_text(MACHINE)
    with serving(task="tests.studio.numbers:TASK", machine="rod.srm") as served:
        context = browser.new_context()
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(served.address)
        page.wait_for_selector("#panel-edit:not([hidden]) #edit-ranking li", timeout=60_000)
        page.wait_for_selector(CHECKED, timeout=60_000)
        page.click("#tab-play")
        assert "keys choose among a few" in page.inner_text("#world-words")
        assert complaints == []
        context.close()
