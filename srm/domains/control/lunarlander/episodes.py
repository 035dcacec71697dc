"""Which numbers an episode of LunarLander can hold."""

from __future__ import annotations

import numpy as np

from srm.domains.control.lunarlander.vocabulary import ACTIONS
from srm.trajectory import Trajectory

OBSERVED = (8,)
THROTTLES = (2,)


def check_ranges(index: int, trajectory: Trajectory) -> None:
    """ValueError for numbers that LunarLander cannot show."""
    seen, actions = trajectory.observations, trajectory.actions
    if seen.shape[1:] != OBSERVED or seen.dtype != np.float32:
        raise ValueError(
            f"episode {index}: observations {seen.dtype} {list(seen.shape[1:])}, expected float32 {list(OBSERVED)}"
        )
    throttled = actions.dtype.kind == "f"
    if actions.shape[1:] != (THROTTLES if throttled else ()):
        raise ValueError(f"episode {index}: actions {list(actions.shape[1:])}, expected one of four, or two throttles")
    least, most = (-1, 1) if throttled else (0, len(ACTIONS) - 1)
    if not ((actions >= least) & (actions <= most)).all():
        raise ValueError(f"episode {index}: an action outside {least} to {most}")
