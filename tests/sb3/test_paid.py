"""Learners of Stable-Baselines3 learn from what the machine's definition pays: at once, in hindsight, under new values, elsewhere."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from sb3_contrib import RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

import srm
import srm.sb3
from examples import pendulum
from srm.errors import MachineError, SettingError, TaskError
from srm.evaluate.reference import Walk, happenings
from srm.machine.language.parse import find_machine, parse
from srm.machine.model import Machine
from srm.sb3.replay import MachineDictReplayBuffer
from tests.evaluate.scripts import events_of
from tests.evaluate.test_wrappers import MAZE, Heard, Say

ROOT = Path(__file__).parents[2]
HINDSIGHT, PLAIN = "obstructedmaze_1_handset", "obstructedmaze_4_handset"


def envs(machine: str | Machine = HINDSIGHT, count: int = 3, most: int = 9, **options: Any) -> srm.sb3.MachineVecEnv:
    vector = DummyVecEnv([lambda: Say(most)] * count)
    model = machine if isinstance(machine, Machine) else find_machine(machine)
    return srm.sb3.MachineVecEnv(vector, model, Heard(), **options)


class Book:
    """Plays along with the definition: what each step should be paid, in the end."""

    def __init__(self, machine: Machine, count: int, values: dict[str, float] | None = None) -> None:
        self.walks = [Walk(machine, Heard.vocabulary, values or machine.values()) for _ in range(count)]
        self.pay: list[list[float]] = [[] for _ in range(count)]

    def step(self, actions: np.ndarray, over: np.ndarray) -> None:
        for env, walk in enumerate(self.walks):
            ((happened,),) = happenings(events_of([MAZE[actions[env]]]), Heard.vocabulary)
            walk.step(happened, {})
            self.pay[env] = self.pay[env][: len(self.pay[env]) - len(walk.pay) + 1] + walk.pay
            if over[env]:
                walk.begin_episode()

    def forget(self) -> None:
        """A rollout that was learnt from cannot be paid any more."""
        for walk in self.walks:
            walk.forget()
        self.pay = [[] for _ in self.walks]


def watch(env: srm.sb3.MachineVecEnv, book: Book, cut: list[Any] | None = None) -> None:
    """`cut`: of each time-out the step, the env, and what was observed last."""
    inner = env.step_wait

    def step_wait() -> Any:
        seen, pay, over, infos = inner()
        if cut is not None:
            late = [index for index, info in enumerate(infos) if info["TimeLimit.truncated"]]
            cut.extend((len(book.pay[0]), index, infos[index]["terminal_observation"]) for index in late)
        book.step(np.asarray(env._actions).reshape(-1), over)
        return seen, pay, over, infos

    env.step_wait = step_wait  # type: ignore[method-assign]


def test_infos_have_what_the_wrappers_put_there() -> None:
    env = VecMonitor(envs(count=2, most=3, show_node=True))
    seen = env.reset()
    assert seen["node"].tolist() == [[1, 0, 0]] * 2
    seen, pay, over, infos = env.step(np.array([5, 0]))
    assert (pay.tolist(), over.tolist()) == ([1.0, 0.0], [False, False])
    assert {k: infos[0][k] for k in ("node", "rule", "task_reward", "machine_reward")} == {
        "node": "after_seeing_target",
        "rule": "searching.1",
        "task_reward": 0.0,
        "machine_reward": 1.0,
    }
    seen, pay, over, infos = env.step(np.array([6, 0]))
    assert over.tolist() == [True, False]
    assert seen["node"].tolist() == [[1, 0, 0], [1, 0, 0]]  # of the new episode
    assert infos[0]["terminal_observation"]["node"].tolist() == [0, 0, 1]
    assert infos[0]["corrected_pay"].tolist() == [1.0, 3.0]
    assert infos[0]["episode"]["r"] == pytest.approx(4.0)


@pytest.mark.parametrize("kind", [PPO, A2C, RecurrentPPO])
@pytest.mark.parametrize("show_node", [False, True])
def test_hindsight_re_pays_a_rollout_before_its_returns_are_computed(kind: Any, show_node: bool) -> None:
    env = envs(show_node=show_node)
    book = Book(find_machine(HINDSIGHT), env.num_envs)
    watch(env, book)
    policy = ("MultiInput" if show_node else "Mlp") + ("LstmPolicy" if kind is RecurrentPPO else "Policy")
    batches = {"batch_size": 60} if kind is PPO else {}
    model = srm.sb3.paid(kind(policy, env, n_steps=40, seed=0, gamma=0.9, device="cpu", **batches))
    inner = model.train
    changed = 0

    def train() -> None:
        nonlocal changed
        buffer = model.rollout_buffer
        truncated = np.abs(buffer.rewards - np.array(book.pay).T) > 1e-5
        # a time-out has the critic's value added to its pay; nothing else may differ
        assert not (truncated & ~last_steps(buffer)).any()
        changed += int((np.abs(buffer.ledger.pay(env.payer.assignment) - buffer.ledger.paid()) > 1e-6).sum())
        assert np.isfinite(buffer.returns).all()
        book.forget()
        inner()

    model.train = train
    model.learn(40 * 3 * 3)
    assert changed > 0  # or the test would say nothing of hindsight


def test_a_time_out_keeps_the_worth_of_what_came_after_it() -> None:
    env = envs(most=4)
    book, cut = Book(find_machine(HINDSIGHT), env.num_envs), list[Any]()
    watch(env, book, cut)
    model = srm.sb3.paid(PPO("MlpPolicy", env, n_steps=40, batch_size=60, seed=0, gamma=0.9, device="cpu"))
    model.train = lambda: None
    model.learn(40 * 3)
    worth = np.zeros((40, 3))
    for step, index, last in cut:
        worth[step, index] = 0.9 * model.policy.predict_values(model.policy.obs_to_tensor(last)[0]).item()
    assert np.count_nonzero(worth) > 10
    np.testing.assert_allclose(model.rollout_buffer.rewards, np.array(book.pay).T + worth, atol=1e-5)


def test_what_scales_pay_scales_what_hindsight_changes_too() -> None:
    env = envs(most=10**9)
    book = Book(find_machine(HINDSIGHT), env.num_envs)
    watch(env, book)
    scaling = VecNormalize(env, training=False, norm_obs=False, clip_reward=2.0)
    scaling.ret_rms.var = np.float64(4.0)
    model = srm.sb3.paid(PPO("MlpPolicy", scaling, n_steps=40, batch_size=60, seed=0, device="cpu"))
    model.train = lambda: None
    model.learn(40 * 3)
    pay = np.array(book.pay).T
    assert (model.rollout_buffer.ledger.paid() != pay).any()
    np.testing.assert_allclose(model.rollout_buffer.rewards, np.clip(pay / 2, -2, 2), atol=1e-5)


def last_steps(buffer: Any) -> np.ndarray:
    """[T, B] whether an episode ended with the step; the last row may be one."""
    starts = np.concatenate([buffer.episode_starts[1:], np.ones((1, buffer.n_envs))])
    return starts.astype(bool)


def filled_dqn(env: srm.sb3.MachineVecEnv, steps: int, **options: Any) -> DQN:
    policy = "MlpPolicy" if env.view is None else "MultiInputPolicy"
    model = DQN(policy, env, buffer_size=3 * 64, learning_starts=10**6, exploration_fraction=1.0, seed=0, device="cpu")
    return srm.sb3.paid(model, **options).learn(steps * env.num_envs)


@pytest.mark.parametrize("steps", [50, 150])  # before and after it is full
def test_hindsight_re_pays_a_replay_buffer_when_it_fires(steps: int) -> None:
    env = envs()
    book = Book(find_machine(HINDSIGHT), env.num_envs)
    watch(env, book)
    buffer = filled_dqn(env, steps).replay_buffer
    kept = min(steps, 64)
    rows = (buffer.pos - kept + np.arange(kept)) % 64
    expected = np.array(book.pay).T[-kept:]
    np.testing.assert_allclose(buffer.rewards[rows], expected, atol=1e-6)


@pytest.mark.parametrize("steps", [50, 700])
def test_other_values_re_pay_a_replay_buffer_before_the_next_batch(steps: int) -> None:
    env, machine = envs(), find_machine(HINDSIGHT)
    values = {name: value * 2 + 0.125 for name, value in machine.values().items()}
    book = Book(machine, env.num_envs, values)
    watch(env, book)
    buffer = filled_dqn(env, steps).replay_buffer
    before = buffer.rewards.copy()
    env.concretize(values)
    buffer.sample(4)
    kept = min(steps, 64)
    rows = (buffer.pos - kept + np.arange(kept)) % 64
    np.testing.assert_allclose(buffer.rewards[rows], np.array(book.pay).T[-kept:], atol=1e-5)
    assert not np.allclose(before, buffer.rewards)


def test_steps_that_are_not_remembered_are_no_obstacle_to_re_paying() -> None:
    """People evaluate a model in the environments that it learns in, and then go on."""
    machine = parse(COUNTED)
    env = envs(machine, show_node="counters")
    model = filled_dqn(env, 40, counterfactual=True)
    evaluate_policy(model, model.get_env(), n_eval_episodes=300, warn=False)
    model.learn(30 * env.num_envs, reset_num_timesteps=False)
    values = {"key": 0.5, "door": 4.0, "goal": 1.0, "late": -1.0}
    before = model.replay_buffer.rewards.copy()
    env.concretize(values)
    check_places(machine, env, model.replay_buffer, values, 200)
    now = dict(zip((0.0, 1.0, 2.0, 3.0, -0.5), (0.0, 0.5, 4.0, 1.0, -1.0), strict=True))  # of each pay; none is twice
    assert len(np.unique(before)) == len(now)
    np.testing.assert_allclose(model.replay_buffer.rewards, np.vectorize(now.get)(before))


@pytest.mark.parametrize("kind", ["PPO", "DQN"])
def test_a_saved_model_is_loaded_and_paid_again(kind: str, tmp_path: Path) -> None:
    if kind == "PPO":
        model: Any = srm.sb3.paid(PPO("MlpPolicy", envs(), n_steps=8, batch_size=24, device="cpu"))
    else:
        model = filled_dqn(envs(PLAIN, show_node=True), 2, counterfactual=True)
    model.learn(24)
    model.save(tmp_path / "model")
    loaded = srm.sb3.paid(type(model).load(tmp_path / "model", env=model.get_env()))
    assert loaded.learn(24, reset_num_timesteps=False).num_timesteps == model.num_timesteps + 24
    if kind == "DQN":
        with pytest.raises(SettingError, match="is not saved"):
            model.save_replay_buffer(io.BytesIO())


COUNTED = """
machine counted
holes ?key = 1 ?door = 2 ?goal = 3 ?late = -0.5
counters
    #keys  counts pick_up_key
