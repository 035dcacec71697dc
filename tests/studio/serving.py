"""A studio that answers in a thread of this process, and a page of it in Chromium."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from srm.cli.studio import OpenStudio
from srm.studio.app import make_server
from srm.studio.studio import Studio
from tests.report.look import WIDE, Look

TOKEN = "a-token-of-the-tests"


@dataclass
class Served:
    studio: Studio
    port: int
    session: str = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/#token={TOKEN}"

    def request(self, path: str, body: bytes | None, headers: dict[str, str] | None = None) -> tuple[int, Any, Any]:
        """Status, headers and content of the answer; a header that is None is left out."""
        usual = {"host": f"127.0.0.1:{self.port}", "x-studio-token": TOKEN, **(headers or {})}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(
            "GET" if body is None else "POST", path, body, {k: v for k, v in usual.items() if v is not None}
        )
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, response.headers, content

    def ask(self, question: str, /, **body: Any) -> Any:
        """As a page asks, in a session of its own."""
        if not self.session and question != "open":
            self.session = self.ask("open", session="")["session"]
        asked = json.dumps({"session": self.session, **body}).encode()
        status, _, content = self.request(f"/api/{question}", asked)
        answer = json.loads(content)
        assert status == 200, answer
        assert "error" not in answer, answer
        return answer


@contextmanager
def serving(**flags: Any) -> Iterator[Served]:
    """`srm studio` with these flags, in the current folder."""
    studio = OpenStudio(**{"infer": False, **flags}).make()
    listening = socket.create_server(("127.0.0.1", 0))
    server = make_server(studio, TOKEN, listening)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Served(studio, listening.getsockname()[1])
    server.should_exit = True
    thread.join(20)
    listening.close()
    assert not thread.is_alive()


@contextmanager
def opened(browser: Any, address: str, width: int = WIDE, scheme: str = "light") -> Iterator[Look]:
    """The page, as a person opens it."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    look = Look(context.new_page())
    look.page.on("console", lambda message: look.complaints.append(f"{message.type}: {message.text}"))
    look.page.on("pageerror", lambda error: look.complaints.append(f"error: {error}"))
    look.page.goto(address)
    look.page.wait_for_selector("#world[data-at]")
    yield look
    context.close()
