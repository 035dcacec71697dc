"""docs/runs.md lists the columns of the log: every one that a run writes, and none besides."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import srm
from srm.infer.algorithm1.loop import InferConfig
from srm.machine.language.parse import find_machine
from srm.rl.make import LearnerConfig
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import PpoConfig
from srm.runs.learning_settings import Learning
from srm.runs.rule_rates import rule_names
from srm.runs.run import Run
from srm.runs.training import Training

PAGE = Path(srm.__file__).parents[1] / "docs" / "runs.md"
SMALL = LearnerConfig(
    network=NetConfig(width=16, memory=8), ppo=PpoConfig(num_envs=4, num_steps=16, epochs=1, minibatches=2)
)
RUNS: tuple[Training | Learning, ...] = (
    *(
        Training("DoorKey-5x5", frames=1, learning=replace(SMALL, learner=learner))
        for learner in ("agac", "ride", "bc")
    ),  # type: ignore[arg-type]
    Training("DoorKey-5x5", frames=1, reward="gail", learning=SMALL),
    Learning(
        "DoorKey-5x5",
        frames=100,
        count=2,
        infer="algorithm1",
        cores=1,
        learning=SMALL,
        inference=InferConfig(warm_up=0),
    ),
)


def columns_of(settings: Training | Learning, folder: Path) -> set[str]:
    run = Run.begin(settings, folder)
    rows = [progress.row for progress in run.rounds()]
    run.close()
    return {name for row in rows for name in row}


def test_the_page_lists_every_column_and_no_other(tmp_path: Path) -> None:
    table = PAGE.read_text(encoding="utf-8").split("## The columns of the log")[1].split("\n\n")[2]
    listed = {name for row in table.splitlines() for name in re.findall(r"`([\w.]+)`", row.split("|")[1])}
    written = set().union(*(columns_of(run, tmp_path / str(number)) for number, run in enumerate(RUNS)))
    generic = {re.sub(r"^(hole|spread)\.\w+$", r"\1.NAME", name) for name in written}
    generic = {re.sub(r"^rule\..*\.(rate|pay)$", r"rule.NAME.\1", name) for name in generic}
    assert generic == listed


def test_the_page_calls_rules_as_the_log_does() -> None:

    text = PAGE.read_text(encoding="utf-8")
    assert "`before_unlocking.unlock_door`" in text
    assert "before_unlocking.unlock_door" in rule_names(find_machine("doorkey"))
    assert "before_unlocking.3" in [label for _, _, label in find_machine("doorkey").rules]
