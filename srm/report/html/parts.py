"""Small parts that several pages have: figures of a header, heads of tables, a hole's name."""

from __future__ import annotations

from collections.abc import Mapping

from srm.report.html.markup import Markup, tag


def figures(values: Mapping[str, str]) -> Markup:
    """The numbers in the head of a page, by name."""
    return tag(
        "dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in values.items()), class_="figures"
    )


def right(head: str) -> Markup:
    """The head of a column of numbers."""
    return tag("th", head, scope="col", class_="number")


def hole_code(name: str) -> Markup:
    return tag("code", f"?{name}", class_="hole")


def hole_head(name: str) -> Markup:
    """The head of a hole's row."""
    return tag("th", hole_code(name), scope="row")
