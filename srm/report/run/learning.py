"""The page of one learning run: what was learnt, how it went, what everybody was paid and why, and a replay.

`write_report` reads a run folder and writes report.html into it. Parts of a run that is not over yet are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from srm.errors import RunError
from srm.machine.holes import Constraint
from srm.report.html.markup import Markup, join, table, tag
from srm.report.html.numbers import counted, duration, number, share, whole
from srm.report.html.page import Section, page
from srm.report.html.parts import figures
from srm.report.run.checks import findings, margin_table, summary
from srm.report.run.holes import posterior_table
from srm.report.run.paid import paid_tables
from srm.report.run.parts import REPORT, command_line, configuration, drawing, envs_line
from srm.report.run.read import SURE, LearningRun, evenly, read_run
from srm.runs.folder import POSTERIOR, SUMMARY, write_bytes
from srm.runs.log import Columns
from srm.runs.records import SAMPLED
from srm.runs.solution import Solution

SCRIPTS = ("elements", "chart", "curves", "minigrid", "drawing", "episode", "strips", "replay", "choices", "learning")
BASELINES = ("signs", "regression")  # ways of inferring that know no spread
MOST_POINTS = 600  # of a curve: more cannot be told apart on a screen


def write_report(folder: Path) -> Path:
    """Writes the page of a learning run into its folder, and returns where."""
    path = folder / REPORT
    write_bytes(path, learning_page(read_run(folder)).encode())
    return path


def learning_page(run: LearningRun) -> str:
    sections = [section for section in _sections(run) if section is not None]
    data: dict[str, Any] = {"log": sampled(run.log), "goal": run.settings.get("stop_at")}
    if run.episodes is not None:
        data["episodes"] = {**run.episodes, "start": run.machine.start}
    return page(f"{run.task}: {_outcome(run)}", _header(run), sections, SCRIPTS, data)


def sampled(log: Columns, most: int = MOST_POINTS) -> dict[str, list[float | None]]:
    """The columns with at most so many rows, evenly chosen, the first and the last among them."""
    chosen = evenly(len(next(iter(log.values()))), most)
    return {name: [_short(values[place]) for place in chosen] for name, values in log.items()}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}") if abs(value) < 1e5 else value


# The head of the page


def _outcome(run: LearningRun) -> str:
    known = run.outcome
    reached = f"return {number(known['return'])}" if known["return"] is not None else "no episode has ended"
    return f"{reached} after {whole(known['frames'])} frames"


def _header(run: LearningRun) -> Markup:
    return tag(
        "header",
        tag("p", "Symbolic reward machines · learning run", class_="kind"),
        tag("h1", run.task, " ", tag("span", run.folder.resolve().name, class_="run")),
        tag("p", _sentence(run), class_="outcome"),
        envs_line(run.config),
        figures(_figures(run)),
        command_line(run.config),
    )


def _sentence(run: LearningRun) -> Markup:
    known = run.outcome
    demos = _of_kind(run, "demonstration")
    ground = f"From {counted(len(demos), 'demonstration')}" if demos else "From demonstrations"
    holes = counted(len(run.machine.holes), "hole")
    reached = "ended no episode"
    if known["return"] is not None:
        episodes = known.get("episodes", SURE) if run.summary else SURE
        few = f" in the {counted(episodes, 'episode')} that ended" if episodes < SURE else ""
        solved = f"{share(known['success'])} of its episodes"
        reached = f"reached a return of {number(known['return'])}{few}, with {solved} solved,"
    seed = run.settings.get("seed")
    spent = f"{whole(known['frames'])} frames and {duration(known['seconds'])}"
    if run.summary is None:
        start = "This run has not ended. "
        rest = f" of machine {run.machine.name} are being inferred; the policy has {reached} after {spent}"
    else:
        start = ""
        rest = f" of machine {run.machine.name} were inferred, and the policy paid by it {reached} after {spent}"
    return join([start, ground, f" in {run.config.get('env_id')} the {holes}", rest, _seed(seed), "."])


def _seed(seed: Any) -> str | None:
    return None if seed is None else f" (seed {seed})"


def _figures(run: LearningRun) -> dict[str, str]:
    known = run.outcome
    values = {
        "return": number(known["return"]),
        "solved": share(known["success"]),
        "steps an episode": number(known.get("length")),
        "frames": whole(known["frames"]),
        "time": duration(known["seconds"]),
        "frames a second": whole(known["frames"] / known["seconds"]) if known["seconds"] else "–",
    }
    if run.posterior and run.posterior.get("margin") is not None:
        values["margin of the constraint"] = number(run.posterior["margin"])
    return values


def _of_kind(run: LearningRun, kind: str) -> list[Mapping[str, Any]]:
    episodes = run.episodes["episodes"] if run.episodes else []
    return [episode for episode in episodes if episode["kind"] == kind]


# Its parts


def _sections(run: LearningRun) -> Iterator[Section | None]:
    goal = run.settings.get("stop_at")
    dashed = "" if goal is None else f" The dashed line is the return at which the run was to stop, {number(goal)}."
    note = f"Means over the last hundred episodes.{dashed}"
    yield Section("curve", "Learning", tag("div", id="curve-charts"), note)
    yield Section(
        "holes",
        "Holes over time",
        tag("div", id="hole-charts"),
        _about_curves(run),
    )
    yield _rules(run)
    yield _machine(run)
    yield from _posterior(run)
    yield _checks(run)
    yield _solution(run)
    yield _paid(run)
    yield _replay(run)
    losses = tag("details", tag("summary", "Losses over time"), tag("div", id="loss-charts"))
    yield configuration(run.settings, run.config.get("versions", {}), run.learnt or run.machine, losses)


def _rules(run: LearningRun) -> Section | None:
    if not any(name.startswith("rule.") for name in run.log):
        return None
    note = "How often each rule fires an episode, means over the last hundred; rules without a name are called by node and event."
    return Section("rules", "Rules over time", tag("div", id="rule-charts"), note)


def _about_curves(run: LearningRun) -> str:
    if _way(run) in BASELINES:
        return "The value that paid the policy, which was found once and stays; all on one scale."
    sampler = "the sampler, before its draws are brought inside the constraint,"
    spread = "the posterior" if _way(run) == SAMPLED else sampler
    return f"The value that paid the policy, and one spread of {spread} to either side; all on one scale."


def _way(run: LearningRun) -> Any:
    """How the holes were inferred."""
    return run.settings.get("infer")


def _machine(run: LearningRun) -> Section:
    region = drawing(run.learnt or run.machine, _constraint(run))
    if run.posterior is None:
        return Section("machine", "Machine", region)
    if run.is_sampled:
        return Section("machine", "Learnt machine", region)
    unexercised = [hole["name"] for hole in run.posterior["holes"] if not hole["exercised"]]
    note = "How many steps' pay depended on each hole, in the demonstrations and in the policy's latest play, stands beside it. "
    if _way(run) not in BASELINES:
        note += "The spread is the width of the sampler q, whose draws the constraint holds inside; it is no error bar."
    if unexercised:
        names = ", ".join(f"?{name}" for name in unexercised)
        note += f" Nobody exercised {names}: the constraint alone set {'it' if len(unexercised) == 1 else 'them'}."
    return Section("machine", "Learnt machine", join([region, posterior_table(run.posterior)]), note)


def _posterior(run: LearningRun) -> Iterator[Section]:
    """What draws say of the holes, where they were drawn; Algorithm 1 has its table."""
    if not run.is_sampled or run.learnt is None:
        return
    from srm.report.run.posterior import posterior_sections, warning
    from srm.report.run.summary import read_summary, refuse_other_machine

    summary = read_summary(run.folder / POSTERIOR)
    refuse_other_machine(run.folder, summary, run.learnt)
    first, *others = posterior_sections(summary, run.learnt, _constraint(run))
    yield replace(first, body=join([warning(summary), first.body]))
    yield from others


def _constraint(run: LearningRun) -> Constraint | None:
    """The one that was kept; before anything is learnt, the machine's first."""
    if run.posterior is None:
        return run.machine.constraint()
    name = run.posterior["constraint"]
    machine = run.learnt or run.machine  # learnt: with the atoms against farming
    return None if name is None else machine.constraint(name)


