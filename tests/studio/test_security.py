"""Who is refused: other names, other pages, who has no token, and paths that lead out."""

from __future__ import annotations

import errno
import json
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from srm.domains import demonstrations as demos
from srm.domains.record import record
from srm.domains.tasks import find_task
from srm.errors import SettingError, SrmError, TrajectoryError
from srm.evaluate.live import LiveTrace, PlayedStep
from srm.evaluate.trace import TracedStep
from srm.studio.bench import BLANK
from srm.studio.paths import files, inside
from srm.studio.security import MOST_BODY, MOST_UPLOAD
from srm.studio.store import KEPT
from tests.report.sample import write_run
from tests.studio.serving import TOKEN, Served, opened, serving

ASK = json.dumps({"session": ""}).encode()


def test_a_request_with_the_token_is_answered(served: Served) -> None:
    status, headers, content = served.request("/api/open", ASK, {"origin": f"http://127.0.0.1:{served.port}"})
    assert status == 200
    assert json.loads(content)["task"]["env_id"] == "MiniGrid-DoorKey-5x5-v0"
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (401, {"x-studio-token": None}),
        (401, {"x-studio-token": "a-token-of-the-test"}),
        (403, {"host": "evil.example:80"}),  # a name that was made to point here
        (403, {"origin": "http://evil.example"}),
        (403, {"origin": "null"}),
        (403, {"origin": "http://127.0.0.1:1"}),
        (403, {"sec-fetch-site": "cross-site"}),
        (403, {"sec-fetch-site": "same-site"}),
    ],
)
def test_what_is_foreign_is_refused(served: Served, status: int, headers: dict[str, str]) -> None:
    assert served.request("/api/open", ASK, headers)[0] == status


@pytest.mark.parametrize("path", ["/", "/static/studio.js"])
def test_even_the_empty_page_is_refused_under_another_name(served: Served, path: str) -> None:
    assert served.request(path, None)[0] == 200
    assert served.request(path, None, {"host": "evil.example"})[0] == 403


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/..%2fapp.py", "/static/app.py", "/api/nothing", "/docs"]
)
def test_there_is_nothing_else(served: Served, path: str) -> None:
    assert served.request(path, ASK if path.startswith("/api") else None)[0] in (404, 405)


def test_a_page_of_another_origin_cannot_act(browser: Any, served: Served, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.html"
    foreign.write_text("<!doctype html><title>foreign</title>")
    context = browser.new_context()
    page = context.new_page()
    page.goto(foreign.as_uri())
    outcome = page.evaluate(
        """async (port) => {
        const ways = {
          headers: {method: "POST", headers: {"x-studio-token": "a-token-of-the-tests"}, body: '{"session":""}'},
          plain: {method: "POST", mode: "no-cors", body: '{"session":""}'},
        };
        const seen = {};
        for (const [name, way] of Object.entries(ways)) {
          seen[name] = await fetch(`http://127.0.0.1:${port}/api/open`, way).then((r) => r.type, () => "refused");
        }
        return seen;
        }""",
        served.port,
    )
    context.close()
    assert outcome["headers"] == "refused"
    assert outcome["plain"] in ("opaque", "refused")  # what was answered cannot be read, and nothing was done
    assert len(served.studio._sessions) == 0


def test_the_token_leaves_the_address(browser: Any, served: Served) -> None:
    with opened(browser, served.address) as look:
        assert "token" not in look.page.url
        look.page.reload()
        look.page.wait_for_selector("#world[data-at]")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[1]", 404),
        (b"{" * 50, 400),
        (b'{"session": ' + b"[" * 50 + b"]" * 50 + b"}", 400),
        (b'{"session": 1e999}', 400),
        (b'{"session": 7}', 200),
        (b" " * (MOST_BODY + 1), 413),
    ],
    ids=["nothing", "a list", "torn", "deep", "infinite", "a number", "long"],
)
def test_what_is_no_question_is_refused(served: Served, body: bytes, status: int) -> None:
    answered, _, content = served.request("/api/open", body)
    assert (answered, "error" in json.loads(content)) == (status, True)


@pytest.mark.parametrize(
    "body",
    [
        {"at": 0},
        {"at": 0, "action": 7},
        {"at": 0, "action": -1},
        {"at": 5, "action": 0},
        {"at": "0", "action": 0},
        {"at": 0, "action": True},
        {"at": 0, "action": 0.5},
    ],
)
def test_a_step_that_cannot_be_is_refused(served: Served, body: dict[str, Any]) -> None:
    served.ask("play.new")
    asked = json.dumps({"session": served.session, **body}).encode()
    _, _, content = served.request("/api/play.step", asked)
    assert "\n" not in json.loads(content)["error"]


def test_a_word_that_fails_leaves_the_episode_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    monkeypatch.chdir(tmp_path)
    truth = LiveTrace.add

    def add(live: LiveTrace, step: PlayedStep) -> TracedStep:
        if len(live.steps) == 1:
            raise TrajectoryError("height: raises TypeError: no; mend it")
        return truth(live, step)

    with serving(task="examples.mountain_car:TASK") as served:
        served.ask("play.new", seed=0)
        with monkeypatch.context() as broken:
            broken.setattr(LiveTrace, "add", add)
            first = served.ask("play.step", at=0, action=2)  # though no step from here can be looked at ahead
            assert first["ahead"] == {}
            with pytest.raises(AssertionError, match="mend it"):
                served.ask("play.step", at=1, action=2)
        second = served.ask("play.step", at=1, action=2)
        assert served.ask("play.undo", at=2)["scene"] == first["scene"]
        assert served.ask("play.step", at=1, action=2)["scene"] == second["scene"]


