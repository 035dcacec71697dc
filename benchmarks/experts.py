"""How the experts fare: `python benchmarks/experts.py [SEEDS]` prints the table of docs/experts.md.

Every seed's world is planned and played in the `minigrid` package; an episode counts as solved when the task's own reward
says so, before time runs out.
"""

from __future__ import annotations

import sys
from statistics import mean

from srm.domains.record import play_actions
from srm.domains.tasks import ENVIRONMENTS, find_task, short_name


def measure(env_id: str, seeds: int) -> str:
    """A row: of how many solvable worlds how many were solved, and how."""
    task = find_task(env_id)
    assert task.expert is not None
    env = task.environment(env_id)
    limit = env.unwrapped.max_steps  # type: ignore[attr-defined]
    episodes = []
    for seed in range(seeds):
        env.reset(seed=seed)
        actions = task.expert(env)
        if actions is not None:
            episodes.append(play_actions(env, actions, seed))
    solved = [episode for episode in episodes if episode.terminated and episode.total_reward > 0]
    steps = [episode.steps for episode in solved]
    returns = mean(episode.total_reward for episode in solved)
    return (
        f"| {short_name(env_id)} | {len(solved)} of {len(episodes)} | {seeds - len(episodes)} | {mean(steps):.1f} | "
        f"{max(steps)} | {limit} | {returns:.3f} |"
    )


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print("| environment | solved | without a way | mean steps | most steps | limit | mean return |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for ids in ENVIRONMENTS.values():
        for env_id in ids:
            print(measure(env_id, seeds), flush=True)


if __name__ == "__main__":
    main()
