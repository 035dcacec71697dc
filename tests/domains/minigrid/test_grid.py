"""Envs of our own beside those of the `minigrid` package: the same steps, and the same chance of everything at the start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from minigrid.core.constants import IDX_TO_COLOR
from minigrid.core.grid import Grid
from minigrid.core.world_object import Ball, Box, Door, Goal, Key, Wall
from minigrid.envs import EmptyEnv, KeyCorridorEnv

from srm.domains.envs import make_environment, make_envs
from srm.domains.minigrid.envs import GridEnvs
from srm.domains.minigrid.grid import DRAWN_BEFORE, Rules, layout_of
from srm.domains.minigrid.layouts import TARGET, rules_of
from srm.domains.minigrid.tasks import ENVIRONMENTS
from srm.domains.tasks import find_task
from srm.errors import TaskError

ALL = [env_id for ids in ENVIRONMENTS.values() for env_id in ids]
# Of the mazes that have a v1, the v0 has layouts without a solution.
SOLVABLE = [env_id for env_id in ALL if env_id.endswith("v1") or env_id.replace("v0", "v1") not in ALL]
OBJECTS = {5: Key, 6: Ball, 7: Box}


def own(env_id: str, count: int, seed: int = 0) -> GridEnvs:
    envs = make_envs(env_id, count, seed)
    assert isinstance(envs, GridEnvs)
    return envs


def put_into(env: Any, envs: GridEnvs, b: int) -> None:
    """Makes a MiniGrid environment look as env b does at the beginning of its episode."""
    cells, inside, agent, *_ = envs._state
    env.reset()
    env = env.unwrapped
    env.grid = Grid(*cells.shape[1:3])
    for x, y in np.ndindex(*cells.shape[1:3]):
        kind, colour, state = cells[b, x, y]
        name = IDX_TO_COLOR[colour]
        if kind == 2:
            env.put_obj(Wall(), x, y)
        elif kind == 8:
            env.put_obj(Goal(), x, y)
        elif kind == 4:
            env.put_obj(Door(name, is_open=state == 0, is_locked=state == 2), x, y)
        elif kind in OBJECTS:
            thing = OBJECTS[kind](name)
            if inside[b, x, y] % 64:
                thing.contains = Key(IDX_TO_COLOR[inside[b, x, y] % 64 - 1])
            env.put_obj(thing, x, y)
            if inside[b, x, y] >= TARGET:
                assert kind == (7 if "UnlockPickup" in env.spec.id else 6)
                assert kind == 7 or "KeyCorridor" in env.spec.id or name == "blue"
                env.obj = thing
    env.agent_pos, env.agent_dir = tuple(map(int, agent[b, :2])), int(agent[b, 2])


def assert_same_steps(env_id: str, seed: int, actions: Any) -> tuple[bool, bool]:
    """Both take the same actions; `actions` is told MiniGrid's environment as it begins. Returns how the episode ended."""
    envs, env = own(env_id, 1, seed), make_environment(env_id)
    observations, _ = envs.reset()
    put_into(env, envs, 0)
    seen = env.unwrapped.gen_obs()
    assert np.array_equal(seen["image"], observations[0])
    terminated = truncated = False
    for number, action in enumerate(actions(env)):
        step = envs.step(np.array([action]))
        observed, reward, terminated, truncated, _ = env.step(action)
        where = f"{env_id} seed {seed}, action {number}"
        assert np.array_equal(observed["image"], step.observations[0]), where
        assert observed["pose"].tolist() == step.poses[0].tolist(), where
        assert step.task_reward[0] == pytest.approx(reward), where
        assert (step.terminated[0], step.truncated[0], step.valid[0]) == (
            terminated,
            truncated and not terminated,
            True,
        ), where
        if terminated or truncated:
            break
    return terminated, truncated


@pytest.mark.parametrize("env_id", SOLVABLE)
def test_the_expert_solves_both_in_the_same_steps(env_id: str) -> None:
    expert = find_task(env_id).expert
    assert expert is not None
    for seed in range(4):
        assert assert_same_steps(env_id, seed, expert) == (True, False)


@pytest.mark.parametrize("env_id", ALL)
def test_whatever_is_done_does_the_same_in_both(env_id: str) -> None:
    """Mostly forward, with much picking up, dropping and opening, to the end of the time or the task."""
    odds = np.array([2, 2, 5, 2, 1, 2, 0.2])
    for seed in range(2):
        actions = np.random.default_rng(seed).choice(7, size=4000, p=odds / odds.sum())
        assert any(assert_same_steps(env_id, seed, lambda env, actions=actions: actions))


