"""The page of the studio and the files it is made of. It is empty until its scripts have asked for what to show.

Scripts and style of the report pages are shared: `report.js` is made of theirs, in their order, as one module.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from srm.report.html.markup import Markup, join, tag
from srm.report.run.learning import SCRIPTS

SHARED = [name for name in SCRIPTS if name not in ("choices", "learning")]  # without what starts a page
EXPORTED = (
    "element shape number signed fixed large amountClass payEquation Chart Cursor extent drawLearning drawHoles drawRules "
    "drawEnv nameThing GridEnv Episode MachineDrawing Replay stepFacts"
)
SCRIPT, STYLE = "text/javascript", "text/css"
ASSETS = {  # what is served, and as what
    "report.js": SCRIPT,
    "report.css": STYLE,
    "studio.css": STYLE,
    **{f"{name}.js": SCRIPT for name in "studio server world known play episodes editor edit compare watch".split()},
}
TABS = {"play": "Play", "compare": "Compare", "edit": "Edit", "watch": "Watch"}


def shell() -> str:
    """The page before anything is known."""
    head = join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("link", rel="icon", href="data:,"),
            tag("title", "srm studio"),
            tag("link", rel="stylesheet", href="/static/report.css"),
            tag("link", rel="stylesheet", href="/static/studio.css"),
            tag("script", type="module", src="/static/studio.js"),
        ],
        "\n",
    )
    tabs = join(
        tag(
            "button",
            title,
            type="button",
            role="tab",
            id=f"tab-{name}",
            aria_controls=f"panel-{name}",
            aria_selected="false",
        )
        for name, title in TABS.items()
    )
    panels = join(
        (
            tag("div", _part(name), id=f"panel-{name}", role="tabpanel", aria_labelledby=f"tab-{name}", hidden=True)
            for name in TABS
        ),
        "\n",
    )
    replay = tag(
        "dialog",
        tag(
            "div", tag("h2", id="replay-title"), tag("button", "close", type="button", id="replay-close"), class_="bar"
        ),
        Markup(_text("srm.report.html", "replay.html")),
        id="replay",
    )
    body = join(
        [
            tag(
                "header",
                tag("h1", "studio", id="title"),
                tag("div", tabs, role="tablist", aria_label="What to do"),
                tag("p", id="about", class_="note"),
            ),
            tag("p", id="trouble", role="alert", hidden=True),
            tag("main", panels),
            replay,
            tag("noscript", "The studio needs scripts."),
        ],
        "\n",
    )
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


def _part(name: str) -> Markup:
    return Markup(_text("srm.studio", f"{name}.html"))


@cache
def asset(name: str) -> str:
    if name == "report.css":
        return _text("srm.report.html", "page.css")
    if name == "report.js":
        scripts = [_text("srm.report.html", f"{part}.js") for part in SHARED]
        return "\n".join([*scripts, f"export {{ {', '.join(EXPORTED.split())} }};\n"])
    return _text("srm.studio", name)


def _text(package: str, name: str) -> str:
    return (files(package) / "assets" / name).read_text(encoding="utf-8")
