"""Adds what the commands of docs/learners.md have written to results/learners.csv, and draws docs/pictures/learners.png of all that is
there: `python -m benchmarks.learner_curves FOLDER`."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import numpy as np

BINS = 40
TABLE = Path("results/learners.csv")
PANELS = {  # title, and what is drawn: the run, its column, and over how many episodes it is averaged
    "SAC, Pendulum-v1": ("sac-pendulum", "return", 20),
    "SAC, LunarLander-v3, continuous": ("sac-lander", "return", 20),
    "PPO under srm learn, DoorKey-8x8": ("ppo-doorkey", "return", 1),
    "DQN, MiniGrid-DoorKey-5x5": ("dqn", "return", 50),
    "DQN, a patrol in MiniGrid-Empty-5x5": ("patrol", "paid", 20),
}
Curves = dict[tuple[str, int], list[tuple[int, float]]]  # steps and means of each run and seed


def curve(path: Path, column: str, window: int) -> list[tuple[int, float]]:
    """Steps, and the mean of the last episodes."""
    file, steps = (path / "log.csv", "frames") if path.is_dir() else (path, "steps")
    with file.open(encoding="utf-8") as handle:
        rows = [(float(row[steps]), float(row[column] or "nan")) for row in csv.DictReader(handle)]
    at, returns = np.array([row for row in rows if row[1] == row[1]]).T
    means = np.array([returns[max(0, i - window + 1) : i + 1].mean() for i in range(len(returns))])
    every = np.unique(np.linspace(0, len(at) - 1, BINS).astype(int))
    return [(int(at[index]), round(float(means[index]), 4)) for index in every]


def read_table() -> Curves:
    curves: Curves = {}
    with TABLE.open(encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            curves.setdefault((row["run"], int(row["seed"])), []).append((int(row["steps"]), float(row["return"])))
    return curves


def main(folder: Path) -> None:
    curves = read_table()
    for name, column, window in PANELS.values():
        for path in sorted(folder.glob(f"{name}-*")):
            run = re.fullmatch(rf"({name}(?:-counterfactual)?)-(\d+)(?:\.csv)?", path.name)
            if run is not None:
                curves[run[1], int(run[2])] = curve(path, column, window)
    with TABLE.open("w", newline="", encoding="utf-8") as handle:
        rows = [(*key, *point) for key, points in curves.items() for point in points]
        csv.writer(handle, lineterminator="\n").writerows([("run", "seed", "steps", "return"), *rows])
    draw(curves)


def draw(curves: Curves) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(14, 6.5), layout="constrained")
    for axis, (title, (name, column, _)) in zip(axes.flat, PANELS.items(), strict=False):
        for (run, _), points in curves.items():
            if run in (name, f"{name}-counterfactual"):
                axis.plot(*zip(*points, strict=True), color="tab:blue" if run == name else "tab:orange", alpha=0.8)
        axis.set(title=title, xlabel="steps", ylabel=column)
    axes[1, 2].plot([], [], color="tab:blue", label="alone")
    axes[1, 2].plot([], [], color="tab:orange", label="counterfactual")
    axes[1, 2].legend(loc="center")
    axes[1, 2].axis("off")
    figure.savefig("docs/pictures/learners.png", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
