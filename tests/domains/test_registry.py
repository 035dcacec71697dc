"""Domains are found by their words, by an environment and by its name; one more is one module and one line."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium
import pytest

from srm.domains.base import Domain
from srm.domains.envs import make_environment
from srm.domains.registry import DEFAULT, MODULES, domain_named, domain_of, domain_of_env, domain_of_id, domains
from srm.domains.tasks import FAMILIES
from srm.errors import TaskError

ROOT = Path(__file__).parents[2]

SECOND = """
from pathlib import Path

from examples.mountain_car import TASK, words
from srm.domains.base import Domain

def owns(env):
    return type(env.unwrapped).__name__ == "MountainCarEnv"

DOMAIN = Domain(
    title="MountainCar",
    vocabulary=words.vocabulary,
    actions=("push left", "coast", "push right"),
    packages=("gymnasium",),
    tasks=(TASK,),
    environments={"mountain_car": ("MountainCar-v0",)},
    prefix="Mountain",
    register=lambda: None,
    owns=owns,
    demonstrations=Path.cwd(),
)
"""

USE = """
from srm.domains.registry import MODULES

MODULES["mountain_car"] = "second"
from srm.cli import main

of_both = "tasks", "words mountain_car", "demo mountain_car -n 1", "demo show mountain_car", "demo doorkey -n 1"
for line in (*of_both, f"check {ROOT}/examples/mountain_car.srm"):
    assert main(line.split()) == 0, line
"""


def minigrid() -> Domain:
    domain = domain_named(DEFAULT)
    assert domain is not None
    return domain


def lander() -> Domain:
    domain = domain_named("lunarlander")
    assert domain is not None
    return domain


def driving() -> Domain:
    domain = domain_named("highway")
    assert domain is not None
    return domain


def test_a_domain_is_found_by_what_is_of_it() -> None:
    env = make_environment("MiniGrid-Empty-5x5-v0")
    assert domain_of(FAMILIES["doorkey"].vocabulary) is domain_of_env(env) is minigrid()
    assert domain_of_id("MiniGrid-Empty-5x5-v0") is minigrid()
    assert domain_of_env(make_environment("LunarLanderContinuous-v3")) is domain_of_id("LunarLander-v3") is lander()
    assert domain_of(FAMILIES["lunarlander_continuous"].vocabulary) is lander()
    assert domain_of_id("merge-v0") is domain_of_id("highway-fast-v0") is domain_of(FAMILIES["merge"].vocabulary)
    assert domains() == tuple(map(domain_named, MODULES))


def test_an_environment_of_driving_is_of_its_domain() -> None:
    pytest.importorskip("highway_env")
    assert domain_of_env(make_environment("merge-v0")) is driving()
    assert domain_of_env(gymnasium.make("parking-v0")) is None


def test_what_is_of_no_domain_has_none() -> None:
    assert domain_named("nobody") is None
    assert domain_of_env(gymnasium.make("MountainCar-v0")) is None
    assert domain_of_id("MountainCar-v0") is domain_of_id("LunarLander-v9") is None


def test_somebodys_own_words_of_the_same_name_are_not_ours() -> None:
    assert domain_of(replace(minigrid().vocabulary, balances=())) is None
    assert domain_of(replace(minigrid().vocabulary)) is minigrid()


def test_a_task_outside_its_environments_is_refused() -> None:
    with pytest.raises(TaskError, match="DoorKey-8x8-v0 is not among the environments of its task doorkey"):
        replace(minigrid(), environments={"doorkey": ("MiniGrid-DoorKey-5x5-v0",)})


def test_a_second_domain_is_one_module_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "second.py").write_text(SECOND)
    code = f"import sys; sys.path[:0] = [ROOT := {str(ROOT)!r}, {str(tmp_path)!r}]{USE}"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mountain_car: swing up the hill to the flag" in done.stdout  # among the tasks
    assert "the flag on the right hill is reached" in done.stdout  # among the words
    assert "push right" in done.stdout  # of an episode that is found where the domain's ship
    assert "DoorKey-8x8-v0 (MiniGrid itself)" in done.stdout  # which is there as before
