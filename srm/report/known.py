"""What is known of a machine's holes, as text: a table, and what there is to say of the constraint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from srm.infer.posterior.record import HoleRecord, Summary

HEADS = ("hole", "pays", "mean", "90 % interval", "ratio", "narrower", "set by")


def posterior_text(summary: Summary, where: str = "") -> Iterator[str]:
    """The result of an inference, for a reader in a terminal; `where` names the environment of the demonstrations."""
    if not summary.convergence.converged:
        yield f"has NOT converged: {_lacking(summary)}; give more --posterior.sweeps than {summary.convergence.sweeps}"
    yield evidence_text(summary, where)
    yield ""
    yield from known_of(summary)


def evidence_text(summary: Summary, where: str = "") -> str:
    """What was inferred, and from what."""
    held = f"constraint {summary.constraint}" if summary.constraint else "no constraint"
    return (
        f"{summary.machine} under {held}, from {summary.demonstrations} demonstrations "
        f"({summary.demonstrated_steps} steps){where and f' in {where}'} and {summary.played_steps:,} steps of play"
        f"{f', and {summary.answers} answers about pairs of episodes' if summary.answers else ''}"
    )


def known_of(summary: Summary) -> Iterator[str]:
    """A table of what is known of each hole, and what there is to say of the constraint."""
    yield from _table([_row(hole) for hole in summary.holes])
    if summary.ratios:
        listed = ", ".join(f"?{ratio.name} {ratio.low:.3g} to {ratio.high:.3g}" for ratio in summary.ratios)
        yield f"\nrelative to ?{summary.ratios[0].of}, 90 %: {listed}"
    yield from _about_constraint(summary)


def _lacking(summary: Summary) -> str:
    wanted = summary.convergence
    parts = []
    apart = [h for h in summary.holes if h.r_hat is None or h.r_hat > wanted.largest_r_hat]
    if apart:
        worst = max(apart, key=lambda h: float("inf") if h.r_hat is None else h.r_hat)
        r_hat = "infinite" if worst.r_hat is None else f"{worst.r_hat:.3f}"
        parts.append(f"R-hat of ?{worst.name} is {r_hat}, above {wanted.largest_r_hat:g}")
    few = [h for h in summary.holes if h.effective is None or h.effective < wanted.least_effective]
    if few:
        worst = min(few, key=lambda h: h.effective or 0.0)
        parts.append(
            f"?{worst.name} has {worst.effective or 0:.0f} independent draws, below {wanted.least_effective:.0f}"
        )
    return ", ".join(parts)


def _row(hole: HoleRecord) -> tuple[str, ...]:
    ratio = "-" if hole.ratio is None else f"{hole.ratio:.2f}"
    digits = hole.decimals
    interval = f"{hole.low:6.{digits}f} to {hole.high:6.{digits}f}"
    pays, mean = f"{hole.value:.{digits}f}", f"{hole.mean:.{digits}f}"
    return f"?{hole.name}", pays, mean, interval, ratio, f"{100 * hole.narrower:.0f} %", hole.set_by


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(HEADS, *rows, strict=True)]
    for row in (HEADS, *rows):
        cells = [
            cell.ljust(width) if place in (0, len(HEADS) - 1) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _about_constraint(summary: Summary) -> Iterator[str]:
    """What was added, what is pressed, what stays open."""
    if summary.added:
        yield "\nadded against farming"
        width = max(len(atom.text) for atom in summary.added)
        yield from (f"  {atom.text:<{width}}  {atom.label}" for atom in summary.added)
    if summary.pressed or summary.unproved or summary.unread:
        yield ""
    for atom in summary.pressed:
        yield f"the demonstrations press against {atom.text}: beyond it they would be {atom.gain:.1f} more likely (log-odds)"
    for sentence in summary.unproved:
        yield f"unproved: {sentence}"
    for name in summary.unread:
        yield f"nothing reads ?{name}: no rule pays it or compares with it, so its value means nothing"
