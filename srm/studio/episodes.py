"""All episodes that the studio knows, by where they come from, and what a page shows of them.

    kept, aside    played here
    given          demonstrations of a file, or those that ship with the task
    others         episodes of a file to compare with, such as `srm eval --replays` writes
    policy         of the policy of --policy            random    of somebody who presses any key

Those of the last two are played when they are first wanted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from srm.domains import demonstrations as demos
from srm.domains.base import Task
from srm.domains.captions import action_name, captions
from srm.domains.record import UNKNOWN_SEED, Act, play
from srm.domains.scenes import tell
from srm.domains.spaces import action_space_of
from srm.errors import SettingError
from srm.evaluate.success import solved
from srm.evaluate.thresholds import thresholds
from srm.evaluate.trace import trace
from srm.runs.episodes import Episode, episode_json, moments_of
from srm.seeding import stream
from srm.studio.bench import Bench
from srm.studio.play import Policy
from srm.studio.store import ASIDE, KEPT, EpisodeStore, StoredEpisode, key_of, recorded
from srm.trajectory import Demonstrations, Trajectory

RECORDED = (KEPT, ASIDE, "given", "others")
DEMONSTRATED = ("given", KEPT)  # whose episodes show how it is done
PLAYED = 10  # episodes of the policy, and at random
MOST_RANDOM = 1000  # steps of one


@dataclass(frozen=True, eq=False)
class ListedEpisode:
    """One episode and whose it is."""

    group: str
    number: int  # within its group, from 1
    key: str
    seed: int
    trajectory: Trajectory

    @property
    def name(self) -> str:
        names = {
            "given": "Demonstration",
            "kept": "Yours",
            "aside": "Set aside",
            "others": "Other",
            "policy": "Policy",
            "random": "Random",
        }
        return f"{names[self.group]} {self.number}"


class EpisodeLibrary:
    """Finds episodes by key, and describes them."""

    def __init__(
        self,
        task: Task,
        store: EpisodeStore,
        given: Demonstrations | None,
        others: Demonstrations | None,
        policy: Policy | None,
    ) -> None:
        self.task, self.store, self.policy = task, store, policy
        self._fixed = {"given": _listed("given", task, given), "others": _listed("others", task, others)}
        self._lock, self._captions = threading.Lock(), dict[str, list[str]]()

    def __iter__(self) -> Iterator[ListedEpisode]:
        for shelf in self.store.shelves:
            stored = self.store.shelves[shelf].episodes
            yield from (
                ListedEpisode(shelf, number, episode.key, episode.seed, episode.trajectory)
                for number, episode in enumerate(stored, start=1)
            )
        for group in self._fixed.values():
            yield from group

    def with_play(self) -> list[ListedEpisode]:
        """All of them, with those of the policy and random ones."""
        with self._lock:
            for group, policy in (("policy", self.policy), ("random", self._any_key)):
                if group not in self._fixed and policy is not None:
                    self._fixed[group] = [*self._played(group, policy)]
        return list(self)

    def _any_key(self, seed: int) -> Act:
        env, rng = self.task.environment(self.task.env_id), stream(seed, "any key")
        space = action_space_of(self.task.env_id, env.action_space)
        env.close()
        return lambda _: space.draw(rng, 1)[0]

    def _played(self, group: str, policy: Policy) -> Iterator[ListedEpisode]:
        env = self.task.environment(self.task.env_id)
        for number, seed in enumerate(stream(0, f"episodes of {group}").integers(2**31, size=PLAYED).tolist(), start=1):
            trajectory = play(env, policy(seed), seed, most=MOST_RANDOM)
            yield ListedEpisode(group, number, key_of(seed, trajectory), seed, trajectory)
        env.close()

    def find(self, key: str) -> ListedEpisode:
        episode = next((episode for episode in self if episode.key == key), None)
        if episode is None:
            raise SettingError("this episode is there no more; another tab may have removed it")
        return episode

    # What a page shows

    def rows(self) -> list[dict[str, Any]]:
        """A line for each episode that somebody recorded, the newest of those played here first."""
        groups = {group: [episode for episode in self if episode.group == group] for group in RECORDED}
        return [
            self._row(e) for group, listed in groups.items() for e in listed[:: -1 if group in (KEPT, ASIDE) else 1]
        ]

    def _row(self, episode: ListedEpisode) -> dict[str, Any]:
        trajectory = episode.trajectory
        return {
            "key": episode.key,
            "group": episode.group,
            "name": episode.name,
            "seed": episode.seed,
            "steps": trajectory.steps,
            "return": trajectory.total_reward,
            "solved": self.task.solved(trajectory),
            "events": self._events(episode),
            "note": self.store.notes.get(episode.key, ""),
        }

    def _events(self, episode: ListedEpisode) -> list[str]:
        """What happened, in order, each with what it happened to; read once."""
        if episode.key not in self._captions:
            steps = captions(self.task.event_reader(), episode.trajectory)
            self._captions[episode.key] = [event.split(" (")[0] for step in steps for event in step]
        return self._captions[episode.key]

    def record(self, key: str, bench: Bench) -> dict[str, Any]:
        """One episode as the replay takes it, paid by the machine of the tab."""
        episode, machine = self.find(key), bench.concrete
        single = recorded(self.task, [StoredEpisode(key, episode.seed, episode.trajectory)])
        moments = moments_of(self.task, single, 0)
        traced = trace(machine, self.task.event_reader(), episode.trajectory, machine.values())
        kind = "demonstration" if episode.group in DEMONSTRATED else "policy"
        whole = Episode(kind, episode.number, self.task.env_id, episode.seed, episode.trajectory, moments)
        actions = sorted({action for action in episode.trajectory.actions.tolist() if isinstance(action, int)})
        known = {"solved": solved(self.task, episode.trajectory, machine)}
        return {
            "name": episode.name,
            "start": machine.start,
            "actions": {action: action_name(self.task.vocabulary, action) for action in actions},
            "rules": {label: str(rule) for _, rule, label in machine.rules},
            "thresholds": thresholds(machine, machine.values()),
            "episodes": [episode_json(machine, whole, traced) | known | tell(moments)],
        }


def _listed(group: str, task: Task, episodes: Demonstrations | None) -> list[ListedEpisode]:
    """Those of another environment of the task cannot be played again here: they have no seed."""
    if episodes is None:
        return []
    own = episodes.env_id == task.env_id
    seeds = episodes.seeds if own else [UNKNOWN_SEED] * len(episodes)
    pairs = zip(seeds, episodes.trajectories, strict=True)
    return [
        ListedEpisode(group, number, key_of(seed, trajectory), seed, trajectory)
        for number, (seed, trajectory) in enumerate(pairs, start=1)
    ]


def given_demonstrations(task: Task, path: Any) -> Demonstrations | None:
    """Those of a file or those that ship; None where there are none."""
    from srm.errors import DemonstrationError

    if path is not None:
        return demos.choose(task, path, None)
    try:
        return demos.choose(task, None, None)
    except DemonstrationError:
        return None
