"""One self-contained HTML file: style, scripts and data inside it, nothing fetched.

The page's own policy forbids every request and every script but the one it was written with, so that neither a name in a run nor
a slip of ours can reach the network. Charts and replays are drawn by the scripts from the data; tables are plain HTML.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from srm.report.html.markup import Markup, join, tag


@dataclass(frozen=True)
class Section:
    """A part of a page that the navigation leads to."""

    id: str
    title: str
    body: Markup
    note: Markup | str | None = None  # what the reader should know of it, in a sentence or two


def page(
    title: str, header: Markup, sections: Sequence[Section], scripts: Sequence[str], data: Mapping[str, Any]
) -> str:
    """`scripts` are names of files in `assets`, in order; each entry of `data` can be read by them under its name. A page may do without."""
    script = "(() => {\n'use strict';\n" + "\n".join(_asset(f"{name}.js") for name in scripts) + "})();\n"
    links = join(tag("a", section.title, href=f"#{section.id}") for section in sections)
    head = join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("link", rel="icon", href="data:,"),
            tag("title", title),
            tag("style", Markup(_asset("page.css"))),
        ],
        "\n",
    )
    body = join(
        [
            header,
            tag("nav", links, aria_label="Parts of this page"),
            tag("main", join((_section(section) for section in sections), "\n")),
            *(_scripted(script, data) if scripts else ()),
        ],
        "\n",
    )
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


def _scripted(script: str, data: Mapping[str, Any]) -> Iterator[Markup]:
    yield tag("noscript", "Charts and the replay are drawn by a script; the tables can be read without it.")
    yield from (embed(name, value) for name, value in data.items())
    yield tag("script", Markup(script))


def embed(name: str, value: Any) -> Markup:
    """Data that a script can read and that no browser runs: without `<` it cannot end its element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=dict).replace("<", "\\u003c")
    return tag("script", Markup(text), type="application/json", id=f"data-{name}")


def _section(section: Section) -> Markup:
    note = None if section.note is None else tag("p", section.note, class_="note")
    heading = f"{section.id}-title"
    return tag(
        "section", tag("h2", section.title, id=heading), note, section.body, id=section.id, aria_labelledby=heading
    )


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = {
        "default-src": "'none'",
        "script-src": f"'sha256-{digest}'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
    }
    return "; ".join(f"{what} {source}" for what, source in allowed.items())


def _asset(name: str) -> str:
    return (files("srm.report.html") / "assets" / name).read_text(encoding="utf-8")
