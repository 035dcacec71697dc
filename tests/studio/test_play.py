"""Playing in the browser: keys act, what is paid is shown, and what is played to its end is on disk."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from srm.cli import main
from srm.domains import demonstrations as demos
from srm.domains.record import play_actions
from srm.domains.tasks import find_task
from tests.report.look import NARROW, WIDE, Look
from tests.studio.serving import Served, opened, serving

TASK = find_task("DoorKey-5x5")
KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "p", "d", " ", "Enter"]  # by action


def solution(seed: int) -> list[int]:
    """The actions that solve the world of a seed."""
    env = TASK.environment(TASK.env_id)
    env.reset(seed=seed)
    assert TASK.expert is not None
    actions = TASK.expert(env)
    assert actions is not None
    return actions


def at(look: Look) -> int:
    return int(look.page.get_attribute("#world", "data-at"))


def wait_until(look: Look, step: int) -> None:
    """The world has come to a step, or past it."""
    for _ in range(200):
        if at(look) >= step:
            return
        look.page.wait_for_timeout(50)
    raise AssertionError(f"the world stays at step {at(look)}")


def press(look: Look, action: int) -> None:
    """One key, and the step that it leads to."""
    before = at(look)
    look.page.keyboard.press(KEYS[action])
    look.page.wait_for_selector(f"#world[data-at='{before + 1}']")


def solve(look: Look) -> list[int]:
    actions = solution(int(look.page.get_attribute("#world", "data-seed")))
    for action in actions:
        press(look, action)
    look.page.wait_for_selector("#over:not([hidden])")
    return actions


def test_an_episode_played_to_the_goal_by_keys_is_a_demonstration_on_disk(look: Look, tmp_path: Path) -> None:
    seed = int(look.page.get_attribute("#world", "data-seed"))
    actions = solve(look)
    assert "Solved" in look.text("#over-words")
    recorded = demos.load(tmp_path / "doorkey-played.npz", TASK)
    (trajectory,) = recorded.trajectories
    assert recorded.seeds == (seed,)
    assert trajectory.actions.tolist() == actions
    truth = play_actions(TASK.environment(TASK.env_id), actions, seed)
    assert np.array_equal(trajectory.observations, truth.observations)
    assert np.array_equal(trajectory.poses, truth.poses)
    assert trajectory.task_reward.tolist() == truth.task_reward.tolist()
    look.page.wait_for_selector("#episode-rows tr[data-group=kept]")


def test_infer_takes_what_was_played(look: Look, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solve(look)
    assert main(["infer", "doorkey", "--demos", "doorkey-played.npz", "--posterior.sweeps", "30"]) == 0
    assert "from 1 demonstration" in capsys.readouterr().out


def test_each_step_shows_its_events_its_rule_its_pay_and_its_node(look: Look) -> None:
    actions = solution(int(look.page.get_attribute("#world", "data-seed")))
    lit = "#now-drawing .node.active"
    assert look.page.get_attribute(lit, "data-node") == "before_unlocking"
    for action in actions:
        press(look, action)
        if action == 3:
            assert "pick_up_key" in look.text("#now-facts")
            assert "before_unlocking.1" in look.text("#now-facts")
            assert look.page.locator("#now-drawing .rule.active[data-rule='before_unlocking.1']").count() == 1
            assert look.text("#now-pay") not in ("0", "–")
    assert look.page.get_attribute(lit, "data-node") == "end"
    assert [line.split("\n")[1].split()[0] for line in look.page.locator("#now-trace li").all_inner_texts()] == [
        "pick_up_key",
        "unlock_door",
        "reach_goal",
    ]


def test_a_key_is_answered_before_the_server_has_answered(look: Look) -> None:
    """How fast that is: `python -m tests.studio.latency`."""
    held: list[Any] = []
    look.page.route("**/api/play.step", lambda route: held.append(route))
    before = look.page.evaluate("document.querySelector('#world canvas').toDataURL()")
    press(look, 0)
    assert len(held) == 1
    assert look.page.evaluate("document.querySelector('#world canvas').toDataURL()") != before
    assert "rule" in look.text("#now-facts")
    held[0].continue_()
    look.page.unroute("**/api/play.step")
    press(look, 1)


def test_a_capital_letter_acts_as_the_small_one(look: Look) -> None:
    look.page.keyboard.press("P")
    look.page.wait_for_selector("#world[data-at='1']")


PAD = """
window.pads = [{ buttons: Array.from({ length: 16 }, () => ({ pressed: false })) }];
navigator.getGamepads = () => window.pads;
window.dispatchEvent(new Event("gamepadconnected"));
window.push = (index, pressed) => { window.pads[0].buttons[index].pressed = pressed; };
null
"""


def test_a_gamepad_plays(look: Look) -> None:
    left, back, start = 14, 8, 9  # of the standard layout
    look.page.evaluate(PAD)
    for index, condition in ((left, "[data-at='1']"), (left, "[data-at='2']"), (back, "[data-at='1']")):
        look.page.evaluate(f"push({index}, true)")
        look.page.wait_for_selector(f"#world{condition}")
        look.page.evaluate(
            f"new Promise((go) => {{ push({index}, false); requestAnimationFrame(() => requestAnimationFrame(go)); }})"
        )
    seed = look.page.get_attribute("#world", "data-seed")
    look.page.evaluate(f"push({start}, true)")
    look.page.wait_for_selector(f"#world[data-at='0']:not([data-seed='{seed}'])")
    look.page.evaluate("window.pads = [null]")


def test_a_step_is_taken_back_and_the_world_with_it(look: Look, tmp_path: Path) -> None:
    first = look.page.evaluate("document.querySelector('#world canvas').toDataURL()")
    press(look, 0)
    press(look, 1)
    look.page.keyboard.press("Backspace")  # twice, faster than they are answered
    look.page.keyboard.press("Backspace")
    look.page.wait_for_selector("#world[data-at='0']")
    assert look.page.evaluate("document.querySelector('#world canvas').toDataURL()") == first
    actions = solve(look)
    look.page.keyboard.press("Backspace")  # the episode is under way again, so it is no demonstration
    look.page.wait_for_selector(f"#world[data-at='{len(actions) - 1}']")
    assert not (tmp_path / "doorkey-played.npz").exists()
    press(look, actions[-1])
    look.page.wait_for_selector("#over:not([hidden])")
    assert demos.load(tmp_path / "doorkey-played.npz", TASK).trajectories[0].actions.tolist() == actions


def test_episodes_are_set_aside_kept_dropped_noted_filtered_and_replayed(look: Look, tmp_path: Path) -> None:
    page, kept, aside = look.page, tmp_path / "doorkey-played.npz", tmp_path / "doorkey-played-aside.npz"
    solve(look)
    page.fill("#over-note", "the key first")
    page.keyboard.press("Tab")
    page.click("#over-move")
    page.wait_for_selector("#episode-rows tr[data-group=aside]")
    assert not kept.exists()
    assert len(demos.load(aside, TASK)) == 1
    page.fill("#episode-filter", "key first")
    assert page.locator("#episode-rows tr").count() == 1
    page.click("#episode-rows button:has-text('keep')")
    page.wait_for_selector("#episode-rows tr[data-group=kept]")
    assert not aside.exists()
    assert [*json.loads((tmp_path / "doorkey-played-notes.json").read_text()).values()] == ["the key first"]
    page.click("#episode-rows button:has-text('Yours 1')")
    page.click("#paid-after")
    assert "pick_up_key" in look.text("#step-facts")
    page.keyboard.press("Escape")
    page.click("#over-drop")
    page.wait_for_selector("#episode-rows tr[data-group=kept]", state="detached")
    assert not kept.exists()


def test_in_real_time_the_world_waits_for_the_first_key_and_goes_on_without(look: Look, served: Served) -> None:
    look.page.select_option("#pace", "10")
    look.page.wait_for_timeout(300)
    assert at(look) == 0
    look.page.keyboard.press("ArrowRight")  # however short it is
    wait_until(look, 3)
    (session,) = served.studio._sessions.values()
    assert session.play is not None
    assert [step.action for step in session.play.steps[:3]] == [1, 6, 6]
    look.page.keyboard.down("ArrowLeft")
    for _ in range(200):
        look.page.wait_for_timeout(50)
        if [step.action for step in session.play.steps[-2:]] == [0, 0]:
            break
    else:
        raise AssertionError("a key that is held does not act")
    look.page.keyboard.up("ArrowLeft")
    look.page.select_option("#pace", "0")
    assert any(at(look) == (look.page.wait_for_timeout(500), at(look))[1] for _ in range(20))  # it stands


def test_a_person_takes_over_from_a_policy(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(task="DoorKey-5x5") as served:
        served.studio.library.policy = lambda _: lambda observations: len(observations) % 2
        _take_over(browser, served)


@pytest.mark.slow
def test_a_policy_that_was_trained_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "DoorKey-5x5", "--frames", "4096", "-o", "run"]) == 0
    with serving(task="DoorKey-5x5", policy=Path("run")) as served:
        served.ask("play.new", seed=3)
        moves = [served.ask("play.step", at=step, action=None)["step"]["action"] for step in range(6)]
        served.ask("play.new", seed=3)
        for step, move in enumerate(moves[:3]):  # a person plays, and the policy goes on as if it had
            served.ask("play.step", at=step, action=move)
        assert len(set(moves)) > 1
        assert served.ask("play.step", at=3, action=None)["at"] == 4


def _take_over(browser: Any, served: Served) -> None:
    with opened(browser, served.address) as look:
        look.page.click("#policy-plays")
        wait_until(look, 3)
        look.page.keyboard.press("ArrowRight")
        assert look.text("#policy-plays") == "policy plays"
        look.page.wait_for_timeout(400)
        stopped = at(look)
        look.page.wait_for_timeout(400)
        assert at(look) == stopped
        look.page.click("#policy-plays")  # and hands back
        wait_until(look, stopped + 1)
        assert look.complaints == []


def test_two_tabs_play_two_episodes(browser: Any, look: Look, served: Served, tmp_path: Path) -> None:
    with opened(browser, served.address) as other:
        press(other, 0)
        press(other, 1)
        solve(look)
        assert at(other) == 2
        solve(other)
    recorded = demos.load(tmp_path / "doorkey-played.npz", TASK)
    assert len(recorded) == 2
    assert other.complaints == []


def test_a_tab_that_is_duplicated_is_another(look: Look, served: Served) -> None:
    press(look, 0)
    with look.page.expect_popup() as popup:
        look.page.evaluate(
            "window.open(location.href)"
        )  # as when a tab is duplicated, the new one has a copy of the storage
    popup.value.wait_for_selector("#world[data-at='0']")
    assert len(served.studio._sessions) == 2
    press(look, 1)


def test_a_task_without_a_machine_begins_with_one_that_pays_nothing(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(task="unlockpickup") as served, opened(browser, served.address) as look:
        assert "pays nothing yet" in look.text("#now-values")
        press(look, 3)  # nothing is there to take, or it is taken: either way the step is shown
        assert "none fired" in look.text("#now-facts")
        look.page.click("#tab-compare")
        look.page.wait_for_selector("#compare-empty:has-text('Write one with holes in Edit')")
        look.page.click("#tab-edit")
        look.page.wait_for_selector("#editor .keyword:has-text('start')")
        look.page.wait_for_selector("#edit-ranking li")
        assert look.complaints == []


def test_a_world_of_pictures_is_played_and_taken_back(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    monkeypatch.chdir(tmp_path)
    with serving(task="examples.mountain_car:TASK") as served, opened(browser, served.address) as look:
        pictures = [look.page.get_attribute("#world img", "src")]
        for step in range(1, 13):  # it gains speed slowly
            look.page.keyboard.press("ArrowRight")
            look.page.wait_for_selector(f"#world[data-at='{step}']")
            pictures.append(look.page.get_attribute("#world img", "src"))
        assert pictures[12] not in (pictures[0], pictures[11])
        held: list[Any] = []
        look.page.route("**/api/play.step", lambda route: held.append(route))
        look.page.keyboard.press("ArrowRight")
        look.page.wait_for_selector("#world[data-at='13']")  # it was sent ahead
        held[0].continue_()
        look.page.unroute("**/api/play.step")
        look.page.keyboard.press("Backspace")
        look.page.wait_for_selector("#world[data-at='12']")
        assert "height" in look.text("#now-facts")
        look.page.keyboard.press("Backspace")
        look.page.wait_for_selector("#world[data-at='11']")
        assert look.page.get_attribute("#world img", "src") == pictures[11]
        assert look.complaints == []


def test_a_page_that_is_loaded_again_goes_on_with_its_episode(look: Look) -> None:
    press(look, 0)
    press(look, 0)
    look.page.reload()
    look.page.wait_for_selector("#world[data-at='2']")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, 820, NARROW])
def test_every_tab_fits_its_window_and_complains_of_nothing(
    browser: Any, served: Served, width: int, scheme: str
) -> None:
    Path(f"a_{'very_' * 20}long_name.srm").write_text("")
    with opened(browser, served.address, width, scheme) as look:
        for tab in ("compare", "edit", "watch", "play"):
            look.page.click(f"#tab-{tab}")
            look.page.wait_for_timeout(100)
            if tab == "edit":
                look.page.wait_for_selector("#edit-open optgroup", state="attached")
            assert look.overflow <= 0, tab
        look.page.click("#actions button >> nth=0")  # by touch
        look.page.wait_for_selector("#world[data-at='1']")
        assert look.complaints == []


def test_a_narrow_page_stays_at_the_world_while_one_plays(browser: Any, served: Served) -> None:
    with opened(browser, served.address, NARROW) as look:
        solve(look)
        assert look.page.evaluate("window.scrollY") == 0
        assert look.text("#world-words").startswith("Solved after")


def test_keys_alone_lead_everywhere(look: Look) -> None:
    page = look.page
    page.focus("#tab-play")
    for tab in ("compare", "edit", "watch", "play"):
        page.keyboard.press("ArrowRight")
        assert page.get_attribute(f"#tab-{tab}", "aria-selected") == "true"
        assert page.is_visible(f"#panel-{tab}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "world"
    press(look, 0)


NAMELESS = """[...document.querySelectorAll('button, select, input, textarea, a, canvas, [role=img], [role=region], [role=tab]')]
.filter((part) => part.checkVisibility() && !(part.innerText || part.ariaLabel || part.labels?.length
    || part.getAttribute('aria-labelledby') || part.querySelector('title')))
