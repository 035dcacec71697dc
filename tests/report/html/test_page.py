"""Markup, numbers and the frame of a page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from srm.report.html.markup import Markup, join, tag
from srm.report.html.numbers import counted, duration, number, share, signed, whole
from srm.report.html.page import Section, embed, page

# Markup


def test_text_is_escaped_and_markup_is_not():
    assert tag("p", "a < b & c", Markup("<b>d</b>")) == "<p>a &lt; b &amp; c<b>d</b></p>"


def test_attributes_are_escaped_renamed_and_left_out_when_they_say_nothing():
    made = tag("input", class_="a b", data_name='"x"', hidden=True, disabled=False, title=None)
    assert made == '<input class="a b" data-name="&quot;x&quot;" hidden>'


def test_children_that_are_not_there_leave_no_trace():
    assert join(["a", None, 3], "-") == "a-3"


# Numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.3141, "0.314"), (-2.0, "−2"), (None, "–"), (-1e-9, "0"), (123456.0, "123456"), (0.00012, "0.00012")],
)
def test_numbers(value: float | None, text: str):
    assert number(value) == text


def test_signs_shares_counts_and_times():
    assert [signed(0.5), signed(-0.5), signed(0.0)] == ["+0.5", "−0.5", "0"]
    assert [share(0.973), share(None)] == ["97 %", "–"]
    assert whole(1234567) == "1\u202f234\u202f567"
    assert [counted(1, "hole"), counted(5, "hole")] == ["1 hole", "5 holes"]
    assert [duration(48.2), duration(200), duration(7530)] == ["48 s", "3 min 20 s", "2 h 5 min"]


# The frame


def test_data_cannot_end_its_own_element():
    value = {"name": "</script><!--<script>"}
    held = embed("x", value)
    assert held.count("<") == 2
    assert json.loads(re.sub("<.*?>", "", held)) == value


def test_the_only_script_that_may_run_is_the_one_inside():
    made = page("A page", tag("header"), [Section("a", "First", tag("p", "x"))], ["elements"], {"n": 1})
    script = re.findall(r"<script>(.*?)</script>", made, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert len(script) == 1
    assert f"script-src &#x27;sha256-{digest}&#x27;" in made
    assert "default-src &#x27;none&#x27;" in made


def test_a_page_names_no_other_place(folder: Path):
    addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'<]*", (folder / "report.html").read_text())
    assert set(addresses) <= {"http://www.w3.org/2000/svg"}


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("block", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(block: int):
    """Contrast of at least 4.5, as WCAG asks of text."""
    style = (files("srm.report.html") / "assets" / "page.css").read_text()
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", re.findall(r":root \{(.*?)\}", style, re.DOTALL)[block]))
    over = {"text": ("page", "card", "note-back"), "warning": ("warning-back",), "loss": ("card", "error-back")}
    over |= dict.fromkeys(("soft", "link", "gain", "hole", "event", "counter"), ("page", "card"))
    for front, backs in over.items():
        for back in backs:
            low, high = sorted([luminance(colours[front]), luminance(colours[back])])
            assert (high + 0.05) / (low + 0.05) >= 4.5, f"{front} on {back}"
