"""The colours and letters of the pictures, light and dark, as the CSS inside the SVG.

Plain classes and colours rather than CSS variables, so that programs that are not browsers draw the light picture too.
"""

from __future__ import annotations

from collections.abc import Mapping

MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
SANS = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,'DejaVu Sans',sans-serif"

# what: (property, light, dark)
_COLOURS: tuple[tuple[str, str, str, str], ...] = (
    (".canvas", "fill", "#f6f8fa", "#0d1117"),
    (".canvas", "stroke", "#e2e7ec", "#21262d"),
    (".card,.sheet", "fill", "#ffffff", "#151b23"),
    (".outline", "stroke", "#c5ced8", "#3a424d"),
    (".sheet", "stroke", "#e2e7ec", "#262c36"),
    (".header", "fill", "#eaeff5", "#222a35"),
    (".hairline,.axis", "stroke", "#e8ecf1", "#262d37"),
    (".divider", "stroke", "#c5ced8", "#3a424d"),
    (".node,.title,.number,text", "fill", "#1c2430", "#e6edf3"),
    (".note,.name,.heading,.spread", "fill", "#57606a", "#9aa4b0"),
    (".word,.rule,.sign", "fill", "#6a7480", "#8b96a3"),
    (".faint", "fill", "#9aa5b1", "#66707c"),
    (".event", "fill", "#0b57b3", "#7ab8ff"),
    (".hole", "fill", "#8a3ffc", "#cfa3ff"),
    (".counter", "fill", "#0b7a6b", "#4fd1bd"),
    (".term", "fill", "#b3530a", "#f5a55f"),
    (".gain", "fill", "#1a7f37", "#56d364"),
    (".loss", "fill", "#c9252d", "#ff8078"),
    (".gain-bar", "fill", "#7bc98f", "#2f8a46"),
    (".loss-bar", "fill", "#ee9a97", "#a8403d"),
    (".whisker", "stroke", "#1c2430", "#e6edf3"),
    (".line,.loop", "stroke", "#5b6673", "#8b96a3"),
    (".head,.port,.loop-head,.start-mark circle", "fill", "#5b6673", "#8b96a3"),
    (".bar", "stroke", "#d9b8ff", "#5b3d86"),
    (".accepting .outline,.accepting .ring,.tick", "stroke", "#1a7f37", "#3fb950"),
    (".accepting .header", "fill", "#dff5e5", "#12301b"),
    (".active .outline", "stroke", "#d4820a", "#e3a02c"),
    (".rule.active>.row", "fill", "#fff3d1", "#3a2c0d"),
    (".arrow.active .line", "stroke", "#d4820a", "#e3a02c"),
    (".arrow.active .head,.rule.active .port", "fill", "#d4820a", "#e3a02c"),
)

_SHAPES = {
    "text": "white-space:pre",
    ".mono": f"font-family:{MONO};font-variant-ligatures:none",
    ".sans": f"font-family:{SANS}",
    ".bold": "font-weight:600",
    ".s17": "font-size:17px",
    ".s13": "font-size:13px",
    ".s12": "font-size:12px",
    ".s11": "font-size:11px",
    ".s10_5": "font-size:10.5px",
    "tspan.rule,.word": "font-style:italic",
    ".row,.ring,.outline,.line,.loop,.bar,.tick": "fill:none",
    ".line": "stroke-width:1.6",
    ".loop": "stroke-width:1.3;opacity:.55",
    ".loop-head": "opacity:.55",
    ".ring": "stroke-width:1.2",
    ".tick": "stroke-width:2;stroke-linecap:round;stroke-linejoin:round",
    ".bar": "stroke-width:2;stroke-linecap:round",
    ".divider": "stroke-dasharray:3 3",
    ".whisker": "stroke-width:1.4",
    ".active .outline,.arrow.active .line": "stroke-width:2.6",
}


def _rules(root: str, rules: Mapping[str, str]) -> str:
    return "".join(
        f"{','.join(f'{root} {part}' for part in what.split(','))}{{{declarations}}}"
        for what, declarations in rules.items()
    )


def _colours(root: str, column: int) -> str:
    declarations: dict[str, str] = {}
    for what, attribute, *shades in _COLOURS:
        declarations[what] = f"{declarations[what]};" if what in declarations else ""
        declarations[what] += f"{attribute}:{shades[column]}"
    return _rules(root, declarations)


def _style() -> str:
    dark_by_system = f"@media (prefers-color-scheme:dark){{{_colours('.srm-machine:not([data-theme=light])', 1)}}}"
    return "\n".join(
        [
            _rules(".srm-machine", _SHAPES),
            _colours(".srm-machine", 0),
            dark_by_system,
            _colours(".srm-machine[data-theme=dark]", 1),
        ]
    )


STYLE = _style()
