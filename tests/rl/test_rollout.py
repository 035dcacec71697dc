from __future__ import annotations

import numpy as np
import pytest
import torch

from srm.domains.spaces import Choice
from srm.rl.distributions import log_prob_of, log_softmax
from srm.rl.nn.nets import Net, NetConfig, NetInput, make_net
from srm.rl.ppo import Ppo, PpoConfig, actor_critic
from srm.rl.rollout import Player, batch_of, next_values, recompute
from srm.trajectory import Trajectory, as_rollout
from tests.rl.clockwork import Clockwork, Numbers

MODES = pytest.mark.parametrize("within_step", [False, True], ids=["resetting step", "within the step"])
KINDS = pytest.mark.parametrize("kind", ["cnn", "lstm", "mlp"])


def player(kind: str, within_step: bool = False, steps: int = 11) -> Player:
    envs = (Numbers if kind == "mlp" else Clockwork)(within_step=within_step)
    net = make_net(envs, kind, NetConfig(width=16, memory=4), actor_critic(envs.action_space, NetConfig()), seed=0)  # type: ignore[arg-type]
    return Player(envs, net, steps, seed=0)


def by_hand(net: Net, trajectory: Trajectory) -> np.ndarray:
    """Logits and value [T+1, A + 1] of one episode, one observation at a time, with its frames and memory kept in plain sight."""
    memory, past, found = torch.zeros(1, net.memory), [net.blank()] * net.lags, []
    for observation in trajectory.observations:
        past = [net.encode(observation[None])[0], *past[:-1]]
        rows = np.arange(net.lags, dtype=np.uint32)[None]
        outputs, memory = net(NetInput(np.stack(past), rows, memory, torch.zeros(1, 1, dtype=torch.bool)))
        found.append(torch.cat([outputs["logits"][0], outputs["value"]]).detach().numpy())
    return np.stack(found)


def episodes_of(one: Player, rollouts: int) -> list[tuple[Trajectory, np.ndarray, np.ndarray]]:
    """Whole episodes, with the logits [T, A] and the values after each step [T] of when they were played."""
    running: list[dict[str, list]] = [{} for _ in range(one.envs.count)]  # type: ignore[type-arg]
    found = []
    for _ in range(rollouts):
        batch = one.collect()
        rollout, after = batch.rollout, batch.rollout.after()
        value_after = next_values(one.net, batch)
        for b, now in enumerate(running):
            for t in range(rollout.steps):
                if batch.episode_start[t, b]:
                    now.clear()
                    now.update(observations=[rollout.observations[t, b]], actions=[], logits=[], value_after=[])
                if not rollout.valid[t, b]:
                    continue
                now["observations"].append(after[t, b])
                now["actions"].append(rollout.actions[t, b])
                now["logits"].append(batch.outputs["logits"][t, b])
                now["value_after"].append(value_after[t, b])
                if rollout.terminated[t, b] or rollout.truncated[t, b]:
                    steps = len(now["actions"])
                    episode = Trajectory(
                        np.stack(now["observations"]),
                        np.array(now["actions"]),
                        np.zeros((steps + 1, 0), np.int16),
                        np.zeros(steps, np.float32),
                        bool(rollout.terminated[t, b]),
                    )
                    found.append((episode, np.stack(now["logits"]), np.array(now["value_after"])))
    return found


@MODES
@KINDS
def test_frames_memory_and_last_values_are_those_of_each_episode_alone(kind: str, within_step: bool) -> None:
    one = player(kind, within_step)
    found = episodes_of(one, rollouts=3)
    assert len(found) > 8
    for episode, logits, value_after in found:
        truth = by_hand(one.net, episode)
        np.testing.assert_allclose(logits, truth[:-1, :-1], atol=1e-5)
        np.testing.assert_allclose(value_after, truth[1:, -1], atol=1e-5)


@KINDS
def test_log_probs_along_demonstrations_are_those_of_the_policy_playing_them(kind: str) -> None:
    one = player(kind)
    episodes = [episode for episode, _, _ in episodes_of(one, rollouts=2)]
    rollout = as_rollout(episodes)
    logits = recompute(one.net, batch_of(one.net, rollout))["logits"]
    found = log_prob_of(logits, rollout.actions)
    for m, episode in enumerate(episodes):
        truth = log_softmax(by_hand(one.net, episode)[:-1, :-1])
        np.testing.assert_allclose(
            found[: episode.steps, m], truth[np.arange(episode.steps), episode.actions], atol=1e-5
        )


@KINDS
def test_outputs_recomputed_along_a_batch_are_those_it_was_played_with_until_the_weights_change(kind: str) -> None:
    envs = Numbers() if kind == "mlp" else Clockwork()
    one = Ppo(envs, kind, NetConfig(width=16, memory=4), PpoConfig(2, 11, 1, 2), seed=0)  # type: ignore[arg-type]
    for _ in range(2):
        batch = one.collect()
        rollout = batch.rollout
        np.testing.assert_allclose(recompute(one.net, batch)["logits"], batch.outputs["logits"][:-1], atol=1e-5)
        truth = log_softmax(batch.outputs["logits"][:-1].astype(np.float64))
        taken = np.take_along_axis(truth, rollout.actions[..., None], axis=-1)[..., 0]
        np.testing.assert_allclose(batch.log_prob, np.where(rollout.valid, taken, 0), atol=1e-5)
        one.update(batch, rollout.task_reward)
        assert not np.allclose(recompute(one.net, batch)["logits"], batch.outputs["logits"][:-1], atol=1e-5)


def test_actions_are_drawn_from_the_policy() -> None:
    envs = Clockwork(lengths=(400,) * 50, actions=3)
    net = make_net(envs, "cnn", NetConfig(), actor_critic(Choice(3), NetConfig()), seed=0)
    head = net.towers["both"].head
    with torch.no_grad():
        head.weight[:3] = 0
        head.bias[:3] = torch.log(torch.tensor([0.2, 0.5, 0.3]))
    actions = Player(envs, net, 100, seed=0).collect().rollout.actions
    np.testing.assert_allclose(np.bincount(actions.ravel()) / actions.size, [0.2, 0.5, 0.3], atol=0.03)
    greedy = Player(envs, net, 10, seed=0).collect(greedy=True).rollout.actions
    assert (greedy == 1).all()


def test_a_resumed_player_draws_what_it_would_have_drawn() -> None:
    one, other = player("cnn"), player("cnn")
    one.collect()
    other.start_at(1)
    assert np.array_equal(one._noise(False), other._noise(False))
