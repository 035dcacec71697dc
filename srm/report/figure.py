"""A Matplotlib figure that shows itself in a notebook without `pyplot`, whose global state is the caller's."""

from __future__ import annotations

import io
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

STYLE: Any = {
    "svg.hashsalt": "srm",
    "text.parse_math": False,  # a curve may be called $x
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#57606a",
    "axes.grid": True,
    "grid.color": "#e8ecf1",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}
# Neither the time nor the program's version, which would make every file another one.
ABOUT: dict[str, dict[str, str | None]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}


class ShownFigure(Figure):
    def _repr_svg_(self) -> str:
        """The same figure gives the same text."""
        content = io.BytesIO()
        with rc_context(STYLE):
            self.savefig(content, format="svg", metadata=ABOUT["svg"])
        return content.getvalue().decode()
