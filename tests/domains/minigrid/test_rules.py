"""MiniGrid's rules compiled are MiniGrid's rules: every registered environment is stepped beside the `minigrid` package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import minigrid  # noqa: F401  (registers its environments)
import numpy as np
import pytest
from minigrid.core.grid import Grid
from minigrid.core.world_object import Ball, Box, Door, Floor, Goal, Key, Lava, Wall
from minigrid.envs import DoorKeyEnv, EmptyEnv, KeyCorridorEnv, UnlockEnv
from minigrid.minigrid_env import MiniGridEnv
from minigrid.wrappers import FullyObsWrapper

from srm.domains.envs import GymnasiumEnvs, make_environment, make_envs
from srm.domains.minigrid import grid
from srm.domains.minigrid.envs import COMPILED, OWN_LAYOUTS, GridEnvs, ShowPose
from srm.domains.minigrid.layouts import LayoutSource, UnknownLayout, read_grid, rules_of
from srm.domains.minigrid.vocabulary import DIRECTIONS
from srm.errors import TaskError
from srm.seeding import stream

IDS = sorted(name for name in gymnasium.registry if name.startswith(("MiniGrid-", "BabyAI-")))
NEEDS_MORE = {name for name in IDS if "-WFC-" in name}  # `minigrid[wfc]`, which we do not install
# What is left to Gymnasium, because its class changes `step`
LEFT = {
    *(f"MiniGrid-Dynamic-Obstacles-{size}-v0" for size in ("5x5", "6x6", "8x8", "16x16", "Random-5x5", "Random-6x6")),
    *(f"MiniGrid-Fetch-{size}-v0" for size in ("5x5-N2", "6x6-N2", "8x8-N3")),
    *(f"MiniGrid-GoToDoor-{size}-v0" for size in ("5x5", "6x6", "8x8")),
    *(f"MiniGrid-GoToObject-{size}-v0" for size in ("6x6-N2", "8x8-N2")),
    *(f"MiniGrid-Memory{size}-v0" for size in ("S7", "S9", "S11", "S13", "S13Random", "S17Random")),
    *(f"MiniGrid-PutNear-{size}-v0" for size in ("6x6-N2", "8x8-N3")),
    *(f"MiniGrid-RedBlueDoors-{size}-v0" for size in ("6x6", "8x8")),
    *(name for name in IDS if name.startswith("BabyAI-")),
}
STEPPED = [name for name in IDS if name not in LEFT | NEEDS_MORE]
ODDS = np.array([2, 2, 5, 3, 2, 3, 0.2]) / 17.2  # mostly forward, with much taking, dropping and opening
NEAR = np.array([0, 0, 2, 3, 1, 3, 0]) / 9  # in front of a thing


def test_these_and_no_others_are_left_to_gymnasium() -> None:
    left = {name for name in IDS if name not in NEEDS_MORE and isinstance(rules_of(make_environment(name)), str)}
    assert left == LEFT
    assert len(STEPPED) == 52


class Beside:
    """One environment of MiniGrid, and the compiled rules in the same env."""

    def __init__(self, env: Any, rng: np.random.Generator) -> None:
        rules = rules_of(env)
        assert isinstance(rules, grid.Rules)
        self.env, self.inner, self.rng, self.rules = env, env.unwrapped, rng, rules
        self.compiled = GridEnvs("beside", grid.Layout(rules), 1, 0, LayoutSource(env, rules))
        self.ends: Counter[str] = Counter()

    def play(self, steps: int) -> Counter[str]:
        """Any actions for so many steps, in front of any thing, episode after episode; how the episodes ended."""
        self.begin()
        for _ in range(steps):
            odds = ODDS
            if self.rng.random() < 0.3 and self.face_a_thing():
                odds = NEAR
            if self.step(int(self.rng.choice(7, p=odds))):
                self.begin()
        return self.ends

    def begin(self) -> None:
        self.env.reset(seed=int(self.rng.integers(2**31)))
        self.compiled.begin_as([read_grid(self.inner, self.rules)])

    def face_a_thing(self) -> bool:
        """Puts the agent of both in front of any thing, into a free cell or a doorway."""
        things = [at for at in np.ndindex(self.inner.width, self.inner.height) if self.is_thing(*at)]
        for x, y in self.rng.permutation(things)[:1].tolist():
            for direction in self.rng.permutation(4).tolist():
                dx, dy = DIRECTIONS[direction]
                if isinstance(self.inner.grid.get(x - dx, y - dy), Door | None):
                    self.inner.agent_pos, self.inner.agent_dir = (x - dx, y - dy), direction
                    self.compiled.agent[0] = (x - dx, y - dy, direction)
                    return True
        return False

    def is_thing(self, x: int, y: int) -> bool:
        thing = self.inner.grid.get(x, y)
        return thing is not None and thing.type != "wall"

    def step(self, action: int) -> bool:
        observed, reward, terminated, truncated, _ = self.env.step(action)
        ours = self.compiled.step(np.array([action]))
        assert np.array_equal(observed["image"], ours.observations[0])
        assert observed["pose"].tolist() == ours.poses[0].tolist()
        assert np.array_equal(self.inner.grid.encode(), self.compiled.cells[0])
        assert np.float32(reward) == ours.task_reward[0]
        assert (terminated, truncated and not terminated, True) == (
            ours.terminated[0],
            ours.truncated[0],
            ours.valid[0],
        )
        if terminated or truncated:
            self.ends["truncated" if not terminated else "solved" if reward > 0 else "lost"] += 1
        return terminated or truncated


@pytest.mark.parametrize("env_id", STEPPED)
def test_whatever_is_done_does_the_same_in_both(env_id: str) -> None:
    ends = Beside(make_environment(env_id), stream(0, env_id)).play(400)
    assert ends["solved"] or "ObstructedMaze" in env_id or "Playground" in env_id, "which the agent is put in front of"
    assert ends["lost"] or "Lava" not in env_id


@pytest.mark.slow
@pytest.mark.parametrize("env_id", STEPPED)
def test_thousands_of_steps_do_the_same_in_both(env_id: str) -> None:
    ends = Beside(make_environment(env_id), stream(1, env_id)).play(6_000)
    assert ends["truncated"] or ends["solved"] > 5


def test_time_runs_out_in_both_at_the_same_step() -> None:
    env = gymnasium.make("MiniGrid-LavaGapS5-v0", max_steps=7)
    assert Beside(ShowPose(env), stream(0, "time")).play(200)["truncated"] > 5
    limited = gymnasium.make("MiniGrid-FourRooms-v0", max_episode_steps=9)  # the reward is still measured by 100 steps
    assert Beside(ShowPose(limited), stream(0, "limit")).play(200)["truncated"] > 5


# ---- an environment of one's own


class Everything(KeyCorridorEnv):
    """All things of MiniGrid at random places of one room, and a target that may lie in a box."""

    def _gen_grid(self, width: int, height: int) -> None:
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        colour = self._rand_color
        self.obj: Any = self._rand_elem([Ball, Key, Box])(colour())
        hidden = self._rand_bool()
        things = [
            *(Key(colour()), Ball(colour()), Box(colour()), Goal(), Lava(), Floor(colour()), Wall(colour())),
            *(Box(colour(), Key(colour())), Box(colour(), Ball(colour())), Box(colour(), Box(colour()))),
            *(Door(colour()), Door(colour(), is_open=True), Door(colour(), is_locked=True)),
            Box(colour(), self.obj) if hidden else self.obj,
        ]
        for thing in things:
            self.place_obj(thing)
        MiniGridEnv.place_agent(self)
        self.mission = "pick up the red ball"  # one of those that KeyCorridor has


class OpenDoor(UnlockEnv):
    """Two doors, of which one has to be opened."""

    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        self.place_obj(Door("red"))
        self.door = Door("blue", is_locked=self._rand_bool())
        self.place_obj(self.door)
        self.place_obj(Key("blue"))


@contextmanager
def registered(entry: Any, **settings: Any) -> Iterator[str]:
    gymnasium.register("Mine-v0", entry_point=entry, **settings)
    try:
        yield "Mine-v0"
    finally:
        gymnasium.registry.pop("Mine-v0")


@pytest.mark.parametrize("entry", [Everything, OpenDoor])
def test_an_environment_that_only_lays_out_a_grid_is_stepped_by_the_compiled_rules(entry: Any) -> None:
    with registered(entry) as env_id:
        envs = make_envs(env_id, 3, 0)
        assert isinstance(envs, GridEnvs)
        assert envs.stepped_by == OWN_LAYOUTS
        ends = Beside(make_environment(env_id), stream(0, "mine")).play(6_000)
        assert ends["solved"] > 50
        assert ends["lost"] > 50 or entry is OpenDoor


def test_a_subclass_of_a_family_that_ships_lays_itself_out() -> None:
    class Mine(DoorKeyEnv):
        pass

    with registered(Mine) as env_id:
        assert make_envs(env_id, 1, 0).stepped_by == OWN_LAYOUTS
    assert make_envs("MiniGrid-DoorKey-8x8-v0", 1, 0).stepped_by == COMPILED


class OwnStep(EmptyEnv):
    def step(self, action: Any) -> Any:
        return super().step(action)


class OwnReward(EmptyEnv):
    def _reward(self) -> float:
        return 1.0


class OwnObservation(EmptyEnv):
    def gen_obs(self) -> Any:
        return super().gen_obs()


class OwnReset(EmptyEnv):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed, options=options)


class HeavyDoor(Door):
    def toggle(self, env: Any, pos: Any) -> bool:
        return False


class OwnThing(EmptyEnv):
    thing: Any = HeavyDoor("red")

    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        self.put_obj(self.thing, 2, 1)


class SeeThroughGrid(Grid):
    def process_vis(self, agent_pos: Any) -> Any:
        return np.ones((self.width, self.height), bool)


class OwnGrid(EmptyEnv):
    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        self.grid.__class__ = SeeThroughGrid


class NestedBox(OwnThing):
    thing = Box("red", Box("blue", Key("red")))


class LockedAndOpen(OwnThing):
    thing = Door("red", is_open=True, is_locked=True)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (OwnStep, "OwnStep has a step of its own"),
        (OwnReward, "OwnReward has a _reward of its own"),
        (OwnObservation, "OwnObservation has a gen_obs of its own"),
        (OwnReset, "OwnReset has a reset of its own"),
        (OwnThing, "its layout has a tests.domains.minigrid.test_rules.HeavyDoor"),
        (OwnGrid, "its layout has a tests.domains.minigrid.test_rules.SeeThroughGrid"),
        (NestedBox, "its layout has a box with a Box in it that holds more"),
        (LockedAndOpen, "its layout has a door that is open and locked"),
        (lambda **_: DoorKeyEnv(agent_view_size=5), "its observation has 5 x 5 cells, not 7 x 7"),
        (lambda **_: FullyObsWrapper(EmptyEnv()), "it is wrapped in FullyObsWrapper"),
    ],
)
def test_what_changes_the_rules_or_the_observation_is_left_to_gymnasium_which_says_why(entry: Any, why: str) -> None:
    with registered(entry) as env_id:
        envs = make_envs(env_id, 2, 0)
        assert isinstance(envs, GymnasiumEnvs)
        assert envs.stepped_by == f"Gymnasium, since {why}"
        envs.reset()
        assert envs.step(np.zeros(2, np.int64)).poses.shape == (2, 3)


def test_a_method_that_was_put_on_one_environment_is_seen_too() -> None:
    env = make_environment("MiniGrid-Empty-5x5-v0")
    env.unwrapped.gen_obs = dict  # type: ignore[attr-defined]
    assert rules_of(env) == "since this EmptyEnv has a gen_obs of its own"


def test_a_layout_that_becomes_other_later_is_refused_with_a_remedy() -> None:
    env = make_environment("MiniGrid-MultiRoom-N2-S4-v0")
    rules = rules_of(env)
    assert isinstance(rules, grid.Rules)
    env.unwrapped.grid.set(3, 3, HeavyDoor("red"))  # type: ignore[attr-defined]
    with pytest.raises(UnknownLayout, match=r"MultiRoomEnv: its layout has a .*HeavyDoor.*--envs gymnasium"):
        read_grid(env.unwrapped, rules)


# ---- layouts by the environment itself


def first_cells(seed: int, episodes: int = 3, count: int = 4) -> list[bytes]:
    """The layouts of the first episodes of some envs that do nothing but turn."""
    envs = make_envs("MiniGrid-MultiRoom-N2-S4-v0", count, seed)
    assert isinstance(envs, GridEnvs)
    envs.reset()
    layouts = []
    for _ in range(episodes):
        layouts += [cells.tobytes() for cells in envs.cells]
        for _ in range(40 + 1):  # MiniGrid's limit, and the step that is spent on resetting
            envs.step(np.zeros(count, np.int64))
    return layouts


def test_every_episode_has_a_new_layout_and_the_seed_decides_them_all() -> None:
    one, again, other = first_cells(0, 40), first_cells(0, 40), first_cells(1, 40)
    assert one == again
    assert len({*one, *other}) == 2 * 40 * 4


def test_layouts_are_those_of_the_environment_itself() -> None:
    envs, env = make_envs("MiniGrid-FourRooms-v0", 1, 5), make_environment("MiniGrid-FourRooms-v0")
    assert isinstance(envs, GridEnvs)
    envs.reset()
    env.reset(seed=int(stream(5, "worlds").integers(2**31 - 2**20)))
    for _ in range(5):
        env.reset()
        assert np.array_equal(env.unwrapped.grid.encode(), envs.cells[0])  # type: ignore[attr-defined]
        for _ in range(101):
            envs.step(np.zeros(1, np.int64))


def test_gymnasium_and_compiled_rules_can_both_be_asked_for() -> None:
    asked = make_envs("MiniGrid-MultiRoom-N2-S4-v0", 1, 0, "gymnasium")
    assert isinstance(asked, GymnasiumEnvs)
    assert asked.stepped_by == "Gymnasium, as asked"


def test_an_agent_that_looks_out_of_the_grid_acts_on_nothing() -> None:
    class Doorway(EmptyEnv):
        def _gen_grid(self, width: int, height: int) -> None:
            super()._gen_grid(width, height)
            self.put_obj(Door("red", is_open=True), 0, 1)
            self.agent_pos, self.agent_dir = (1, 1), 2

    with registered(Doorway) as env_id:
        envs = make_envs(env_id, 1, 0)
        envs.reset()
        for action in (2, 2, 3, 4, 5, 6):
            step = envs.step(np.array([action]))
            assert step.poses[0].tolist() == [0, 1, 2]


def test_worlds_without_anybody_to_lay_them_out_are_not_made() -> None:
    rules = rules_of(make_environment("MiniGrid-Empty-5x5-v0"))
    assert isinstance(rules, grid.Rules)
    with pytest.raises(AssertionError, match="somebody has to lay them out"):
        GridEnvs("nobody", grid.Layout(rules), 1, 0)


def test_an_environment_that_cannot_be_made_is_an_error_of_the_task() -> None:
    for env_id in sorted(NEEDS_MORE)[:1]:
        with pytest.raises(TaskError, match="Gymnasium cannot make it"):
            make_envs(env_id, 1, 0)
