"""The page of a proposal: the machine, its text, the demonstrations along its milestones, and what was left out."""

from __future__ import annotations

from srm.infer.propose.propose import Proposal
from srm.infer.propose.reading import Story
from srm.report.html.markup import Markup, join, table, tag
from srm.report.html.numbers import whole
from srm.report.html.page import Section, page
from srm.report.html.parts import figures
from srm.report.run.checks import findings
from srm.report.run.parts import drawing


def proposal_page(proposal: Proposal) -> str:
    machine = proposal.machine
    sections = [
        Section("machine", "Machine", drawing(machine, machine.constraint())),
        Section("text", "Text", tag("pre", proposal.text)),
        Section(
            "demonstrations",
            "Demonstrations along the milestones",
            join(_way(proposal, number) for number in range(len(proposal.structure.ways))),
            "The step at which each milestone is first passed. A dash: never. Steps count from 1.",
        ),
        Section("explanation", "What was considered", tag("pre", proposal.explanation)),
        Section("checks", "What was proved", findings(proposal.report.as_json())),
    ]
    return page(f"{machine.name}: proposed from demonstrations", _header(proposal), sections, (), {})


def _header(proposal: Proposal) -> Markup:
    account = proposal.account
    values = {
        "demonstrations": whole(len(account.stories)),
        "that solve the task": whole(len(account.solved)),
        "ways": whole(len(proposal.structure.ways)),
        "nodes": whole(len(proposal.machine.nodes)),
        "holes": whole(len(proposal.machine.holes)),
    }
    return tag(
        "header",
        tag("p", "Symbolic reward machines · proposal", class_="kind"),
        tag("h1", proposal.machine.name),
        tag("p", proposal.summary, class_="outcome"),
        figures(values),
    )


def _way(proposal: Proposal, number: int) -> Markup:
    way = proposal.structure.ways[number]
    stories = [story for story in proposal.account.stories if story.number in way.numbers]
    heads = ("demonstration", *way.events, "steps")
    rows = [
        [
            tag("th", story.number, scope="row"),
            *(tag("td", _first(story, event)) for event in way.events),
            tag("td", story.length),
        ]
        for story in stories
    ]
    return table(heads, rows, label=f"Way {number + 1}")


def _first(story: Story, event: str) -> str:
    return next((str(occurrence.step + 1) for occurrence in story.occurrences if occurrence.event == event), "-")
