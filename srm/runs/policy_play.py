"""What a policy does, as evidence about the holes: its play, and how likely it finds what was demonstrated."""

from __future__ import annotations

from pathlib import Path

from srm.domains.base import Task
from srm.domains.demonstrations import refuse_misfit
from srm.errors import RunError
from srm.infer.posterior.evidence import Play
from srm.rl.rollout import Player, log_probs_along
from srm.rl.threads import one_thread
from srm.runs.policy import read_policy
from srm.trajectory import Demonstrations, Rollout

ENVS = 16  # few, so that episodes come to their ends


def policy_play(
    folder: Path, task: Task, demonstrations: Demonstrations, demonstrated: Rollout, seed: int, frames: int
) -> Play:
    """The policy of a run in a task's environment, its actions drawn; every column begins with an episode."""
    trained = read_policy(folder)
    trained_on = trained.family
    if trained_on != task.name:
        raise RunError(
            f"--play {folder}: its policy was trained on {trained_on}, not on {task.name}; give a run of that"
        )
    envs = task.make_envs(ENVS, seed)
    try:
        refuse_misfit(demonstrations, envs)
        net = trained.net(envs)
        with one_thread():
            batch = Player(envs, net, max(1, frames // envs.count), seed).collect()
            demonstrated_log_prob = log_probs_along(net, demonstrated)
    finally:
        envs.close()
    return Play(batch.rollout, batch.log_prob, demonstrated_log_prob)
