"""HTML as values: whatever is not already markup is escaped, so that a name in a run cannot become part of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_VOID = frozenset({"img", "input", "link", "meta"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *children: Markup | str | float | None, **attributes: str | float | bool | None) -> Markup:
    """`tag("td", "a < b", class_="number", data_row=3)`; children and attributes that are None or False are left out."""
    listed = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    inside = join(children)
    return Markup(f"<{name}{listed}>" if name in _VOID else f"<{name}{listed}>{inside}</{name}>")


def join(children: Iterable[Markup | str | float | None], between: str = "") -> Markup:
    return Markup(between.join(_inside(child) for child in children if child is not None))


def table(
    heads: Sequence[Markup | str], rows: Iterable[Sequence[Markup]], *, label: str, class_: str | None = None
) -> Markup:
    """A table with a row of heads; rows are of `td` and `th` already. It scrolls by itself where it is too wide."""
    top = tag("tr", *(head if isinstance(head, Markup) else tag("th", head, scope="col") for head in heads))
    body = join(tag("tr", *row) for row in rows)
    inside = tag("table", tag("thead", top), tag("tbody", body), class_=class_)
    return tag("div", inside, class_="scroll", role="region", aria_label=label, tabindex="0")


def _attribute(key: str, value: str | float | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    if isinstance(value, bool):
        return f" {name}" if value else ""
    return f' {name}="{escape(str(value))}"'


def _inside(child: Markup | str | float | None) -> str:
    return child if isinstance(child, Markup) else escape(str(child), quote=False)