.map((part) => part.outerHTML.slice(0, 80))"""
FOCUS = """(() => {
  const part = document.activeElement;
  if (part === document.body) return null;
  const ringed = [part, part.closest(".editor, label")].some((one) => one && getComputedStyle(one).outlineStyle !== "none");
  window.numbers ??= new Map();
  if (!window.numbers.has(part)) window.numbers.set(part, window.numbers.size);
  return [window.numbers.get(part), ringed, part.outerHTML.slice(0, 80)];
})()"""
READY = {"play": "#episode-rows tr[data-key]", "edit": "#edit-margins td", "watch": "#run-rows td"}


@pytest.mark.parametrize("tab", READY)
def test_tab_leads_through_all_that_can_be_worked_and_shows_where_it_is(look: Look, tab: str) -> None:
    page = look.page
    page.click(f"#tab-{tab}")
    page.wait_for_selector(READY[tab])
    page.focus(f"#tab-{tab}")
    assert page.evaluate(NAMELESS) == []
    visited, unringed = [], []
    for _ in range(300):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        if focus is None or focus[0] in visited:
            break
        visited.append(focus[0])
        unringed += [] if focus[1] else [focus[2]]
    else:
        raise AssertionError("there is no end")
    assert unringed == []
    assert len(visited) >= page.locator(f"#panel-{tab} button:enabled:visible").count()  # none is a trap


def start(folder: Path, *flags: str) -> tuple[subprocess.Popen, str]:
    """`srm studio` as a process of its own, and the address it prints."""
    command = [sys.executable, "-m", "srm", "studio", "DoorKey-5x5", "--no-browser", "--no-infer", *flags]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = re.search(r"http://\S+", process.stdout.readline())
    assert address, process.communicate()[1]
    return process, address[0]


def test_a_studio_killed_in_an_episode_loses_nothing_that_was_kept(browser: Any, tmp_path: Path) -> None:
    process, address = start(tmp_path)
    with opened(browser, address) as look:
        actions = solve(look)
        look.page.keyboard.press("n")
        look.page.wait_for_selector("#world[data-at='0']")
        press(look, 0)
        process.kill()
        process.communicate()
        look.page.keyboard.press("ArrowLeft")
        look.page.wait_for_selector("#trouble:not([hidden])")
        assert "does not answer" in look.text("#trouble")
    assert demos.load(tmp_path / "doorkey-played.npz", TASK).trajectories[0].actions.tolist() == actions
    assert [path.name for path in tmp_path.glob(".*.part")] == []


def test_ctrl_c_ends_it_and_says_what_is_saved(browser: Any, tmp_path: Path) -> None:
    process, address = start(tmp_path, "-o", "mine.npz")
    with opened(browser, address) as look:
        solve(look)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "mine.npz: 1 demonstration" in err
    assert "Traceback" not in out + err
