"""How fast the policy learners are: ratios to their own gradients and to Stable-Baselines3, all measured in one run.

    python benchmarks/train.py [--rounds 4] [--skip-slow]
    python benchmarks/train.py --seconds-to 0.9 [--task doorkey] [--machine doorkey_handset] [--first-seed 0] [--seeds 3]

One process, one thread; every contender has 64 envs, rollouts of 128 steps, 8 minibatches, 4 epochs and the same network (three
convolutions on four frames of ids, 256 units; the LSTM: one frame, 32 units), which learns so slowly that it stays the same.
Contenders take turns, round by round, and the fastest round of each counts, in processor time: another program on the machine slows
all of them, not one of them.

`--seconds-to` measures what counts in the end: how long each takes to a return when paid by the same machine, with the settings of `srm train`
for both. A machine is one that ships or a file, such as the `learnt.srm` of a run.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from srm.domains.base import Task
from srm.domains.envs import EnvPoolEnvs, Envs, GymnasiumEnvs, gather, make_envs
from srm.domains.minigrid.envs import ShowPose
from srm.domains.tasks import find_task
from srm.evaluate.payer import Payer
from srm.machine.language.parse import find_machine
from srm.machine.model import Machine
from srm.rl.episodes import EpisodeBook, Recent
from srm.rl.loop import train
from srm.rl.minibatches import Minibatches
from srm.rl.nn.nets import Kind, NetConfig
from srm.rl.ppo import Ppo, PpoConfig
from srm.trajectory import Rollout

ENV = "MiniGrid-DoorKey-8x8-v0"
# The policies hold still: what one has learnt decides how many observations differ, and so how much there is to compute.
CONFIG = PpoConfig(num_envs=64, num_steps=128, epochs=4, minibatches=8, learning_rate=1e-12)
FRAMES = CONFIG.num_envs * CONFIG.num_steps
IDS = NetConfig(cells="ids")
KINDS = (11, 6, 4)  # of a MiniGrid cell: objects, colours, states


class TorchCnn(nn.Module):
    """The same function as ours on frames [N, 12, 7, 7] of floats, by PyTorch's own convolutions in their fastest layout."""

    def __init__(self, channels: int = 12) -> None:
        super().__init__()
        self.first, *rest = (nn.Conv2d(size, 32, 3, 2) for size in (channels, 32, 32))
        self.rest, self.wide, self.head = nn.ModuleList(rest), nn.Linear(32, 256), nn.Linear(256, 8)
        self.to(memory_format=torch.channels_last)

    def features(self, x: Tensor) -> Tensor:
        x = functional.elu(self.first(functional.pad(x, (1, 1, 1, 1))))
        for convolution in self.rest:
            x = functional.elu(convolution(functional.pad(x, (0, 1, 0, 1))))
        return functional.elu(self.wide(x.flatten(1)))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


# Contenders: each returns a function that does one round and the frames of a round


def ours(kind: Kind, net: NetConfig, envs: Any) -> tuple[Callable[[], None], int]:
    learner = Ppo(envs, kind, net, CONFIG, seed=0)

    def round() -> None:
        batch = learner.collect()
        learner.update(batch, batch.rollout.task_reward)

    return round, FRAMES


def our_gradients(kind: Kind, net: NetConfig, *, shared: bool) -> tuple[Callable[[], None], int]:
    """The passes of an update, on minibatches that lie ready, with nothing else. Not `shared`: every step is computed by itself."""
    learner = Ppo(make_envs(ENV, CONFIG.num_envs, seed=0), kind, net, CONFIG, seed=0)
    batch = learner.collect()
    minibatches = list(Minibatches(batch, 1).epoch(CONFIG.minibatches, np.random.default_rng(0)))
    if not shared:
        rows = batch.rows.reshape(-1, learner.net.lags)
        minibatches = [
            replace(one, inputs=replace(one.inputs, rows=rows[one.index.numpy()], inverse=None)) for one in minibatches
        ]
    gradients = [(torch.randn(len(one.index), 7), torch.randn(len(one.index))) for one in minibatches]

    def round() -> None:
        for _ in range(CONFIG.epochs):
            for minibatch, gradient in zip(minibatches, gradients, strict=True):
                outputs = minibatch.outputs(learner.net)
                torch.autograd.backward((outputs["logits"], outputs["value"]), gradient)
                learner.net.zero_grad()

    return round, FRAMES


def torch_gradients() -> tuple[Callable[[], None], int]:
    """The same through PyTorch's convolutions, on floats that lie ready."""
    net, size = TorchCnn(), FRAMES // CONFIG.minibatches
    x = torch.rand(size, 12, 7, 7).contiguous(memory_format=torch.channels_last)
    gradient = torch.randn(size, 8)

    def round() -> None:
        for _ in range(CONFIG.epochs * CONFIG.minibatches):
            net(x).backward(gradient)
            net.zero_grad()

    return round, FRAMES


def sb3(envs: Any, recurrent: bool) -> tuple[Callable[[], None], int]:
    agent = sb3_agent(Sb3Worlds(envs), recurrent, CONFIG, seed=0)
    return lambda: agent.learn(FRAMES, reset_num_timesteps=False), FRAMES


