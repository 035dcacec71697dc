"""Machines in other people's loops: the wrappers pay what the evaluators pay, for every step, in every autoreset mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import minigrid  # noqa: F401  (its import registers its environments)
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from srm.domains.envs import GymnasiumEnvs, gather
from srm.domains.minigrid.envs import ShowPose
from srm.domains.minigrid.events import MiniGrid
from srm.domains.minigrid.vocabulary import MINIGRID_WORDS
from srm.domains.tasks import find_task
from srm.domains.words import WrittenVocabulary
from srm.errors import AssignmentError, MachineError, TaskError
from srm.evaluate.payer import Payer
from srm.evaluate.wrappers import HindsightWarning, SymbolicReward, SymbolicRewardVector
from srm.machine.language.parse import find_machine, parse
from srm.machine.vocabulary import Vocabulary
from srm.trajectory import Events, Rollout
from tests.domains.any_spaces import dict_and_box
from tests.evaluate.scripts import events_of, pay_of

MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]
DOORKEY = "MiniGrid-DoorKey-5x5-v0"

# An env in which one says what happens: each action is a phrase.

MAZE = (
    "",
    "open_box red (1, 1)",
    "drop_ball blue (7, 7)",
    "pick_up_key green (2, 2)",
    "unlock_door green (5, 4)",
    "see_target (9, 9)",
    "pick_up_target blue (9, 9)",
)


class Say(gymnasium.Env[Any, Any]):
    """Observes how often one spoke; ends with the last phrase, and after `most` steps."""

    observation_space = spaces.Box(0, 255, (1,), np.uint8)
    action_space = spaces.Discrete(len(MAZE))

    def __init__(self, most: int = 50) -> None:
        self.most = most

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return np.array([0], np.uint8), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        terminated = int(action) == len(MAZE) - 1
        return (
            np.array([self.count], np.uint8),
            float(terminated),
            terminated,
            self.count >= self.most,
            {"said": MAZE[action]},
        )


class Heard:
    """What was said is what happened."""

    vocabulary: Vocabulary = MINIGRID_WORDS

    def read(self, rollout: Rollout) -> Events:
        found = []
        for env in range(rollout.envs):
            said = [MAZE[action] if valid else "" for action, valid in zip(*self.of(rollout, env), strict=True)]
            found.append(events_of(said))
        each = [np.full(len(events), env, np.int32) for env, events in enumerate(found)]
        parts = [
            np.concatenate([getattr(events, name) for events in found]) for name in ("step", "event", "attributes")
        ]
        signals = np.zeros((rollout.steps, rollout.envs, 0))
        return Events(rollout.steps, rollout.envs, parts[0], np.concatenate(each), parts[1], parts[2], signals)

    def of(self, rollout: Rollout, env: int) -> tuple[np.ndarray, np.ndarray]:
        return rollout.actions[:, env], rollout.valid[:, env]


def saying(*, most: int = 50, machine: str = "obstructedmaze_3_handset", **options: Any) -> SymbolicReward:
    return SymbolicReward(Say(most), find_machine(machine), Heard(), **options)


# One environment


@pytest.mark.parametrize("show_node", [False, True])
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_the_wrapper_passes_gymnasiums_checker(show_node: bool) -> None:
    env = SymbolicReward(
        gymnasium.make(DOORKEY, render_mode="rgb_array"),
        find_machine("doorkey_handset"),
        MiniGrid(),
        show_node=show_node,
    )
    check_env(env, skip_render_check=True)  # it would open a window
    env.close()


def test_info_tells_node_rule_and_both_rewards() -> None:
    env = saying()
    _, info = env.reset(seed=0)
    assert info == {"node": "searching"}
    _, reward, terminated, _, info = env.step(MAZE.index("see_target (9, 9)"))
    assert (reward, terminated) == (1.0, False)
    assert info == {
        "said": "see_target (9, 9)",
        "node": "after_seeing_target",
        "rule": "searching.1",
        "task_reward": 0.0,
        "machine_reward": 1.0,
    }
    _, reward, _, _, info = env.step(0)
    assert (reward, info["rule"], info["node"]) == (0.0, None, "after_seeing_target")


def test_the_last_step_of_an_episode_is_paid_and_the_next_begins_anew() -> None:
    env = saying()
    for _ in range(2):
        env.reset()
        paid = [env.step(action) for action in (5, 6)]
        assert [step[1] for step in paid] == [1.0, 3.0]
        assert paid[-1][2]
        assert (paid[-1][4]["node"], paid[-1][4]["task_reward"]) == ("end", 1.0)


def test_the_node_can_be_seen() -> None:
    env = saying(show_node=True)
    seen, _ = env.reset()
    assert env.observation_space.contains(seen)
    assert seen["node"].tolist() == [1, 0, 0]
    seen, *_ = env.step(5)
    assert env.observation_space.contains(seen)
    assert (seen["observation"].tolist(), seen["node"].tolist()) == ([1], [0, 1, 0])


def test_look_returns_the_observation_and_the_pose() -> None:
    looked = []

    def look(seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        looked.append(seen.tolist())
        return seen, np.zeros(2, np.int16)

    env = saying(look=look)
    env.reset()
    env.step(0)
    assert looked == [[0], [1]]


def test_hindsight_warns_and_gives_the_corrected_pay_at_the_end() -> None:
    said = [1, 2, 3, 4, 0, 5, 6]
    with pytest.warns(HindsightWarning, match="corrected_pay"):
        env = saying(machine="obstructedmaze_1_handset")
    assert env.repays
    for _ in range(2):  # the second episode knows nothing of the first
        env.reset()
        steps = [env.step(action) for action in said]
        assert [step[1] for step in steps] == pytest.approx([0.1, 0.1, 0.1, 0.6, 0, 1, 3])
        assert all("corrected_pay" not in step[4] for step in steps[:-1])
        assert steps[-1][4]["corrected_pay"] == pytest.approx([0, 0.1, 0.1, 0.6, 0, 1, 3])
    whole = pay_of(find_machine("obstructedmaze_1_handset"), [MAZE[action] for action in said])
    assert steps[-1][4]["corrected_pay"] == pytest.approx(whole)


def test_an_expert_in_minigrid_is_paid_what_the_batched_evaluator_pays() -> None:
    task = find_task("keycorridor")
    machine, event_reader = find_machine("keycorridor_revised"), task.event_reader()
    env = SymbolicReward(ShowPose(gymnasium.make("MiniGrid-KeyCorridorS3R1-v0")), machine, event_reader)
    seen, _ = env.reset(seed=3)
    assert task.expert is not None
    actions = task.expert(env) or []
    steps = [env.step(action) for action in actions]
    assert steps[-1][2]
    observations = np.stack([seen["image"], *(step[0]["image"] for step in steps)])[:, None]
    poses = np.stack([seen["pose"], *(step[0]["pose"] for step in steps)])[:, None]
    terminated = np.array([[step[2]] for step in steps])
    nothing = np.zeros_like(terminated)
    rewards = np.zeros(terminated.shape, np.float32)
    rollout = Rollout(observations, np.array(actions)[:, None], poses, rewards, terminated, nothing, ~nothing)
    expected = Payer(machine, event_reader)(rollout)[:, 0]
    assert [step[1] for step in steps] == pytest.approx(expected.tolist())
    assert expected.sum() == pytest.approx(1.6)


# Many


def vector_of(mode: AutoresetMode, most: int = 4, count: int = 2) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: Say(most)] * count, autoreset_mode=mode)


def test_a_vector_that_resets_within_the_step_tells_the_last_step_in_final_info() -> None:
    env = SymbolicRewardVector(
        vector_of(AutoresetMode.SAME_STEP), find_machine("obstructedmaze_3_handset"), Heard(), show_node=True
    )
    seen, info = env.reset(seed=0)
    assert info["node"].tolist() == ["searching"] * 2
    assert env.observation_space.contains(seen)
    env.step(np.array([5, 0]))
    seen, reward, terminated, _, info = env.step(np.array([6, 5]))
    assert env.observation_space.contains(seen)
    assert (reward.tolist(), terminated.tolist()) == ([3, 1], [True, False])
    assert info["node"].tolist() == ["searching", "after_seeing_target"]
    assert (info["rule"][1], info["_rule"].tolist()) == ("searching.1", [False, True])
    final = info["final_info"]
    assert (final["node"][0], final["rule"][0], final["task_reward"][0]) == ("end", "after_seeing_target.3", 1.0)
    assert final["_node"].tolist() == [True, False]
    assert info["final_obs"][0]["node"].tolist() == [0, 0, 1]
    assert seen["node"].tolist() == [[1, 0, 0], [0, 1, 0]]


def test_a_vector_that_spends_a_step_on_resetting_does_not_show_it_to_the_machine() -> None:
    machine = find_machine("obstructedmaze_3_handset")
    env = SymbolicRewardVector(vector_of(AutoresetMode.NEXT_STEP), machine, Heard(), show_node=True)
    env.reset(seed=0)
    env.step(np.array([5, 0]))
    seen, reward, terminated, _, info = env.step(np.array([6, 0]))
    assert (reward.tolist(), terminated.tolist(), info["node"].tolist()) == (
        [3, 0],
        [True, False],
        ["end", "searching"],
    )
    assert seen["node"].tolist() == [[0, 0, 1], [1, 0, 0]]  # the observation is still that of the episode's end
    seen, reward, _, _, info = env.step(np.array([5, 5]))  # the first env ignores what is said
    assert seen["node"].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert (reward.tolist(), info["node"].tolist()) == ([0, 1], ["searching", "after_seeing_target"])
    assert info["_rule"].tolist() == [False, True]
    _, reward, *_ = env.step(np.array([5, 0]))
    assert reward.tolist() == [1, 0]


def test_a_vector_that_leaves_resetting_to_others_begins_where_it_is_reset() -> None:
    env = SymbolicRewardVector(vector_of(AutoresetMode.DISABLED), find_machine("obstructedmaze_3_handset"), Heard())
    env.reset(seed=0)
    env.step(np.array([5, 5]))
    _, _, terminated, _, info = env.step(np.array([6, 0]))
    assert info["node"].tolist() == ["end", "after_seeing_target"]
    _, info = env.reset(options={"reset_mask": terminated})
    assert (info["node"][0], info["_node"].tolist()) == ("searching", [True, False])
    _, reward, *_ = env.step(np.array([5, 6]))
    assert reward.tolist() == [1, 3]


@pytest.mark.parametrize("mode", MODES)
def test_corrected_pay_is_told_for_each_env_when_its_episode_is_over(mode: AutoresetMode) -> None:
    with pytest.warns(HindsightWarning):
        env = SymbolicRewardVector(vector_of(mode), find_machine("obstructedmaze_1_handset"), Heard())
    env.reset(seed=0)
    for actions in ([1, 0], [2, 0], [3, 5]):
        env.step(np.array(actions))
    _, reward, terminated, truncated, info = env.step(np.array([4, 6]))
    assert (reward.tolist(), terminated.tolist(), truncated.tolist()) == ([0.6, 3], [False, True], [True, True])
    told = info["final_info"] if mode is AutoresetMode.SAME_STEP else info
    assert told["corrected_pay"][0] == pytest.approx([0, 0.1, 0.1, 0.6])
    assert told["corrected_pay"][1] == pytest.approx([0, 0, 1, 3])


def test_wrappers_of_gymnasium_read_the_info_of_a_vector() -> None:
    inner = SymbolicRewardVector(vector_of(AutoresetMode.SAME_STEP), find_machine("obstructedmaze_3_handset"), Heard())
    env = DictInfoToList(RecordEpisodeStatistics(inner))
    env.reset(seed=0)
    env.step(np.array([5, 0]))
    infos: Any = env.step(np.array([6, 0]))[-1]
    assert infos[0]["final_info"]["rule"] == "after_seeing_target.3"
    assert infos[1]["node"] == "searching"


class Steered:
    """Follows the task's expert for a while, then acts at random, in each env of a vector."""

    def __init__(self, vector: SyncVectorEnv, task: Any, seed: int) -> None:
        self.vector, self.task, self.rng = vector, task, np.random.default_rng(seed)
        self.plans: list[Iterator[int]] = [iter(())] * vector.num_envs

    def begin(self, envs: Any) -> None:
        for env in envs:
            plan = self.task.expert(self.vector.envs[env]) or []
            self.plans[env] = iter(plan if self.rng.random() < 0.7 else plan[: len(plan) // 2])

    def act(self) -> np.ndarray:
        return np.array([next(plan, int(self.rng.integers(7))) for plan in self.plans])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("task", "env_id", "machine"),
    [
        ("doorkey", DOORKEY, "doorkey_handset"),
        ("keycorridor", "MiniGrid-KeyCorridorS3R1-v0", "keycorridor_revised"),
        ("obstructedmaze", "MiniGrid-ObstructedMaze-1Dlhb-v0", "obstructedmaze_2_handset"),
    ],
)
def test_a_vector_pays_what_the_batched_evaluator_pays(
    task: str, env_id: str, machine: str, mode: AutoresetMode
) -> None:
    def make() -> gymnasium.Env[Any, Any]:
        return ShowPose(gymnasium.make(env_id, max_steps=40))

    row, model = find_task(task), find_machine(machine)
    vector = SyncVectorEnv([make] * 3, autoreset_mode=mode)
    env = SymbolicRewardVector(vector, model, row.event_reader())
    policy = Steered(vector, row, seed=1)
    env.reset(seed=[5, 6, 7])
    policy.begin(range(3))
    actions, paid, overs = [], [], np.zeros(3, np.bool_)
    for _ in range(90):
        actions.append(policy.act())
        _, reward, terminated, truncated, _ = env.step(actions[-1])
        paid.append(reward)
        over = terminated | truncated
        policy.begin(np.flatnonzero(over if mode is AutoresetMode.SAME_STEP else overs))
        overs = over
    twin = SyncVectorEnv([make] * 3, autoreset_mode=mode)
    envs = GymnasiumEnvs(twin, seed=0, env_id=env_id)
    envs._seed = [5, 6, 7]  # type: ignore[assignment]
    rollout = gather(*envs.reset(), actions, [envs.step(row) for row in actions])
    assert rollout.terminated.sum() > 2
    np.testing.assert_allclose(np.array(paid), Payer(model, row.event_reader())(rollout), atol=1e-12)


# What does not fit


def test_what_does_not_fit_is_refused_by_name() -> None:
    handset, open_machine = find_machine("doorkey_handset"), find_machine("doorkey")
    with pytest.raises(AssignmentError, match=r"no value for \?goal"):
        SymbolicReward(Say(), open_machine, Heard())
    with pytest.raises(AssignmentError, match="the values break"):
        SymbolicReward(Say(), handset, Heard(), {**handset.values(), "goal": 0.0})
    SymbolicReward(Say(), handset, Heard(), {**handset.values(), "goal": 0.0}, outside_constraint=True)
    with pytest.raises(MachineError, match="fly"):
        SymbolicReward(Say(), parse("machine m\nstart one\n    fly // 1\n"), Heard())


def test_a_step_without_an_episode_is_refused_before_the_first_reset_and_after_an_end() -> None:
    env = saying()
    with pytest.raises(TaskError, match=r"call reset\(\) first"):
        env.step(0)
    env.reset()
    for action in (5, 6):
        env.step(action)
    with pytest.raises(TaskError, match="again after an episode's end"):
        env.step(0)
    many = SymbolicRewardVector(vector_of(AutoresetMode.DISABLED), find_machine("obstructedmaze_3_handset"), Heard())
    many.reset()
    many.step(np.array([0, 6]))
    with pytest.raises(TaskError, match="a step of env 1 without an episode"):
        many.step(np.array([0, 0]))


def test_continuous_actions_and_dictionaries_are_paid_for() -> None:
    words = WrittenVocabulary("any")

    @words.event
    def push(action: Any) -> Any:
        return action[..., 0] > 1

    @words.signal
    def third(after: Any) -> Any:
        return after["position"][..., 2]

    machine = parse("machine m\nwords any\nstart one\n    push // 2 * third\n", {"any": words.vocabulary})
    one = SymbolicReward(dict_and_box(), machine, words.reader())
    vector = SyncVectorEnv([dict_and_box] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    many = SymbolicRewardVector(vector, machine, words.reader())
    one.reset(seed=0)
    many.reset(seed=0)
    for step in range(5):
        push_hard = np.array([1.5 if step % 2 else 0.5, 0.2], np.float32)
        seen, pay, *_ = one.step(push_hard)
        expected = 2 * seen["position"][2] if step % 2 else 0
        assert pay == pytest.approx(expected)
        _, pays, *_ = many.step(np.stack([push_hard, push_hard]))
        assert pays[0] == pytest.approx(expected)


def test_counters_can_be_seen() -> None:
    env = saying(machine="obstructedmaze_4_handset", show_node="counters")
    seen, _ = env.reset()
    assert env.observation_space.contains(seen)
    first = seen["counters"]
    assert first.reshape(6, -1)[:, 0].tolist() == [1] * 6  # all at 0
    seen, *_ = env.step(1)  # a box is opened
    assert (seen["counters"] != first).sum() == 2


def test_a_vector_that_does_not_tell_its_autoreset_mode_is_refused() -> None:
    vector = vector_of(AutoresetMode.SAME_STEP)
    del vector.metadata["autoreset_mode"]
    with pytest.raises(TaskError, match="autoreset_mode"):
        SymbolicRewardVector(vector, find_machine("obstructedmaze_3_handset"), Heard())


def test_a_vector_of_minigrid_without_poses_says_what_to_do() -> None:
    vector = gymnasium.make_vec(DOORKEY, 1, vectorization_mode="sync")
    env = SymbolicRewardVector(vector, find_machine("doorkey_handset"), MiniGrid())
    env.reset(seed=0)
    with pytest.raises(TaskError, match="ShowPose"):
        env.step(np.array([0]))
