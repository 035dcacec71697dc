"""Makes results/learners.csv and docs/pictures/learners.png from what the commands of docs/learners.md have written:
`python -m benchmarks.learner_curves FOLDER`."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import numpy as np

BINS = 40
PANELS = {
    "SAC, Pendulum-v1": ("sac-pendulum", 20),
    "SAC, LunarLander-v3, continuous": ("sac-lander", 20),
    "DQN, MiniGrid-DoorKey-5x5": ("dqn", 50),
    "PPO under srm learn, DoorKey-8x8": ("ppo-doorkey", 1),
}


def curve(path: Path, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and the mean return of the last episodes."""
    file, steps = (path / "log.csv", "frames") if path.is_dir() else (path, "steps")
    with file.open(encoding="utf-8") as handle:
        rows = [(float(row[steps]), float(row["return"] or "nan")) for row in csv.DictReader(handle)]
    at, returns = np.array([row for row in rows if row[1] == row[1]]).T
    means = np.array([returns[max(0, i - window + 1) : i + 1].mean() for i in range(len(returns))])
    every = np.unique(np.linspace(0, len(at) - 1, BINS).astype(int))
    return at[every], means[every]


def main(folder: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 6.5), layout="constrained")
    rows: list[tuple[str, int, int, float]] = []
    for axis, (title, (name, window)) in zip(axes.flat, PANELS.items(), strict=True):
        for path in sorted(folder.glob(f"{name}-*")):
            found = re.fullmatch(rf"({name}(?:-counterfactual)?)-(\d+)(?:\.csv)?", path.name)
            if found is None:
                continue
            steps, means = curve(path, window)
            other = found[1] != name
            axis.plot(steps, means, color="tab:orange" if other else "tab:blue", alpha=0.8)
            rows += [(found[1], int(found[2]), int(s), round(float(m), 4)) for s, m in zip(steps, means, strict=True)]
        axis.set_title(title)
        axis.set_xlabel("steps")
        axis.set_ylabel("return")
    axes[1, 0].plot([], [], color="tab:blue", label="alone")
    axes[1, 0].plot([], [], color="tab:orange", label="counterfactual")
    axes[1, 0].legend()
    figure.savefig("docs/pictures/learners.png", dpi=110)
    with Path("results/learners.csv").open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle, lineterminator="\n").writerows([("run", "seed", "steps", "return"), *rows])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
