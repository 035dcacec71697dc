"""PPO in a single file, in the style of CleanRL, with a machine added: the lines that end in `# machine`.

python -m examples.single_file_ppo --total-timesteps 100000
python -m examples.single_file_ppo --no-machine
"""

import time
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import tyro
from gymnasium.vector import AutoresetMode
from torch import nn
from torch.distributions import Categorical

import srm  # machine
from examples.acrobot import TASK  # machine


@dataclass
class Args:
    env_id: str = "Acrobot-v1"
    """the environment"""
    machine: bool = True
    """whether the machine pays, or the task itself"""
    seed: int = 1
    """of everything"""
    total_timesteps: int = 100_000
    """steps of all environments together"""
    num_envs: int = 8
    """side by side"""
    num_steps: int = 128
    """of each environment in a rollout"""
    learning_rate: float = 1e-3
    """of Adam"""
    gamma: float = 0.99
    """discount"""
    gae_lambda: float = 0.95
    """of the advantages"""
    num_minibatches: int = 4
    """of each epoch"""
    update_epochs: int = 4
    """over each rollout"""
    clip_coef: float = 0.2
    """how far the policy may move"""
    ent_coef: float = 0.01
    """of the entropy"""
    vf_coef: float = 0.5
    """of the value's loss"""
    max_grad_norm: float = 0.5
    """of a gradient"""


class Agent(nn.Module):
    def __init__(self, envs):
        super().__init__()
        inputs = int(np.prod(gym.spaces.utils.flatten_space(envs.single_observation_space).shape))
        self.critic = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        actions = envs.single_action_space.n
        self.actor = nn.Sequential(
            nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, actions)
        )

    def get_value(self, x):
        return self.critic(x).squeeze(-1)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action), probs.entropy(), self.get_value(x)


def main(args: Args) -> list[float]:
    torch.manual_seed(args.seed)

    # env setup
    vector = {"autoreset_mode": AutoresetMode.SAME_STEP}
    envs = gym.make_vec(args.env_id, args.num_envs, vectorization_mode="sync", vector_kwargs=vector)
    if args.machine:  # machine
        machine, reader = srm.load("examples/acrobot.srm", TASK), TASK.event_reader()  # machine
        values = {"line": 1.0, "half": 0.0, "early": -0.02, "late": -0.01}  # machine
        envs = srm.SymbolicRewardVector(envs, machine, reader, values)  # machine
    agent = Agent(envs)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    # storage
    shape = (args.num_steps, args.num_envs)
    obs = torch.zeros(shape + envs.single_observation_space.shape)
    actions, logprobs, rewards, dones, values_ = (torch.zeros(shape) for _ in range(5))

    # start
    start_time, lengths, steps_of = time.time(), [], np.zeros(args.num_envs)
    next_obs = torch.as_tensor(envs.reset(seed=args.seed)[0])
    next_done = torch.zeros(args.num_envs)
    batch_size = args.num_envs * args.num_steps
    for iteration in range(args.total_timesteps // batch_size):
        for step in range(args.num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                action, logprobs[step], _, values_[step] = agent.get_action_and_value(next_obs)
            actions[step] = action
            next_obs, reward, terminations, truncations, _ = envs.step(action.numpy())
            over = np.logical_or(terminations, truncations)
            steps_of += 1
            lengths += steps_of[over].tolist()
            steps_of[over] = 0
            rewards[step] = torch.as_tensor(reward)
            next_obs, next_done = torch.as_tensor(next_obs), torch.as_tensor(over, dtype=torch.float32)

        # advantages
        with torch.no_grad():
            next_value, lastgaelam = agent.get_value(next_obs), torch.zeros(args.num_envs)
            advantages = torch.zeros_like(rewards)
            for t in reversed(range(args.num_steps)):
                nonterminal = 1.0 - (next_done if t == args.num_steps - 1 else dones[t + 1])
                nextvalues = next_value if t == args.num_steps - 1 else values_[t + 1]
                delta = rewards[t] + args.gamma * nextvalues * nonterminal - values_[t]
                advantages[t] = lastgaelam = delta + args.gamma * args.gae_lambda * nonterminal * lastgaelam
            returns = advantages + values_

        # update
        b = [x.reshape(batch_size, *x.shape[2:]) for x in (obs, actions, logprobs, advantages, returns)]
        for _ in range(args.update_epochs):
            for inds in torch.randperm(batch_size).chunk(args.num_minibatches):
                b_obs, b_actions, b_logprobs, b_advantages, b_returns = (x[inds] for x in b)
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs, b_actions)
                ratio = (newlogprob - b_logprobs).exp()
                b_advantages = (b_advantages - b_advantages.mean()) / (b_advantages.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = torch.max(-b_advantages * ratio, -b_advantages * clipped).mean()
                v_loss = 0.5 * (newvalue - b_returns).square().mean()
                loss = pg_loss - args.ent_coef * entropy.mean() + args.vf_coef * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
        if iteration % 10 == 9:
            sps = int((iteration + 1) * batch_size / (time.time() - start_time))
            print(f"step {(iteration + 1) * batch_size}: {np.mean(lengths[-50:]):.0f} steps an episode, {sps} a second")
    envs.close()
    return lengths


if __name__ == "__main__":
    main(tyro.cli(Args))