def sb3_agent(vector: Any, recurrent: bool, config: PpoConfig, seed: int, one_hot: bool = False) -> Any:
    """Stable-Baselines3's PPO, or sb3-contrib's with an LSTM. They see ids / 255, as they see any bytes, unless `one_hot`."""
    from sb3_contrib import RecurrentPPO
    from stable_baselines3 import PPO
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from stable_baselines3.common.vec_env import VecFrameStack

    class Extractor(BaseFeaturesExtractor):
        def __init__(self, space: gymnasium.spaces.Box) -> None:
            super().__init__(space, 256)
            self.last = space.shape[0] == 7  # it turns what it takes for a picture, a single frame, channels first
            channels = space.shape[2] if self.last else space.shape[0]
            self.cnn = TorchCnn(sum(KINDS) * channels // 3 if one_hot else channels)

        def forward(self, x: Tensor) -> Tensor:
            x = x.permute(0, 3, 1, 2) if self.last else x
            if one_hot:
                ids = (255 * x).round().long()
                planes = [functional.one_hot(ids[:, c], KINDS[c % 3]) for c in range(x.shape[1])]
                x = torch.cat(planes, dim=3).permute(0, 3, 1, 2).float()
            return self.cnn.features(x.contiguous(memory_format=torch.channels_last))

    shared: dict[str, Any] = {"features_extractor_class": Extractor, "net_arch": [], "ortho_init": False}
    settings: dict[str, Any] = {
        "n_steps": config.num_steps,
        "n_epochs": config.epochs,
        "batch_size": config.num_envs * config.num_steps // config.minibatches,
        "learning_rate": config.learning_rate,
        "ent_coef": config.entropy_weight,
        "seed": seed,
        "device": "cpu",
    }
    if recurrent:
        shared |= {"lstm_hidden_size": 32, "enable_critic_lstm": False, "shared_lstm": True}
        return RecurrentPPO("CnnLstmPolicy", vector, policy_kwargs=shared, **settings)
    return PPO("CnnPolicy", VecFrameStack(vector, 4), policy_kwargs=shared, **settings)


class Sb3Worlds:
    """Our envs as a vector environment of Stable-Baselines3, paid by `pay` step by step."""

    def __new__(
        cls,
        envs: Any,
        pay: Callable[[Rollout], np.ndarray] = lambda rollout: rollout.task_reward,
        watch: Callable[[Rollout], None] = lambda rollout: None,
    ) -> Any:
        from stable_baselines3.common.vec_env import VecEnv

        class Vector(VecEnv):
            def __init__(self) -> None:
                space = gymnasium.spaces.Box(0, 255, envs.observation_space.shape, np.uint8)
                super().__init__(envs.count, space, gymnasium.spaces.Discrete(envs.action_space.count))

            def reset(self) -> np.ndarray:
                self.before = envs.reset()
                return self.before[0]

            def step_async(self, actions: np.ndarray) -> None:
                self.actions = actions

            def step_wait(self) -> Any:
                step = envs.step(self.actions)
                rollout = gather(*self.before, [self.actions], [step])
                self.before = (step.observations, step.poses)
                watch(rollout)
                infos: list[dict[str, Any]] = [{} for _ in range(envs.count)]
                return step.observations, pay(rollout)[0].astype(np.float32), step.terminated | step.truncated, infos

            def close(self) -> None:
                envs.close()

            def get_attr(self, name: str, indices: Any = None) -> list[Any]:
                return [None] * envs.count

            def set_attr(self, name: str, value: Any, indices: Any = None) -> None:
                pass

            def env_method(self, name: str, *arguments: Any, indices: Any = None, **named: Any) -> list[Any]:
                return []

            def env_is_wrapped(self, wrapper: Any, indices: Any = None) -> list[bool]:
                return [False] * envs.count

        return Vector()


def minigrid_worlds() -> GymnasiumEnvs:
    vector = gymnasium.make_vec(ENV, CONFIG.num_envs, vectorization_mode="sync", wrappers=[ShowPose])
    return GymnasiumEnvs(vector, seed=0, env_id=ENV)


def measure(contenders: dict[str, tuple[Callable[[], None], int]], rounds: int) -> dict[str, float]:
    """Frames a second of each, from its fastest round after one to warm up."""
    best = dict.fromkeys(contenders, float("inf"))
    for turn in range(rounds + 1):
        for name, (round, _) in contenders.items():
            start = time.process_time()
            round()
            if turn:
                best[name] = min(best[name], time.process_time() - start)
    return {name: frames / best[name] for name, (_, frames) in contenders.items()}


class Clock:
    """Watches rollouts until the last hundred episodes have returned so much."""

    def __init__(self, level: float, envs: int) -> None:
        self.level, self.book, self.recent = level, EpisodeBook(envs), Recent()
        self.start, self.frames, self.episodes = time.process_time(), 0, 0
        self.reached: str | None = None

    def watch(self, rollout: Rollout) -> None:
        terminated = self.book.read(rollout)
        self.recent.add(terminated)
        self.frames += int(rollout.valid.sum())
        self.episodes += len(terminated)
        if self.reached is None and self.episodes >= 100 and self.recent.means()["return"] >= self.level:
            self.reached = f"{time.process_time() - self.start:6.1f} s  {self.frames:>9,} frames"


def seconds_to(
    level: float, task: Task, machine: Machine, contenders: Sequence[str], seeds: range, config: PpoConfig, most: int
) -> None:
    for seed in seeds:
        for name in contenders:
            envs, clock = task.make_envs(config.num_envs, seed), Clock(level, config.num_envs)
            pay = Payer(machine, task.event_reader())
            if name == "ours":
                learner = Ppo(envs, "cnn", NetConfig(), config, seed)
                for round in train(learner, lambda batch, pay=pay: pay(batch.rollout), most):
                    clock.watch(round.rollout)
                    if clock.reached:
                        break
            else:
                agent = sb3_agent(Sb3Worlds(envs, pay, clock.watch), False, config, seed, one_hot="one-hot" in name)
                while not clock.reached and clock.frames < most:
                    agent.learn(config.num_envs * config.num_steps, reset_num_timesteps=False)
            print(f"{name:<18} seed {seed}: {clock.reached or f'not within {most:,} frames'}", flush=True)
            envs.close()


def main() -> None:
    import minigrid  # noqa: F401  (its import registers the MiniGrid environments)

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4, help="rounds of each contender, after one to warm up")
    parser.add_argument(
        "--skip-slow",
        action="store_true",
        help="leave out Stable-Baselines3 on the minigrid package, and with its own encoding",
    )
    parser.add_argument("--seconds-to", type=float, metavar="RETURN", help="measure the time to this return instead")
    parser.add_argument("--task", default="doorkey", help="of --seconds-to")
    parser.add_argument("--machine", default="doorkey_handset", help="of --seconds-to: one that ships, or a file")
    parser.add_argument("--entropy-weight", type=float, default=PpoConfig().entropy_weight, help="of --seconds-to")
    parser.add_argument("--first-seed", type=int, default=0, help="of --seconds-to")
    parser.add_argument("--seeds", type=int, default=3, help="of --seconds-to")
    parser.add_argument("--most", type=int, default=1_000_000, help="frames after which --seconds-to gives up")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if arguments.seconds_to is not None:
        contenders = ["ours", "SB3, one-hot cells"] if arguments.skip_slow else ["ours", "SB3, one-hot cells", "SB3"]
        seconds_to(
            arguments.seconds_to,
            find_task(arguments.task),
            find_machine(arguments.machine),
            contenders,
            range(arguments.first_seed, arguments.first_seed + arguments.seeds),
            replace(PpoConfig(), entropy_weight=arguments.entropy_weight),
            arguments.most,
        )
        return

    def own() -> Envs:
        return make_envs(ENV, CONFIG.num_envs, seed=0)

    def pool() -> Envs:
        return EnvPoolEnvs(ENV, CONFIG.num_envs, seed=0)

    contenders = {
        "PPO CNN": ours("cnn", IDS, own()),
        "PPO CNN, one-hot cells": ours("cnn", NetConfig(), own()),
        "PPO CNN, EnvPool envs": ours("cnn", IDS, pool()),
        "gradients of the CNN, ours": our_gradients("cnn", IDS, shared=False),
        "gradients of the CNN, ours, shared": our_gradients("cnn", IDS, shared=True),
        "gradients of the CNN, torch": torch_gradients(),
        "PPO LSTM": ours("lstm", IDS, own()),
        "SB3 PPO CNN": sb3(own(), recurrent=False),
        "SB3 PPO CNN, EnvPool envs": sb3(pool(), recurrent=False),
        "SB3 RecurrentPPO": sb3(own(), recurrent=True),
    }
    if not arguments.skip_slow:
        contenders["SB3 PPO CNN, minigrid envs"] = sb3(minigrid_worlds(), recurrent=False)
        contenders["SB3 RecurrentPPO, minigrid envs"] = sb3(minigrid_worlds(), recurrent=True)
    speed = measure(contenders, arguments.rounds)
    for name, frames in speed.items():
        print(f"{name:<36} {frames:>9,.0f} frames/s")
    for mine, other in (
        ("PPO CNN", "gradients of the CNN, ours"),
        ("PPO CNN", "gradients of the CNN, ours, shared"),
        ("PPO CNN", "gradients of the CNN, torch"),
        ("PPO CNN", "SB3 PPO CNN"),
        ("PPO CNN, EnvPool envs", "SB3 PPO CNN, EnvPool envs"),
        ("PPO CNN", "SB3 PPO CNN, minigrid envs"),
        ("PPO LSTM", "PPO CNN"),
        ("PPO LSTM", "SB3 RecurrentPPO"),
        ("PPO LSTM", "SB3 RecurrentPPO, minigrid envs"),
    ):
        if other in speed:
            print(f"{mine} / {other}: {speed[mine] / speed[other]:.2f}")


if __name__ == "__main__":
    main()