def test_a_file_that_is_handed_in_is_read_as_any_other(served: Served, tmp_path: Path) -> None:
    task = find_task("DoorKey-5x5")
    demos.save(record(task, 2, 0), tmp_path / "two.npz")
    content = (tmp_path / "two.npz").read_bytes()
    assert served.request("/api/upload", content)[0] == 200
    assert len(demos.load(tmp_path / "doorkey-played.npz", task)) == 2
    demos.save(replace(demos.load(tmp_path / "two.npz", task), task="os:system"), tmp_path / "evil.npz")
    refusal = json.loads(served.request("/api/upload", (tmp_path / "evil.npz").read_bytes())[2])["error"]
    assert refusal.startswith("this file: shows the task os:system, not doorkey")  # and nothing was imported
    for damaged in (content[:-100], b"PK" + content[:50], content.replace(b"actions", b"actionz")):
        assert "error" in json.loads(served.request("/api/upload", damaged)[2])
    assert len(demos.load(tmp_path / "doorkey-played.npz", task)) == 2


def test_episodes_of_another_environment_are_not_mixed_in(served: Served) -> None:
    shipped = demos.shipped(find_task("doorkey")).read_bytes()  # of DoorKey-8x8
    assert "error" in json.loads(served.request("/api/upload", shipped)[2])


HOSTILE = "<img src=x onerror=alert(1)>"


def test_names_and_notes_that_are_html_are_shown_as_text(browser: Any, served: Served, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / HOSTILE, episodes=0)
    (tmp_path / f"{HOSTILE}.srm").write_text("")
    task = find_task("DoorKey-5x5")
    served.studio.store.add(KEPT, (0, record(task, 1, 0).trajectories[0]))
    with opened(browser, served.address) as look:
        look.page.fill(".note-field", HOSTILE)
        look.page.keyboard.press("Tab")
        look.page.click("#tab-edit")
        look.page.wait_for_selector("#edit-open option:has-text('onerror')", state="attached")
        look.page.fill(
            "#editor textarea", BLANK.format(words="minigrid") + f'constraint "{HOSTILE}"\n    "{HOSTILE}" 0 <= 1\n'
        )
        look.page.wait_for_selector("#edit-mistakes li")
        look.page.click("#tab-watch")
        look.page.click("#run-rows button:has-text('onerror')")
        look.page.wait_for_selector("#run-title:has-text('onerror')")
        look.page.reload()
        look.page.wait_for_selector(".note-field", state="attached")
        assert look.page.input_value(".note-field") == HOSTILE
        assert look.page.locator("img[src=x]").count() == 0
        assert look.complaints == []


def test_a_disk_that_is_full_is_said_and_what_was_there_stays(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (record(find_task("DoorKey-5x5"), 1, seed) for seed in (0, 1))
    served.studio.store.add(KEPT, (0, first.trajectories[0]))
    before = (tmp_path / "doorkey-played.npz").read_bytes()
    served.ask("episodes")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    demos.save(second, tmp_path / "second.npz")
    content = (tmp_path / "second.npz").read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    key = served.studio.store.shelves[KEPT].episodes[0].key
    note = json.dumps({"session": served.session, "key": key, "text": "the first"}).encode()
    for path, body in (("/api/upload", content), ("/api/episode.note", note)):
        assert "No space left on device; " in json.loads(served.request(path, body)[2])["error"]
    assert served.studio.store.notes == {}
    assert (tmp_path / "doorkey-played.npz").read_bytes() == before
    assert len(served.studio.store.shelves[KEPT].episodes) == 1
    assert [path.name for path in tmp_path.glob(".*.part")] == []


def test_a_page_that_is_closed_while_it_sends_is_no_fault(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    head = f"POST /api/open HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\nx-studio-token: {TOKEN}\r\ncontent-length: 99\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(head.encode() + b'{"sess')
    served.ask("open", session="")
    assert caplog.records == []


def test_a_file_that_is_too_large_is_refused_before_it_is_read(served: Served) -> None:
    status, _, content = served.request("/api/upload", b"PK", {"content-length": str(MOST_UPLOAD + 1)})
    assert status == 413
    assert "64 MB" in json.loads(content)["error"]


def test_a_page_with_the_token_of_an_earlier_studio_says_what_to_do(browser: Any, served: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address + "x")
    page.wait_for_selector("#trouble:has-text('open the address that was printed last')")
    context.close()


def test_paths_stay_inside_the_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "out.srm").write_text("")
    (home / "link.srm").symlink_to(tmp_path / "out.srm")
    (home / "folder").symlink_to(tmp_path)
    (home / "mine.srm").write_text("")
    assert inside(home, "mine.srm", ".srm") == home / "mine.srm"
    for name in (
        "../out.srm",
        "link.srm",
        "folder/out.srm",
        str(tmp_path / "out.srm"),
        ".hidden.srm",
        "",
        "a\0b",
        "x.py",
        "a" * 201 + ".srm",
        "a\n.srm",
    ):
        with pytest.raises(SettingError):
            inside(home, name, ".srm")
    assert list(files(home, ".srm")) == ["mine.srm"]


def test_two_studios_do_not_write_one_file(served: Served) -> None:
    with pytest.raises(SrmError, match="another studio writes it"), serving(task="DoorKey-5x5"):
        pass
