"""What a policy does, as evidence about the holes: its play, and how likely it finds what was demonstrated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from srm.errors import RunError
from srm.experiment.policy import read_policy
from srm.infer.posterior.evidence import Play
from srm.task.demos import refuse_misfit
from srm.task.table import Task, find_task
from srm.task.worlds import Worlds
from srm.train.collect import Player, foreign, log_prob_of, think_again
from srm.train.nets import Net
from srm.trajectory import Demonstrations, Rollout, joined

ENVS = 16  # few, so that episodes come to their ends
WHOLE_ENVS, EPISODES = 32, 4  # so many whole episodes of each: the first to end anywhere would be the short ones
MOST_STEPS = 4096


def policy_play(
    folder: Path, task: Task, demonstrations: Demonstrations, demonstrated: Rollout, seed: int, frames: int
) -> Play:
    """The policy of a run in a task's environment, its actions drawn; every column begins with an episode."""
    torch.set_num_threads(1)  # two threads wait for each other at every small product
    trained = read_policy(folder)
    trained_on = find_task(trained.task).name
    if trained_on != task.name:
        raise RunError(
            f"--play {folder}: its policy was trained on {trained_on}, not on {task.name}; give a run of that"
        )
    envs = task.make_worlds(ENVS, seed)
    try:
        refuse_misfit(demonstrations, envs)
        net = trained.net(envs)
        played = Player(envs, net, max(1, frames // envs.count), seed).collect()
    finally:
        envs.close()
    again = think_again(net, foreign(net, demonstrated))
    return Play(
        played.rollout,
        log_prob_of(played.outputs["logits"][:-1], played.rollout.actions),
        log_prob_of(again["logits"], demonstrated.actions),
    )


def play_episodes(net: Net, envs: Worlds, seed: int, steps: int = 128) -> tuple[Rollout, np.ndarray]:
    """The first episodes of each env, and the log-probabilities [T, B] of what the policy did in them."""
    player = Player(envs, net, steps, seed)
    rollouts: list[Rollout] = []
    log_probs: list[np.ndarray] = []
    ended = np.zeros(envs.count, np.int64)
    while (ended < EPISODES).any() and len(rollouts) * steps < MOST_STEPS:
        played = player.collect()
        rollouts.append(played.rollout)
        log_probs.append(log_prob_of(played.outputs["logits"][:-1], played.rollout.actions))
        ended += (played.rollout.ended | played.rollout.cut).sum(axis=0)
    return _first_episodes(joined(rollouts)), np.concatenate(log_probs)


def _first_episodes(rollout: Rollout) -> Rollout:
    """The rollout with what comes after each env's first episodes left out."""
    over = rollout.ended | rollout.cut
    valid = rollout.real & (np.cumsum(over, axis=0) - over < EPISODES)
    kept = valid[rollout.final_step, rollout.final_world]
    return Rollout(
        rollout.views,
        rollout.actions,
        rollout.places,
        rollout.task_reward,
        rollout.ended & valid,
        rollout.cut & valid,
        valid,
        rollout.final_step[kept],
        rollout.final_world[kept],
        rollout.final_views[kept],
        rollout.final_places[kept],
    )
