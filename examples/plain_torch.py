"""A learner of one's own in plain PyTorch: REINFORCE with a critic, by the four methods that `srm.learn` asks for.

python -m examples.plain_torch
"""

from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

import srm


class Reinforce:
    def __init__(self, envs, seed):
        torch.manual_seed(seed)
        self.envs, self.frames = envs, 0
        self.net = nn.Sequential(nn.Flatten(), nn.LazyLinear(64), nn.Tanh(), nn.Linear(64, envs.action_space.count + 1))
        self.net(self.see(envs.observations))
        self.adam = torch.optim.Adam(self.net.parameters(), 3e-3)

    def see(self, observations):
        return torch.as_tensor(np.asarray(observations, np.float32))

    def policy(self, observations):
        """Logits, and what is still to be paid."""
        outputs = self.net(self.see(observations))
        return torch.distributions.Categorical(logits=outputs[:, :-1]), outputs[:, -1]

    @torch.no_grad()
    def act(self, observations):
        return self.policy(observations)[0].sample().numpy()

    # The four: frames, collect, update and log_probs

    def collect(self):
        rollout = srm.rollout(self.envs, self.act, steps=64)
        self.frames += int(rollout.valid.sum())
        return SimpleNamespace(rollout=rollout, log_prob=self.log_probs(rollout))

    @torch.no_grad()
    def log_probs(self, rollout):
        actions = torch.as_tensor(rollout.actions).flatten()
        before = rollout.observations[:-1].reshape(actions.shape[0], *rollout.observations.shape[2:])
        return self.policy(before)[0].log_prob(actions).reshape(rollout.actions.shape).numpy() * rollout.valid

    def update(self, batch, pay):
        rollout, returns = batch.rollout, np.zeros(pay.shape, np.float32)
        later = np.zeros(rollout.envs)
        for t in reversed(range(rollout.steps)):
            later = np.where(rollout.valid[t], pay[t] + 0.97 * later * ~(rollout.terminated | rollout.truncated)[t], 0)
            returns[t] = later
        valid = rollout.valid.reshape(-1)
        policy, value = self.policy(rollout.observations[:-1].reshape(-1, *rollout.observations.shape[2:])[valid])
        returns, actions = (torch.as_tensor(x.reshape(-1)[valid]) for x in (returns, rollout.actions))
        loss = -(policy.log_prob(actions) * (returns - value.detach())).mean() - 0.01 * policy.entropy().mean()
        loss = loss + 0.5 * (returns - value).square().mean()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return {"loss": loss.item()}


if __name__ == "__main__":
    print(srm.learn("DoorKey-5x5", policy=Reinforce, frames=50_000, seed=0, stop_at=0.8).machine)
