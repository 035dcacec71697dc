"""PPO on control tasks, on their own reward: ours beside Stable-Baselines3's with the settings of its zoo.

    taskset -c 1 python -m benchmarks.control -o results/control/curves.csv
    python -m benchmarks.control --show results/control/curves.csv      a table of what was measured
    python -m benchmarks.control --draw results/control/curves.csv      docs/pictures/control.png

Three contenders take turns, seed by seed, on one core: Stable-Baselines3 with the zoo's settings, ours with the same settings, and ours
as `srm train` begins it when no flag is given. Time is processor time, environments included, and the fastest stretch of each counts: another
program on the machine slows all of them, not one of them. A curve has the mean return of the last hundred episodes after each rollout.

The same settings means all of them: the zoo normalises the observations and the pay of HalfCheetah alone. One thing cannot be the same: the
zoo's Pendulum draws its noise from a state-dependent exploration (gSDE), which ours does not have. So a fourth contender there is
Stable-Baselines3 without it.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from srm.domains.envs import make_envs
from srm.rl.episodes import EpisodeBook, Recent
from srm.rl.loop import task_pay, train
from srm.rl.make import LearnerConfig
from srm.rl.nn.nets import NetConfig
from srm.rl.ppo import PpoConfig

FRAMES = {"Pendulum-v1": 100_000, "LunarLander-v3": 300_000, "HalfCheetah-v5": 200_000}
NORMALIZED = "HalfCheetah-v5"
FIRST_SEED = 100
COLUMNS = ("env", "who", "seed", "frames", "seconds", "return")
POINTS = 24  # points of a curve that are kept, at most

# hyperparams/ppo.yml of rl-baselines3-zoo; HalfCheetah's are those of v4, LunarLander's those of v2
ZOO: dict[str, dict[str, Any]] = {
    "Pendulum-v1": {"n_envs": 4, "n_steps": 1024, "gae_lambda": 0.95, "gamma": 0.9, "n_epochs": 10, "ent_coef": 0.0}
    | {"learning_rate": 1e-3, "clip_range": 0.2, "use_sde": True, "sde_sample_freq": 4},
    "LunarLander-v3": {"n_envs": 16, "n_steps": 1024, "batch_size": 64, "gae_lambda": 0.98, "gamma": 0.999}
    | {"n_epochs": 4, "ent_coef": 0.01},
    "HalfCheetah-v5": {"n_envs": 1, "n_steps": 512, "batch_size": 64, "gamma": 0.98, "learning_rate": 2.0633e-05}
    | {"ent_coef": 0.000401762, "clip_range": 0.1, "n_epochs": 20, "gae_lambda": 0.92, "max_grad_norm": 0.8}
    | {"vf_coef": 0.58096},
}
OURS = {  # what we call the zoo's settings
    "n_envs": "num_envs",
    "n_steps": "num_steps",
    "gae_lambda": "gae_lambda",
    "gamma": "discount",
    "n_epochs": "epochs",
    "ent_coef": "entropy_weight",
    "learning_rate": "learning_rate",
    "clip_range": "clip_coef",
    "max_grad_norm": "max_grad_norm",
}
NETS = {  # the zoo's networks; a spread is in halves of what an action may be, which for Pendulum's -2..2 is 2
    "Pendulum-v1": NetConfig(normalize=False, spread=0.5),
    "LunarLander-v3": NetConfig(normalize=False),
    "HalfCheetah-v5": NetConfig(width=256, activation="relu", spread=math.exp(-2)),
}

Point = tuple[int, float, float]  # frames, seconds, return


def ours(env_id: str, seed: int, frames: int, config: LearnerConfig) -> Iterator[Point]:
    config = config.settle(make_envs(env_id, 1, 0))
    envs = make_envs(env_id, config.ppo.num_envs, seed)
    book, recent, start = EpisodeBook(envs.count), Recent(), time.process_time()
    for round in train(config.make(envs, seed), task_pay, frames):
        recent.add(book.read(round.rollout))
        yield round.frames, time.process_time() - start, recent.means()["return"]
    envs.close()


def zoo_config(env_id: str) -> LearnerConfig:
    zoo = ZOO[env_id]
    ppo = {OURS[name]: value for name, value in zoo.items() if name in OURS}
    ppo["value_weight"] = 2 * zoo.get("vf_coef", 0.5)  # of half the squared error, theirs of all of it
    ppo["minibatches"] = ppo["num_envs"] * ppo["num_steps"] // zoo.get("batch_size", 64)
    ppo |= {"scale_pay": env_id == NORMALIZED, "advantage_floor": 1e-8}
    return LearnerConfig(ppo=PpoConfig(**ppo), network=NETS[env_id])


def sb3(env_id: str, seed: int, frames: int, **changed: Any) -> Iterator[Point]:
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    settings = ZOO[env_id] | changed
    vector: Any = make_vec_env(env_id, settings.pop("n_envs"), seed=seed)
    if env_id == NORMALIZED:
        vector = VecNormalize(vector, gamma=settings["gamma"])
        net = {"pi": [256, 256], "vf": [256, 256]}
        settings["policy_kwargs"] = {
            "log_std_init": -2,
            "ortho_init": False,
            "activation_fn": torch.nn.ReLU,
            "net_arch": net,
        }
    agent = PPO("MlpPolicy", vector, seed=seed, device="cpu", **settings)
    start = time.process_time()
    step = agent.n_steps * agent.n_envs
    while agent.num_timesteps < frames:
        agent.learn(step, reset_num_timesteps=False)
        episodes = [episode["r"] for episode in agent.ep_info_buffer or ()]
        yield agent.num_timesteps, time.process_time() - start, float(np.mean(episodes)) if episodes else math.nan
    vector.close()


CONTENDERS: dict[str, Callable[[str, int, int], Iterator[Point]]] = {
    "SB3, zoo": sb3,
    "SB3, zoo without gSDE": lambda env_id, seed, frames: sb3(env_id, seed, frames, use_sde=False),
    "ours, zoo": lambda env_id, seed, frames: ours(env_id, seed, frames, zoo_config(env_id)),
    "ours, no flags": lambda env_id, seed, frames: ours(env_id, seed, frames, LearnerConfig()),
}


def measure(path: Path, envs: list[str], only: list[str], seeds: int) -> None:
    """Appends a row for each point of each curve; curves that the file has already are left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {(row["env"], row["who"], int(row["seed"])) for row in read(path)} if path.exists() else set()
    if not known:
        path.write_text(",".join(COLUMNS) + "\n")
    for seed, env_id, who in product(range(FIRST_SEED, FIRST_SEED + seeds), envs, only):
        if (env_id, who, seed) in known or (who == "SB3, zoo without gSDE" and "use_sde" not in ZOO[env_id]):
            continue
        step, mark = FRAMES[env_id] / POINTS, 0.0
        for frames, seconds, mean in CONTENDERS[who](env_id, seed, FRAMES[env_id]):
            if frames < mark:
                continue
            mark = (frames // step + 1) * step
            with path.open("a", newline="") as file:  # as it comes: a run that is stopped leaves what it measured
                row = [env_id, who, seed, frames, f"{seconds:.2f}", f"{mean:.1f}"]
                csv.writer(file, lineterminator="\n").writerow(row)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def fastest(rows: list[dict[str, str]]) -> float:
    """Frames a second between two points of one curve, where it was fastest."""
    points = [(int(row["frames"]), float(row["seconds"])) for row in rows]
    return max((later[0] - before[0]) / (later[1] - before[1]) for before, later in pairwise(points))


def show(path: Path) -> None:
    """Of each task and contender: the last point of every seed, and frames a second."""
    rows = read(path)
    print("| task | frames | who | return of the last hundred episodes, by seed | frames/s |\n|---|--:|---|---|--:|")
    for env_id, who in product(FRAMES, CONTENDERS):
        own = [row for row in rows if (row["env"], row["who"]) == (env_id, who)]
        curves = [list(curve) for _, curve in groupby(own, key=lambda row: row["seed"])]
        if curves:
            listed = ", ".join(f"{float(curve[-1]['return']):.0f}" for curve in curves)
            speed = max(fastest(curve) for curve in curves)
            print(f"| {env_id} | {FRAMES[env_id]:,} | {who} | {listed} | {speed:,.0f} |")


def draw(path: Path) -> None:
    """A panel for each task, a line for each seed."""
    import matplotlib.pyplot as plt

    rows = read(path)
    known = [env_id for env_id in FRAMES if any(row["env"] == env_id for row in rows)]
    figure, axes = plt.subplots(1, len(known), figsize=(5 * len(known), 3.5), layout="constrained", squeeze=False)
    for axis, env_id in zip(axes.flat, known, strict=True):
        for (who, seed), curve in groupby(
            (row for row in rows if row["env"] == env_id), key=lambda row: (row["who"], int(row["seed"]))
        ):
            points = [(int(row["frames"]), float(row["return"])) for row in curve]
            color, label = f"C{list(CONTENDERS).index(who)}", who if seed == FIRST_SEED else None
            axis.plot(*zip(*points, strict=True), color=color, label=label)
        axis.set(title=env_id, xlabel="frames", ylabel="return of the last hundred episodes")
        axis.legend()
    figure.savefig("docs/pictures/control.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, default=Path("results/control/curves.csv"))
    parser.add_argument("--show", type=Path, metavar="CSV", help="print the table of a file and measure nothing")
    parser.add_argument("--draw", type=Path, metavar="CSV", help="draw the curves of a file and measure nothing")
    parser.add_argument("--envs", nargs="+", choices=FRAMES, default=list(FRAMES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    arguments = parser.parse_args()
    if arguments.show is not None:
        show(arguments.show)
        return
    if arguments.draw is not None:
        draw(arguments.draw)
        return
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    measure(arguments.out, arguments.envs, arguments.only, arguments.seeds)
    show(arguments.out)


if __name__ == "__main__":
    main()
