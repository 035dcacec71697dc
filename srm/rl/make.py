"""Learners and their networks by name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from srm.domains.envs import Envs
from srm.domains.spaces import Bounds
from srm.errors import RunError, SettingError
from srm.rl.agac import Agac, AgacConfig, agac_towers
from srm.rl.bc import Clone, CloneConfig
from srm.rl.learner import Learner, number_of_actions
from srm.rl.nn.nets import Kind, Net, NetConfig, kind_for, make_net
from srm.rl.ppo import Ppo, PpoConfig, actor_critic
from srm.rl.ride import Ride, RideConfig
from srm.settings import UsualInt, settled
from srm.trajectory import Rollout


@dataclass(frozen=True)
class LearnerConfig:
    """Which learner with which network; only the part of the chosen learner is read."""

    learner: Literal["ppo", "agac", "ride", "bc"] = "ppo"
    """how the policy learns; bc copies demonstrations and reads no pay"""
    net: Kind = "auto"
    """what the policy is: cnn, convolutions over the last frames of a grid, or over a picture; lstm, an LSTM over one frame; mlp, layers on plain
    numbers; auto: cnn where there is a grid or a picture, else mlp"""
    network: NetConfig = field(default_factory=NetConfig)
    ppo: PpoConfig = field(default_factory=PpoConfig)
    agac: AgacConfig = field(default_factory=AgacConfig)
    ride: RideConfig = field(default_factory=RideConfig)
    bc: CloneConfig = field(default_factory=CloneConfig)

    def __post_init__(self) -> None:
        if self.learner == "ride" and self.net == "mlp":
            raise RunError("--learner ride looks at cells of a grid, which the mlp network does not; use --learner ppo")
        if self.learner == "ride" and self.ppo.least_real_steps < self.ride.minibatches:
            raise RunError(
                f"{self.ppo.num_envs} environments x {self.ppo.num_steps} steps are too few for --ride.minibatches "
                f"{self.ride.minibatches}; give fewer, or more --ppo.num-steps"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """For the name of a run: the learner, and the network if one was chosen."""
        return (self.learner,) if self.net == "auto" else (self.learner, self.net)

    def refuse_idle_parts(self) -> None:
        """Settings of a learner or a network that was not chosen."""
        usual, lstm = LearnerConfig(), self.net == "lstm"
        for flag, given, applies, needs in (
            ("--agac.*", self.agac != usual.agac, self.learner == "agac", "--learner agac"),
            ("--ride.*", self.ride != usual.ride, self.learner == "ride", "--learner ride"),
            ("--bc.*", self.bc != usual.bc, self.learner == "bc", "--learner bc"),
            ("--ppo.scale-pay", bool(self.ppo.scale_pay), self.learner == "ppo", "--learner ppo"),
            ("--ppo.recurrence", self.ppo.recurrence != usual.ppo.recurrence, lstm, "--net lstm"),
            (
                "--network.scale",
                self.network.scale != usual.network.scale,
                self.network.cells != "one_hot",
                "--network.cells ids",
            ),
        ):
            if given and not applies:
                raise SettingError(f"{flag} would change nothing: it needs {needs}; give that, or leave it out")

    def refuse_cloning(self) -> None:
        """Where there is nothing to copy, or what pays is to be inferred."""
        if self.learner == "bc":
            raise RunError("--learner bc reads no pay, so it cannot infer what pays; use it with `srm train`")

    def settle(self, envs: Envs) -> LearnerConfig:
        """The same with every default as it is for what is observed and done in these environments."""
        net, space = kind_for(self.net, envs.observation_space), envs.observation_space
        kinds = ["box"] if isinstance(envs.action_space, Bounds) else []
        grid = space.parts[0].kind == "cells" and not space.structured
        pictures = any(part.kind == "image" for part in space.parts)
        kinds += [] if grid else ["pictures"] if pictures and net != "mlp" else ["vectors"]
        ppo, network = settled(self.ppo, kinds), settled(self.network, kinds)
        if "vectors" in kinds and isinstance(self.ppo.minibatches, UsualInt):
            ppo = replace(ppo, minibatches=max(1, min(ppo.num_envs * ppo.num_steps // 64, ppo.least_real_steps)))
        if ppo.scale_pay is None:
            ppo = replace(ppo, scale_pay=not grid and self.learner == "ppo")
        if network.towers is None:
            network = replace(network, towers="separate" if "vectors" in kinds and net == "mlp" else "shared")
        return replace(self, net=net, ppo=ppo, network=network)

    def make(self, envs: Envs, seed: int, demonstrated: Rollout | None = None) -> Learner:
        own = self.settle(envs)
        if demonstrated is None:
            self.refuse_cloning()
        elif self.learner == "bc":
            return Clone(envs, own.net, own.network, own.ppo, own.bc, demonstrated, seed)
        if self.learner == "agac":
            return Agac(envs, own.net, own.network, own.ppo, own.agac, seed)
        if self.learner == "ride":
            return Ride(envs, own.net, own.network, own.ppo, own.ride, seed)
        return Ppo(envs, own.net, own.network, own.ppo, seed)

    def make_net(self, envs: Envs) -> Net:
        """The policy's network alone, to be filled with weights."""
        own = self.settle(envs)
        if self.learner == "agac":
            plans = agac_towers(number_of_actions(envs, "agac"), self.agac)
        else:
            plans = actor_critic(envs.action_space, own.network)
        return make_net(envs, own.net, own.network, plans, seed=0)
