"""A page open in Chromium, and what it complained of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WIDE, NARROW = 1440, 390


@dataclass
class Look:
    page: Any
    complaints: list[str] = field(
        default_factory=list
    )  # console messages, uncaught errors, requests that left the disk

    @property
    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)


@contextmanager
def look_at(browser: Any, path: Path, width: int = WIDE, scheme: str = "light", script: bool = True) -> Iterator[Look]:
    """Opens the file as a reader would, from disk."""
    viewport = {"width": width, "height": 900}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, java_script_enabled=script)
    look = Look(context.new_page())
    look.page.on("console", lambda message: look.complaints.append(f"{message.type}: {message.text}"))
    look.page.on("pageerror", lambda error: look.complaints.append(f"error: {error}"))
    look.page.on("request", lambda request: _note_request(look, request.url))
    look.page.goto(path.resolve().as_uri())
    yield look
    context.close()


def _note_request(look: Look, url: str) -> None:
    if not url.startswith(("file:", "data:")):
        look.complaints.append(f"request: {url}")