start one
    pick_up_key and #keys < 2  // ?key
    unlock_door                // ?door  -> two
node two
    pick_up_key                // ?late
    pick_up_target             // ?goal  -> three
accept three
"""


def test_counterfactual_experience_is_what_the_definition_pays_at_every_place() -> None:
    machine = parse(COUNTED)
    env = envs(machine, show_node="counters")
    model = filled_dqn(env, 60, counterfactual=True)
    buffer = model.replay_buffer
    assert isinstance(buffer, MachineDictReplayBuffer)
    check_places(machine, env, buffer, machine.values(), 400)
    values = {"key": 0.5, "door": 4.0, "goal": 1.0, "late": -1.0}
    env.concretize(values)
    check_places(machine, env, buffer, values, 400)


def check_places(machine: Machine, env: Any, buffer: Any, values: dict[str, float], count: int) -> None:
    batch = buffer.sample(count)
    assert env.view is not None
    (bound,) = env.view.bounds
    names = [node.name for node in machine.nodes]
    met = set()
    for row in range(count):
        walk = Walk(machine, Heard.vocabulary, values)
        walk.node = names[int(batch.observations["node"][row].argmax())]
        walk.counts = {"keys": int(batch.observations["counters"][row].argmax())}
        met.add((walk.node, walk.counts["keys"]))
        ((happened,),) = happenings(events_of([MAZE[int(batch.actions[row])]]), Heard.vocabulary)
        judgement = walk.step(happened, {})
        assert batch.rewards[row].item() == pytest.approx(judgement.pay)
        assert names[int(batch.next_observations["node"][row].argmax())] == judgement.target
        assert int(batch.next_observations["counters"][row].argmax()) == min(walk.counts["keys"], bound)
        last = int(batch.actions[row]) == len(MAZE) - 1
        assert bool(batch.dones[row]) == (last or judgement.target == "three")
    assert met == {(name, number) for name in ("one", "two") for number in range(bound + 1)}


def test_shaping_is_added_by_the_potential_and_ends_with_the_episode() -> None:
    env = envs(parse(COUNTED), count=1, shaping=0.5)
    assert env.payer.potential is not None
    np.testing.assert_allclose(env.payer.potential, [2 + 0.5 * 3, 3, 0])
    env.reset()
    _, pay, _, _ = env.step(np.array([0]))
    assert pay[0] == pytest.approx(0.5 * 3.5 - 3.5)
    _, pay, _, _ = env.step(np.array([MAZE.index("unlock_door green (5, 4)")]))
    assert pay[0] == pytest.approx(2 + 0.5 * 3 - 3.5)
    _, pay, over, _ = env.step(np.array([6]))
    assert over[0]
    assert pay[0] == pytest.approx(3 - 3)


def test_the_callback_logs_pay_by_rule_and_by_hole() -> None:
    env = envs(PLAIN)
    model = srm.sb3.paid(A2C("MlpPolicy", env, n_steps=8, seed=0, device="cpu"))
    records: list[dict[str, Any]] = []

    class Keeping(Logger):
        def dump(self, step: int = 0) -> None:
            records.append(dict(self.name_to_value))
            super().dump(step)

    model.set_logger(Keeping(None, []))
    model.learn(600, callback=srm.sb3.PayCallback(env, every=120), log_interval=10)
    logged = records[-1]
    rules = [value for name, value in logged.items() if name.startswith("pay/rule/")]
    holes = [value for name, value in logged.items() if name.startswith("pay/hole/")]
    assert len(holes) == len(find_machine(PLAIN).holes)
    assert sum(rules) == pytest.approx(logged["pay/all"])
    assert sum(holes) + logged["pay/constant"] == pytest.approx(logged["pay/all"], abs=1e-6)
    assert sum(value for name, value in logged.items() if name.startswith("node/")) == pytest.approx(1)


class Mine(ReplayBuffer):
    """As HerReplayBuffer is one: it computes rewards of its own."""


def test_cells_are_one_hot_and_pictures_are_numbers_from_0_to_1() -> None:
    cells = np.full((2, 7, 7, 3), 1, np.uint8)
    assert set(np.unique(srm.sb3.flat({"image": cells, "direction": 0}))) == {0, 1}
    picture = np.full((2, 96, 96, 3), 51, np.uint8)
    np.testing.assert_allclose(srm.sb3.flat(picture), np.full((2, 96 * 96 * 3), 0.2), rtol=1e-6)


def test_what_cannot_be_is_refused_with_a_sentence() -> None:
    plain = DummyVecEnv([Say])
    with pytest.raises(SettingError, match=r"of this A2C; give a srm\.sb3\.MachineVecEnv"):
        srm.sb3.paid(A2C("MlpPolicy", plain, device="cpu"))
    with pytest.raises(SettingError, match=r"these environments; give a srm\.sb3\.MachineVecEnv"):
        srm.sb3.PayCallback(plain)
    with pytest.raises(MachineError, match=r"is no machine; write srm\.load\('doorkey', task\)"):
        srm.sb3.MachineVecEnv(plain, "doorkey", Heard())  # type: ignore[arg-type]
    with pytest.raises(TaskError, match=r"Task is no event reader; write task\.event_reader\(\)"):
        srm.sb3.MachineVecEnv(plain, find_machine(PLAIN), pendulum.TASK)  # type: ignore[arg-type]
    for wrong in ({"shaping": 1.5}, {"show_node": "counter"}, {"show_node": "counters", "bounds": {"keys": -1}}):
        with pytest.raises(SettingError, match=r"give|no bound"):
            envs(parse(COUNTED), **wrong)
    with pytest.raises(SettingError, match="needs DQN, SAC or TD3"):
        srm.sb3.paid(A2C("MlpPolicy", envs(), device="cpu"), counterfactual=True)
    with pytest.raises(MachineError, match="show_node=True"):
        filled_dqn(envs(PLAIN), 1, counterfactual=True)
    with pytest.raises(MachineError, match="hindsight"):
        filled_dqn(envs(HINDSIGHT, show_node=True), 1, counterfactual=True)
    with pytest.raises(SettingError, match="paid already"):
        srm.sb3.paid(srm.sb3.paid(A2C("MlpPolicy", envs(), device="cpu")))
    with pytest.raises(SettingError, match="paid already"):
        srm.sb3.paid(filled_dqn(envs(), 1))
    with pytest.raises(SettingError, match="played already"):
        srm.sb3.paid(DQN("MlpPolicy", envs(), buffer_size=90, device="cpu").learn(9))
    with pytest.raises(SettingError, match="has a Mine, which a machine cannot pay"):
        srm.sb3.paid(DQN("MlpPolicy", envs(), buffer_size=90, replay_buffer_class=Mine, device="cpu"))
    with pytest.raises(TaskError, match="is no VecEnv of Stable-Baselines3"):
        srm.sb3.MachineVecEnv(Say(), find_machine(PLAIN), Heard())  # type: ignore[arg-type]
    with pytest.raises(TaskError, match="reset"):
        envs().step(np.zeros(3, np.int64))


@pytest.mark.parametrize("kind", [SAC, TD3])
def test_continuous_learners_are_re_paid_too(kind: Any) -> None:
    machine = srm.load(ROOT / "examples" / "pendulum.srm", pendulum.TASK)
    env = srm.sb3.MachineVecEnv(
        DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")] * 2), machine, pendulum.TASK.event_reader(), show_node=True
    )
    small = {"learning_starts": 20, "batch_size": 16, "buffer_size": 400, "policy_kwargs": {"net_arch": [8]}}
    model = srm.sb3.paid(kind("MultiInputPolicy", env, seed=0, device="cpu", **small), counterfactual=True)
    model.learn(60)
    before = model.replay_buffer.rewards[:30].copy()
    assert (before <= 0).all()  # rising pays nothing
    env.concretize({name: 2 * value for name, value in machine.values().items()})
    batch = model.replay_buffer.sample(64)
    np.testing.assert_allclose(model.replay_buffer.rewards[:30], 2 * before, rtol=1e-5)
    assert set(batch.observations["node"].argmax(dim=1).tolist()) == {0, 1}