@pytest.mark.parametrize(
    "env_id",
    [
        *("MiniGrid-DoorKey-6x6-v0", "MiniGrid-KeyCorridorS3R2-v0", "MiniGrid-KeyCorridorS4R3-v0"),
        *("MiniGrid-ObstructedMaze-1Dlhb-v0", "MiniGrid-ObstructedMaze-2Dl-v0", "MiniGrid-ObstructedMaze-2Dlhb-v0"),
        *("MiniGrid-ObstructedMaze-2Q-v1", "MiniGrid-ObstructedMaze-Full-v1"),
    ],
)
def test_everything_is_where_it_is_as_often_as_in_minigrid(env_id: str) -> None:
    """Of each cell and each thing that may stand there; five standard errors are exceeded by one in two million of such."""
    envs, env, theirs_count = own(env_id, 4000), make_environment(env_id).unwrapped, 400
    envs.reset()
    cells, inside, agent, *_ = envs._state
    ours = [coded(grid, boxes, place) for grid, boxes, place in zip(cells, inside, agent, strict=True)]
    theirs = []
    for seed in range(theirs_count):
        env.reset(seed=seed)
        boxes = np.zeros((env.width, env.height), np.uint8)
        for x, y in np.ndindex(env.width, env.height):
            thing = env.grid.get(x, y)
            if thing is not None and thing.type == "box":
                boxes[x, y] = 1 + list(IDX_TO_COLOR.values()).index(thing.contains.color)
            if thing is not None and thing is getattr(env, "obj", None):
                boxes[x, y] += TARGET
        theirs.append(coded(env.grid.encode(), boxes, np.array([*env.agent_pos, env.agent_dir])))
    mine, its = np.stack(ours), np.stack(theirs)
    for code in np.unique(np.concatenate([mine.reshape(-1), its.reshape(-1)])):
        a, b = (mine == code).mean(axis=0), (its == code).mean(axis=0)
        both = (a * len(mine) + b * len(its)) / (len(mine) + len(its))
        error = np.sqrt(both * (1 - both) * (1 / len(mine) + 1 / len(its)))
        assert (np.abs(a - b) <= 5 * error + 1e-12).all(), f"code {code} at {np.argwhere(np.abs(a - b) > 5 * error)[0]}"


def coded(cells: np.ndarray, inside: np.ndarray, agent: np.ndarray) -> np.ndarray:
    """[W, H] one number for everything that may stand in a cell; the agent counts as a thing, one for each direction."""
    kind, colour, state = np.moveaxis(cells.astype(np.int64), -1, 0)
    codes = ((kind * 6 + colour) * 3 + state) * 256 + inside
    codes[agent[0], agent[1]] = -1 - agent[2]
    return codes


@pytest.mark.parametrize(
    "env", [KeyCorridorEnv(obj_type="box"), KeyCorridorEnv(num_rows=4), EmptyEnv()], ids=["target", "rooms", "family"]
)
def test_what_we_have_no_layouts_for_lays_itself_out(env: Any) -> None:
    rules = rules_of(env)
    assert isinstance(rules, Rules)
    assert layout_of(env, rules).kind == DRAWN_BEFORE


def test_too_few_actions_are_refused_before_any_is_taken() -> None:
    envs = own("MiniGrid-DoorKey-5x5-v0", 4)
    envs.reset()
    with pytest.raises(TaskError, match="4 environments take one each"):
        envs.step(np.zeros(1, np.int64))


def test_the_same_seed_gives_the_same_worlds_and_another_gives_others() -> None:
    one, same, other = (own("MiniGrid-KeyCorridorS3R3-v0", 8, seed) for seed in (3, 3, 4))
    first, again, different = (envs.reset()[0] for envs in (one, same, other))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, different)
    assert len(np.unique(first.reshape(8, -1), axis=0)) > 4


def test_after_its_end_a_world_spends_a_step_on_beginning_anew() -> None:
    envs = own("MiniGrid-DoorKey-5x5-v0", 2)
    envs.reset()
    for _ in range(250):
        last = envs.step(np.array([0, 0]))
    assert last.truncated.all()
    assert not last.terminated.any()
    begun = envs.step(np.array([2, 2]))
    assert not begun.valid.any()
    assert not (begun.truncated | begun.terminated).any()
    assert envs.step(np.array([0, 0])).valid.all()
