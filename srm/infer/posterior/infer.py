"""Infer the holes of a machine: demonstrations and play in, a posterior out. No training, no torch, nothing written.

    infer(machine, constraint, event_reader, demonstrated, plays) -> Posterior

The prior is uniform on the constraint within the assignment spaces, less whatever could be farmed: for each loop of the machine
that could be repeated without end for gain, the atom that forbids it is added, so every draw is a reward that provably cannot be
hacked that way (`allow_farming` leaves these atoms out).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from srm.domains.base import EventReader, Task
from srm.domains.envs import Envs, gather
from srm.domains.preferences import ActionsFromSeed, Preferences
from srm.domains.terms import longest_episode
from srm.errors import AssignmentError
from srm.evaluate.program import Program
from srm.infer.posterior.evidence import Evidence, Play
from srm.infer.posterior.near import near_plays
from srm.infer.posterior.peak import paying_point
from srm.infer.posterior.preferences import ComparedEpisodes
from srm.infer.posterior.prior import Floats, Prior
from srm.infer.posterior.record import HoleSummary, PressedAtom
from srm.infer.posterior.sample import Density, Draws, InferenceTarget, PosteriorConfig, draw
from srm.infer.posterior.slices import prior_walkers
from srm.infer.posterior.summary import Tradeoff, pressed_atoms, summarise, tradeoffs
from srm.infer.rounding import tidied
from srm.machine.checks.check import Forbidden, forbid_farming, with_atoms
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.seeding import stream
from srm.trajectory import Rollout, Trajectory

Compared = tuple[Preferences, dict[ActionsFromSeed, Trajectory]]
PRIOR_DRAWS = (8, 128)  # ensembles and walkers
ENVS = 16  # of random play: few, so that episodes come to their ends
RANDOM_FRAMES = 10_240  # of uniform random play: enough for every event that random play meets at all


@dataclass(frozen=True, eq=False)
class Posterior:
    """What demonstrations say of a machine's holes."""

    machine: Machine  # with its holes open
    constraint: Constraint | None  # with the atoms that forbid farming
    forbidden: Forbidden
    draws: Draws
    prior_draws: Floats  # [S, H]
    point: Floats  # [H] what pays, tidied: the peak, unless a run was paid by something else
    holes: tuple[HoleSummary, ...]
    pressed: tuple[PressedAtom, ...]
    tradeoffs: tuple[Tradeoff, ...]
    demonstrations: int
    demonstrated_steps: int
    played_steps: int
    answers: int = 0  # about pairs of episodes

    @property
    def converged(self) -> bool:
        return self.draws.converged

    @property
    def values(self) -> Mapping[str, float]:
        """What pays, by hole."""
        return dict(zip(self.machine.hole_names, self.point.tolist(), strict=True))

    @cached_property
    def concrete(self) -> Machine:
        """The machine with its values and spreads."""
        return self.machine.concretize(self.values, {hole.name: round(hole.spread, 4) for hole in self.holes})


def unfarmable(
    machine: Machine, constraint: Constraint | None, event_reader: EventReader
) -> tuple[Constraint | None, Forbidden]:
    """The constraint with the atoms that forbid farming, and what these are."""
    forbidden = forbid_farming(machine, event_reader.vocabulary, constraint)
    return (with_atoms(constraint, forbidden.atoms) if forbidden.atoms else constraint), forbidden


def infer(
    machine: Machine,
    constraint: Constraint | None,
    event_reader: EventReader,
    demonstrated: Rollout,
    plays: Sequence[Play],
    config: PosteriorConfig | None = None,
    *,
    seed: int = 0,
    allow_farming: bool = False,
    compared: Compared | None = None,
) -> Posterior:
    """The posterior over the holes of `machine`, whatever values it has for them; `compared` are answers, and the episodes they are about."""
    config, machine = config or PosteriorConfig(), machine.opened()
    if not machine.holes:
        raise AssignmentError(f"machine {machine.name} has no holes to infer")
    forbidden = Forbidden()
    if not allow_farming:
        constraint, forbidden = unfarmable(machine, constraint, event_reader)
    config, program = config.resolved(machine), Program(machine, event_reader.vocabulary)
    evidence = Evidence.of(
        program, event_reader, demonstrated, tuple(plays), by_episode=config.likelihood == "averages"
    )
    if compared is not None:
        evidence = replace(evidence, compared=ComparedEpisodes.of(program, event_reader, *compared))
    target = InferenceTarget(machine, constraint, forbidden, Prior.of(machine, constraint), Density(evidence, config))
    draws = draw(target.prior, target.density, config, stream(seed, "posterior"))
    return assemble(target, draws, paying_point(target, draws, stream(seed, "peak")), seed)


def assemble(target: InferenceTarget, draws: Draws, at: Floats, seed: int) -> Posterior:
    """The posterior with all that its draws say; `at` [D] is its peak."""
    before, evidence = prior_draws(target.prior, seed), target.density.evidence
    return Posterior(
        target.machine,
        target.constraint,
        target.forbidden,
        draws,
        before,
        tidied(target.machine, target.constraint, at[:-1]),
        summarise(target, before, draws),
        pressed_atoms(target, before, at),
        tradeoffs(target.machine, draws),
        evidence.demonstrations.valid.shape[1],
        evidence.demonstrations.steps,
        sum(side.steps for side in evidence.plays),
        0 if evidence.compared is None else len(evidence.compared.answer),
    )


def prior_draws(prior: Prior, seed: int) -> Floats:
    """[S, H]."""
    walkers = prior_walkers(prior, *PRIOR_DRAWS, stream(seed, "prior"))
    return prior.rounded(walkers.reshape(-1, prior.dimensions))[:, :-1]


def first_plays(
    machine: Machine, config: PosteriorConfig, task: Task, demonstrated: Rollout, seed: int, frames: int
) -> list[Play]:
    """What demonstrations are compared with before any policy is trained: random play and, where averages of episodes count, play near
    the demonstrations."""
    if config.resolved(machine).likelihood != "averages":
        return [random_play(task, demonstrated, seed, frames)]
    whole = max(frames, ENVS * (longest_episode(task.env_id) or 0))  # so that every env ends an episode
    return [random_play(task, demonstrated, seed, whole), *near_plays(task, demonstrated, seed, whole // ENVS)]


def random_play(task: Task, demonstrated: Rollout, seed: int, frames: int = RANDOM_FRAMES) -> Play:
    """What somebody does who draws every action at random."""
    envs = task.make_envs(ENVS, seed)
    try:
        return uniform_play(envs, demonstrated, stream(seed, "random play"), max(1, frames // envs.count))
    finally:
        envs.close()


def uniform_play(envs: Envs, demonstrated: Rollout, rng: np.random.Generator, steps: int) -> Play:
    observations, poses = envs.reset()
    actions = [envs.action_space.draw(rng, envs.count) for _ in range(steps)]
    rollout = gather(observations, poses, actions, [envs.step(action) for action in actions])
    log_prob = envs.action_space.log_uniform
    return Play(rollout, np.full(rollout.valid.shape, log_prob), np.full(demonstrated.valid.shape, log_prob))
