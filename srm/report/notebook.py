"""Parts of our pages inside somebody else's: what an object shows of itself in a notebook.

The style is that of the pages, nested so that it holds for our part alone. Nothing here needs a script.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from srm.report.html.markup import Markup, join, tag

if TYPE_CHECKING:
    from srm.report.figure import ShownFigure

CLASS = "srm-display"


def display(*parts: Markup | None) -> str:
    return tag("div", tag("style", _style()), join(parts), class_=CLASS)


@cache
def _style() -> Markup:
    """page.css, with what it says of the whole page said of our part."""
    css = (files("srm.report.html") / "assets" / "page.css").read_text(encoding="utf-8")
    css = re.sub(r"(?m)^(\s*):root(?= \{)", r"\1&", css)
    css = re.sub(r"(?m)^body(?= \{)", "&", css)
    css = re.sub(r"(?m)^(html|@media \(prefers-reduced-motion).*\n", "", css)  # of scrolling through a page
    return Markup(f".{CLASS} {{\n{css}\npadding: 0.75rem; border-radius: 8px;\n}}")


def picture(figure: ShownFigure, words: str) -> Markup:
    """A figure as an image: the style that Matplotlib writes into an SVG would hold for the whole page around it."""
    data = base64.b64encode(figure._repr_svg_().encode()).decode()
    return tag("img", src=f"data:image/svg+xml;base64,{data}", alt=words, style="max-width:100%;background:#fff")
