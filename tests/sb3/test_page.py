"""docs/learners.md and its examples: they run, they are as short as they say, and what the page shows is what there is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

import srm
from examples import landing, patrol, pendulum, plain_torch, single_file_ppo
from srm.errors import RunError, TaskError
from srm.rl.foreign import ForeignLearner

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "learners.md").read_text()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")


def test_the_learner_in_plain_pytorch_is_short_and_learns_holes_and_policy(tmp_path: Path) -> None:
    source = inspect.getsource(plain_torch.Reinforce)
    assert len(source.splitlines()) < 50
    run = srm.learn(
        "DoorKey-5x5",
        policy=plain_torch.Reinforce,
        frames=3000,
        episodes=1,
        posterior={"sweeps": 20},
        out=tmp_path / "run",
        progress=False,
    )
    assert run.machine.is_concrete
    assert run.summary["frames"] >= 3000
    with pytest.raises(RunError, match="a learner of your own"):
        srm.evaluate(run)
    with pytest.raises(RunError, match="a learner of your own"):
        srm.resume(run, frames=5000, progress=False)


def test_what_lacks_a_method_is_refused_by_name() -> None:
    with pytest.raises(RunError, match="has no update and no log_probs"):
        ForeignLearner(SimpleNamespace(collect=lambda: None, frames=0), None)
    learner = SimpleNamespace(collect=lambda: 3, update=print, log_probs=print, frames=0)
    with pytest.raises(RunError, match="it must have `rollout`"):
        ForeignLearner(learner, None).collect()


def test_rollouts_continue_each_other() -> None:
    envs = srm.envs("DoorKey-5x5", 3, seed=1)
    rng = np.random.default_rng(0)
    parts = [srm.rollout(envs, lambda seen: rng.integers(7, size=len(seen)), steps=20) for _ in range(2)]
    np.testing.assert_array_equal(parts[0].observations[-1], parts[1].observations[0])
    with pytest.raises(TaskError, match="one for each is needed"):
        srm.rollout(envs, lambda seen: np.zeros(2, np.int64))
    with pytest.raises(TaskError, match=r"write srm\.rollout\(srm\.envs"):
        srm.rollout(gymnasium.make_vec("CartPole-v1", 2), lambda seen: np.zeros(2, np.int64))  # type: ignore[arg-type]


def test_a_vector_of_gymnasium_can_be_played() -> None:
    envs = srm.envs(gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync"))
    assert srm.rollout(envs, lambda seen: (seen[:, 2] > 0).astype(np.int64), steps=30).valid.sum() > 50


def test_the_ppo_in_one_file_is_paid_by_a_machine_in_ten_lines_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    source = inspect.getsource(single_file_ppo)
    assert 1 <= len(re.findall(r"# machine$", source, re.MULTILINE)) <= 10
    bare = single_file_ppo.Args(total_timesteps=5120, machine=False)
    paid = single_file_ppo.Args(total_timesteps=5120)
    assert single_file_ppo.main(bare)
    assert single_file_ppo.main(paid)
    for line in re.findall(r"^ *(.*)  # machine$", source, re.MULTILINE):
        assert line in PAGE, f"the page does not show: {line}"


@pytest.mark.parametrize("module", [pendulum, landing, patrol])
def test_the_machines_of_the_page_fit_their_environments(module: Any) -> None:
    name = module.__name__.split(".")[-1]
    machine = srm.load(f"examples/{name}.srm", module.TASK)
    if name == "landing":
        pytest.importorskip("Box2D")
    env = srm.SymbolicReward(gymnasium.make(module.TASK.env_id), machine, module.TASK.event_reader(), show_node=True)
    env.reset(seed=0)
    env.action_space.seed(0)
    paid = []
    for _ in range(300):
        _, pay, terminated, truncated, _ = env.step(env.action_space.sample())
        paid.append(pay)
        if terminated or truncated:
            env.reset()
    assert np.isfinite(paid).all()
    assert np.std(paid) > 0


def test_the_python_of_the_page_runs() -> None:
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        exec(code, {})  # written above, not read from anywhere else
