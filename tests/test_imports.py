"""What needs no learner starts without one: machines, envs, demonstrations and pages load neither torch nor a compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest

PARTS = """
import numpy as np

from srm.seeding import stream
from srm.evaluate.payer import read_rollout
from srm.evaluate.program import Program
from srm.evaluate.trace import trace
from srm.machine.checks.check import check
from srm.machine.language.parse import find_machine
from srm.report.compare.figures import palette
from srm.report.html.markup import tag
from srm.report.html.page import Section, page
from srm.domains.minigrid.compiled import compiled
from srm.domains.demonstrations import choose
from srm.domains.record import play, record
from srm.domains.tasks import find_task
from srm.domains.envs import gather
from srm.trajectory import as_rollout
"""

USE = """
task = find_task(NAME)
machine, vocabulary = find_machine(task.machines[0]).opened(), task.event_reader()
check(machine, task.vocabulary)
envs = task.make_envs(8, seed=0)
observations, poses = envs.reset()
actions = stream(0, "actions").integers(envs.action_space.count, size=(64, 8))
program, shown = Program(machine, task.vocabulary), choose(task, None, None)
for rollout in (gather(observations, poses, actions, [envs.step(row) for row in actions]), as_rollout(shown.trajectories)):
    read_rollout(program, vocabulary, rollout)
    vocabulary.read(rollout)
env = compiled(task.environment(task.env_id))
played = play(env, lambda observations: 2, seed=0, most=20)
trace(find_machine(task.machines[0] + "_handset"), vocabulary, played, find_machine(task.machines[0] + "_handset").values())
record(task, 1, seed=0)
page("A page", tag("h1", "A page"), [Section("colours", "Colours", tag("p", *palette()))], [], {})
"""

LOADED = """
import sys, time
print(*(package for package in ("torch", "envpool", "numba", "matplotlib", "scipy.optimize", "tyro") if package in sys.modules))
print(f"{time.process_time():.2f} s of processor time", file=sys.stderr)
"""


@pytest.mark.parametrize("task", ["doorkey", "keycorridor", "obstructedmaze"])
def test_worlds_machines_and_demonstrations_are_used_without_learners(task: str) -> None:
    program = f"NAME = {task!r}\n{PARTS}{USE}{LOADED}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    print(done.stderr)  # the time it took; of a failure, why
    assert done.returncode == 0
    assert done.stdout.split() == []
