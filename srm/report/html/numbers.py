"""Numbers as a reader wants them."""

from __future__ import annotations


def number(value: float | None, digits: int = 3) -> str:
    """0.314, −2, 12.5; a dash where there is none."""
    if value is None or value != value:
        return "–"
    text = f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"
    if "e" in text:
        text = f"{value:.{digits}f}"
    return "0" if float(text) == 0 else text.replace("-", "−")


def signed(value: float) -> str:
    """+0.3, −0.5, 0."""
    text = number(value)
    return f"+{text}" if value > 0 and text != "0" else text


def share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def whole(value: float) -> str:
    return f"{value:,.0f}".replace(",", "\u202f")  # a thin space that does not break


def duration(seconds: float) -> str:
    """48 s, 3 min 20 s, 2 h 5 min; a dash where a log does not say."""
    if seconds != seconds:
        return "–"
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    minutes, rest = divmod(total, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def counted(count: int, noun: str) -> str:
    return f"{whole(count)} {noun}{'' if count == 1 else 's'}"
