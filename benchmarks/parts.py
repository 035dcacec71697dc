"""Where a round of PPO goes: the processor time of each part of a rollout and of an update, and what share of it no Python can take away.

    OMP_NUM_THREADS=1 python -m benchmarks.parts [--rounds 20]

Every part is a function that is replaced by one with a clock around it. A part counts without the parts inside it, so that they add up to the round.
`kernel`: compiled loops and matrix products, which would be there in any language.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from srm.domains.envs import make_envs
from srm.domains.tasks import find_task
from srm.rl import optimise, ppo, rollout
from srm.rl.make import LearnerConfig
from srm.rl.minibatches import Minibatches
from srm.rl.nn import grid_conv, kernels, nets
from srm.rl.ppo import Ppo

TASKS = ("doorkey", "keycorridor", "obstructedmaze")
KERNELS = ("environments", "look-up", "convolutions", "wide layer", "loss", "Adam", "autograd and its products")
PARTS: tuple[tuple[Any, str, str], ...] = (
    (rollout.Player, "collect", "rest of the rollout"),
    (ppo, "ppo_update", "rest of the update"),
    (nets.Net, "encode", "encoding of frames"),
    (nets.Net, "forward", "calls of the network"),
    (kernels, "look_up", "look-up"),
    (kernels, "look_up_backward", "look-up, backward"),
    (kernels, "convolve", "convolutions"),
    (kernels, "convolve_backward", "convolutions, backward"),
    (grid_conv._LinearElu, "forward", "wide layer"),
    (grid_conv._LinearElu, "backward", "wide layer, backward"),
    (ppo, "ppo_gradients", "loss and its gradient"),
    (ppo, "backward", "autograd and its products"),
    (optimise.Optimiser, "step", "Adam"),
    (Minibatches, "epoch", "minibatches"),
)


class Clock:
    """Processor seconds by part; a part stands still while one inside it runs."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inside: list[str] = []
        self._since = 0.0

    def _switch(self) -> None:
        now = time.process_time()
        if self._inside:
            self.seconds[self._inside[-1]] += now - self._since
        self._since = now

    def enter(self, part: str) -> None:
        self._switch()
        self._inside.append(part)

    def leave(self) -> None:
        self._switch()
        self._inside.pop()

    def around(self, function: Any, part: str) -> Any:
        @functools.wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            self.enter(part)
            try:
                return function(*arguments, **named)
            finally:
                self.leave()

        return timed

    def along(self, function: Any, part: str) -> Any:
        """The same for what yields."""

        def timed(*arguments: Any, **named: Any) -> Any:
            items = self.around(function, part)(*arguments, **named)
            advance = self.around(lambda: next(items, None), part)
            return iter(advance, None)

        return timed


def install(clock: Clock) -> None:
    for owner, name, part in PARTS:
        function = owner.__dict__[name]
        if isinstance(function, staticmethod):
            setattr(owner, name, staticmethod(clock.around(function.__func__, part)))
        else:
            setattr(owner, name, (clock.along if name == "epoch" else clock.around)(function, part))


def measure(task: str, clock: Clock, rounds: int) -> dict[str, float]:
    """Milliseconds of a round, by part, with the settings that `srm train` begins with; the policy does not change."""
    env_id = find_task(task).env_id
    envs = make_envs(env_id, 32, seed=100)
    envs.step = clock.around(envs.step, "environments")  # type: ignore[method-assign]
    config = LearnerConfig().settle(envs)
    learner = Ppo(envs, "cnn", config.network, replace(config.ppo, learning_rate=1e-12), seed=100)
    for played in range(rounds + 2):
        if played == 2:
            clock.seconds.clear()
        batch = learner.collect()
        learner.update(batch, batch.rollout.task_reward)
    return {part: 1000 * seconds / rounds for part, seconds in clock.seconds.items()}


def main(arguments: Sequence[str]) -> None:
    import minigrid  # noqa: F401  (its import registers the MiniGrid environments)

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args(arguments).rounds
    torch.set_num_threads(1)
    clock = Clock()
    install(clock)
    measured = [measure(task, clock, rounds) for task in TASKS]
    totals = [sum(times.values()) for times in measured]
    print(f"| part | {' | '.join(f'{task}, ms' for task in TASKS)} | share |")
    print("|---|--:|--:|--:|--:|")
    order = dict.fromkeys(["environments", *(part for _, _, part in PARTS)])
    for part in sorted(order, key=lambda name: -measured[0].get(name, 0.0)):
        cells = " | ".join(f"{times.get(part, 0):.1f}" for times in measured)
        print(f"| {part} | {cells} | {100 * measured[0].get(part, 0) / totals[0]:.0f} % |")
    print(f"| in all | {' | '.join(f'{total:.1f}' for total in totals)} | |")
    shares = [
        sum(spent for part, spent in times.items() if part.startswith(KERNELS)) / total
        for times, total in zip(measured, totals, strict=True)
    ]
    print("kernels: " + ", ".join(f"{100 * share:.0f} %" for share in shares))


if __name__ == "__main__":
    main(sys.argv[1:])
