"""Learners and their networks by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from srm.domains.envs import Envs, number_of_actions
from srm.errors import RunError, SettingError
from srm.rl.agac import Agac, AgacConfig, agac_towers
from srm.rl.bc import Clone, CloneConfig
from srm.rl.learner import Learner
from srm.rl.nn.nets import Kind, Net, NetConfig, make_net
from srm.rl.ppo import Ppo, PpoConfig, actor_critic
from srm.rl.ride import Ride, RideConfig
from srm.trajectory import Rollout


@dataclass(frozen=True)
class LearnerConfig:
    """Which learner with which network; only the part of the chosen learner is read."""

    learner: Literal["ppo", "agac", "ride", "bc"] = "ppo"
    """how the policy learns; bc copies demonstrations and reads no pay"""
    net: Kind = "cnn"
    """what the policy is: convolutions over the last frames, an LSTM over one frame, or an MLP for plain vectors"""
    network: NetConfig = field(default_factory=NetConfig)
    ppo: PpoConfig = field(default_factory=PpoConfig)
    agac: AgacConfig = field(default_factory=AgacConfig)
    ride: RideConfig = field(default_factory=RideConfig)
    bc: CloneConfig = field(default_factory=CloneConfig)

    def __post_init__(self) -> None:
        if self.learner == "ride" and self.net == "mlp":
            raise RunError("--learner ride looks at cells of a grid, which --net mlp does not; use ppo or agac with it")
        if self.learner == "ride" and self.ppo.least_real_steps < self.ride.minibatches:
            raise RunError(
                f"{self.ppo.num_envs} environments x {self.ppo.num_steps} steps are too few for --ride.minibatches "
                f"{self.ride.minibatches}; give fewer, or more --ppo.num-steps"
            )

    def refuse_idle_parts(self) -> None:
        """Settings of a learner or a network that was not chosen."""
        usual, lstm = LearnerConfig(), self.net == "lstm"
        for flag, given, applies, needs in (
            ("--agac.*", self.agac != usual.agac, self.learner == "agac", "--learner agac"),
            ("--ride.*", self.ride != usual.ride, self.learner == "ride", "--learner ride"),
            ("--bc.*", self.bc != usual.bc, self.learner == "bc", "--learner bc"),
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

    def make(self, envs: Envs, seed: int, demonstrated: Rollout | None = None) -> Learner:
        if demonstrated is None:
            self.refuse_cloning()
        elif self.learner == "bc":
            return Clone(envs, self.net, self.network, self.ppo, self.bc, demonstrated, seed)
        if self.learner == "agac":
            return Agac(envs, self.net, self.network, self.ppo, self.agac, seed)
        if self.learner == "ride":
            return Ride(envs, self.net, self.network, self.ppo, self.ride, seed)
        return Ppo(envs, self.net, self.network, self.ppo, seed)

    def make_net(self, envs: Envs) -> Net:
        """The policy's network alone, to be filled with weights."""
        if self.learner == "agac":
            plans = agac_towers(number_of_actions(envs), self.agac)
        else:
            plans = actor_critic(number_of_actions(envs), self.network.towers)
        return make_net(envs, self.net, self.network, plans, seed=0)
