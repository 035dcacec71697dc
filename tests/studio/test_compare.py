"""Comparing in the browser: pairs are shown, answers are on disk, and they teach."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from srm.domains.preferences import read_preferences
from srm.domains.tasks import find_task
from srm.studio.child import Child
from tests.studio.serving import Served, opened

TASK = find_task("DoorKey-5x5")
PAIR = "#compare-stage:not([hidden])"


@pytest.fixture
def quick(served: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Draws that need no sampler; the real one has a test of its own."""
    rng, questions = np.random.default_rng(0), []

    def ask(_: Any, kind: str, question: dict[str, Any], *ends: str) -> dict[str, Any]:
        if "check" in question:
            return {"findings": []}
        questions.append(question)
        count = 0
        if question["preferences"]:
            count = len(read_preferences(Path(question["preferences"]), TASK).comparisons)
        return {"draws": rng.normal(size=(200, 5)).tolist(), "values": {"goal": 0.7}, "answers": count}

    monkeypatch.setattr(Child, "ask", ask)
    served.questions = questions  # type: ignore[attr-defined]
    return served


def answered(path: Path) -> list[str]:
    return [pair.answer for pair in read_preferences(path, TASK).comparisons]


def test_answers_by_keys_are_on_disk_at_once(browser: Any, quick: Served, tmp_path: Path) -> None:
    path = tmp_path / "doorkey-played-preferences.jsonl"
    with opened(browser, quick.address) as look:
        look.page.click("#tab-compare")
        look.page.wait_for_selector(PAIR)
        pairs = set()
        for count, key in enumerate(["ArrowLeft", "ArrowRight", "ArrowDown", "0"], start=1):
            look.page.keyboard.press(key)
            look.page.wait_for_selector(f"#compare-state:has-text('{count} answered')")
            pairs.add(json.loads(path.read_text().splitlines()[-1]).__repr__())
        assert answered(path) == ["left", "right", "equal", "cannot say"]
        assert len(pairs) == 4  # no pair twice
        look.page.click("[data-answer=left]")
        look.page.wait_for_selector("#compare-state:has-text('5 answered')")
        assert look.complaints == []
    assert quick.questions[-1]["preferences"] == str(path)  # type: ignore[attr-defined]


def test_both_episodes_move_together_and_what_happened_leads_to_its_moment(browser: Any, quick: Served) -> None:
    with opened(browser, quick.address) as look:
        look.page.click("#tab-compare")
        look.page.wait_for_selector(PAIR)
        shot = "[...document.querySelectorAll('.pair canvas')].map((one) => one.toDataURL())"
        look.page.click("#compare-play")  # pause
        look.page.locator("#compare-moment").fill("0")
        first = look.page.evaluate(shot)
        look.page.locator("#compare-moment").fill("9")
        assert look.page.evaluate(shot) != first
        button = look.page.locator(".happened button").first
        button.click()
        assert look.page.input_value("#compare-moment") == button.locator(".when").inner_text()


def test_the_machine_pays_by_what_is_known_if_asked(browser: Any, quick: Served) -> None:
    with opened(browser, quick.address) as look:
        look.page.click("#tab-compare")
        look.page.wait_for_selector(PAIR)
        look.page.click("#compare-take")
        look.page.wait_for_selector("#compare-state:has-text('pays by what is known')")
        look.page.click("#tab-edit")
        assert look.page.locator(".slider input[type=number]").nth(0).input_value() == "0.7"


def test_weights_of_new_answers_narrow_what_is_shown(quick: Served) -> None:
    pair = quick.ask("pair")
    widths = [hole["high"] - hole["low"] for hole in pair["holes"]]
    for _ in range(3):
        pair = quick.ask("answer", left=pair["left"]["key"], right=pair["right"]["key"], answer="left")
    after = [hole["high"] - hole["low"] for hole in pair["holes"]]
    assert sum(after) < sum(widths)


def test_holes_without_a_value_get_the_one_that_demonstrations_suggest(browser: Any, quick: Served) -> None:
    quick.studio.infer = True
    with opened(browser, quick.address) as look:
        look.page.click("#tab-edit")
        look.page.wait_for_selector("#edit-verdict:not(:empty)")
        for _ in range(100):
            if look.page.locator(".slider input[type=number]").nth(0).input_value() == "0.7":
                break
            look.page.wait_for_timeout(50)
        else:
            raise AssertionError("the value stays as it was")
        assert look.complaints == []


def test_a_question_that_is_under_way_is_not_asked_twice(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, questions = threading.Event(), threading.Event(), []

    def ask(_: Any, kind: str, question: dict[str, Any], *ends: str) -> dict[str, Any]:
        questions.append(question)
        begun.set()
        go_on.wait(60)
        return {"draws": np.zeros((3, 5)).tolist(), "values": {"goal": 0.7}, "answers": 0}

    monkeypatch.setattr(Child, "ask", ask)
    served.ask("open", session="")
    session, bench = next(iter(served.studio._sessions.values())), served.studio._first
    part = served.studio.questions["pair"].__self__  # type: ignore[attr-defined]
    first = part._draw(session, bench)
    assert begun.wait(60)
    second = part._draw(session, bench)
    go_on.set()
    assert first.result() is second.result()
    assert len(questions) == 1


@pytest.mark.slow
def test_the_sampler_draws_from_the_demonstrations(served: Served) -> None:
    first = served.ask("pair")
    assert {hole["name"] for hole in first["holes"]} == {"goal", "unlock", "close", "pick", "drop"}
    assert first["values"].keys() == {"goal", "unlock", "close", "pick", "drop"}
    assert all(abs(hole["low"] - hole["before"][0]) < 0.2 for hole in first["holes"])  # nothing was answered yet


def test_an_answer_that_is_none_is_refused(quick: Served) -> None:
    pair = quick.ask("pair")
    body = {"session": quick.session, "left": pair["left"]["key"], "right": "nobody", "answer": "left"}
    assert "error" in json.loads(quick.request("/api/answer", json.dumps(body).encode())[2])
    body |= {"right": pair["right"]["key"], "answer": "maybe"}
    assert "error" in json.loads(quick.request("/api/answer", json.dumps(body).encode())[2])
