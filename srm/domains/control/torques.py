"""Which numbers an episode can hold of a body that is steered by torques from -1 to 1."""

from __future__ import annotations

import numpy as np

from srm.trajectory import Trajectory


def check_torques(index: int, trajectory: Trajectory, observed: int, joints: int, kind: type[np.floating]) -> None:
    """ValueError for numbers that an environment of so many observed numbers and joints cannot show."""
    seen, actions = trajectory.observations, trajectory.actions
    if seen.shape[1:] != (observed,) or seen.dtype != kind:
        raise ValueError(
            f"episode {index}: observations {seen.dtype} {list(seen.shape[1:])}, expected {np.dtype(kind)} {[observed]}"
        )
    if actions.shape[1:] != (joints,) or actions.dtype.kind != "f":
        raise ValueError(
            f"episode {index}: actions {actions.dtype} {list(actions.shape[1:])}, expected {joints} torques"
        )
    if not (np.abs(actions) <= 1).all():
        raise ValueError(f"episode {index}: a torque outside -1 to 1")