def _checks(run: LearningRun) -> Section | None:
    if run.learnt is None or run.check is None:
        return None
    constraint = _constraint(run)
    body = [
        None if constraint is None else margin_table(run.learnt, constraint),
        tag("h3", f"Found by srm check: {summary(run.check)}"),
        findings(run.check),
    ]
    kept = "No constraint was asked for."
    if constraint is not None:
        kept = f"The constraint {constraint.name} with the learnt values: the margin is the room that is left."
    return Section("checks", "Constraint and checks", join(body), kept)


def _solution(run: LearningRun) -> Section | None:
    """The paper's condition, where it was measured."""
    plain = (run.summary or {}).get("solution")
    if plain is None:
        return None
    try:
        solution = Solution.from_json(plain)
    except ValueError as problem:
        raise RunError(f"{run.folder / SUMMARY}: {problem}; learn again with this version") from None
    rows = [
        [
            tag("th", name, scope="row"),
            *(tag("td", f"{number(earned.mean)} ± {number(earned.error)}", class_="number") for earned in sides),
            tag(
                "td", tag("span", compared.verdict, class_="badge" if compared.verdict == "holds" else "badge warning")
            ),
        ]
        for name, compared in (
            ("undiscounted", solution.plain),
            (f"discounted by {solution.discount:g}", solution.discounted),
        )
        for sides in ((compared.demonstrations, compared.policy),)
    ]
    heads = ["an episode earns", "demonstrations", "the policy", "demonstrations at least as much"]
    note = (
        "A machine is a solution if what is demonstrated earns at least as much as what the policy does, by the machine's own pay. "
        f"Means and standard errors over {whole(solution.plain.policy.episodes)} episodes of the policy. Where it fails, "
        "--refine makes the policy's play evidence and trains on."
    )
    return Section("solution", "Is it a solution?", table(heads, rows, label="What episodes earn"), note)


def _paid(run: LearningRun) -> Section | None:
    if run.episodes is None or run.learnt is None:
        return None
    note = "Task return, and the machine's pay by what paid it. An episode's name opens its replay."
    return Section("paid", "Who was paid what", paid_tables(run.learnt, run.episodes["episodes"]), note)


def _replay(run: LearningRun) -> Section | None:
    if run.episodes is None:
        return None
    body = Markup((files("srm.report.html") / "assets" / "replay.html").read_text(encoding="utf-8"))
    return Section("replay", "Replay", body)
