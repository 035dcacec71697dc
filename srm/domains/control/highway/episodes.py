"""Which numbers an episode of driving can hold."""

from __future__ import annotations

import numpy as np

from srm.domains.control.highway.vocabulary import ACTIONS
from srm.trajectory import Trajectory

OBSERVED = (5, 5)


def check_ranges(index: int, trajectory: Trajectory) -> None:
    """ValueError for numbers that no road can show."""
    seen, actions = trajectory.observations, trajectory.actions
    if seen.shape[1:] != OBSERVED or seen.dtype != np.float32:
        raise ValueError(
            f"episode {index}: observations {seen.dtype} {list(seen.shape[1:])}, expected float32 {list(OBSERVED)}"
        )
    if actions.ndim != 1 or not ((actions >= 0) & (actions < len(ACTIONS))).all():
        raise ValueError(f"episode {index}: an action that is not one of 0 to {len(ACTIONS) - 1}")
    if "crashed" not in trajectory.info:
        raise ValueError(f"episode {index}: info has no number crashed, which says how a drive ends")
