"""The posterior while a policy is trained: it pays, and is drawn anew as play reaches new places.

It begins with random play, as `srm infer` does. The latest play of the policy joins the evidence after 16, 64, 256, ... rounds: ever
more rarely, so that values settle, and with the weight of one policy among those met so far, so that evidence does not grow because
the policy plays on. A new posterior goes on from where the walkers of the old one stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from srm.domains.base import EventReader
from srm.errors import RunError, SrmError
from srm.infer.belief import Belief, LogProb, PaysByBelief
from srm.infer.posterior.evidence import Evidence, Play
from srm.infer.posterior.infer import Posterior, assemble, prior_draws
from srm.infer.posterior.peak import paying_point
from srm.infer.posterior.prior import Floats, Prior
from srm.infer.posterior.record import PressedAtom
from srm.infer.posterior.sample import Density, Draws, InferenceTarget, PosteriorConfig, draw
from srm.infer.posterior.summary import pressed_atoms
from srm.infer.posterior.tape import Tape
from srm.infer.rounding import tidied
from srm.machine.checks.check import Forbidden
from srm.machine.holes import Constraint
from srm.machine.model import Machine
from srm.seeding import stream
from srm.settings import ZERO_OR_MORE
from srm.trajectory import Rollout

NEAR = 60  # sweeps from the prior, or from an earlier posterior, to near the peak
FIRST = 16  # rounds after which play first joins the evidence
OFTEN = 4  # and again each time the run is so many times as long
EVENLY = 1  # after 16, 32, and then every 64 rounds: who does a task in another style is told only by policies that can do it


@dataclass(frozen=True)
class LiveConfig(PosteriorConfig):
    """How the posterior is sampled, and what it pays, while a policy is trained."""

    pay: Literal["peak", "mean", "draw"] = "peak"
    """which assignment pays: the posterior's peak, its mean, or a fresh draw each round"""
    refresh: int | None = None
    """play joins the evidence after 16 rounds, and again each time the run is so many times as long; 1: after 16, 32, and then every 64 rounds; 0: never, random play is all; unless given 1 where averages count, else 4, or 0 with --allow-farming, where the play of a policy that farms would count against what demonstrations show"""

    def __post_init__(self) -> None:
        super().__post_init__()
        ZERO_OR_MORE.refuse_outside(self, "--posterior.", "refresh")

    def is_due(self, rounds: int) -> bool:
        """Whether play joins the evidence after so many rounds."""
        usual = EVENLY if self.likelihood == "averages" else OFTEN
        refresh = usual if self.refresh is None else self.refresh
        if refresh == EVENLY:
            return rounds in (FIRST, 2 * FIRST) or (rounds > 0 and rounds % (4 * FIRST) == 0)
        due = FIRST
        while refresh and due < rounds:
            due *= refresh
        return refresh > 0 and due == rounds


class LivePosterior(PaysByBelief):
    """Pays rollouts, watches them, and is drawn anew when that is due. Fits `srm.infer.algorithm1.loop.infer`."""

    def __init__(
        self,
        machine: Machine,
        constraint: Constraint | None,
        forbidden: Forbidden,
        event_reader: EventReader,
        demonstrated: Rollout,
        config: LiveConfig,
        seed: int,
        tape: Tape,
    ) -> None:
        super().__init__(machine, event_reader, demonstrated)
        self.machine, self.constraint, self.forbidden = machine, constraint, forbidden
        self.config, self._seed, self._tape = config.resolved(machine), seed, tape
        self._prior = Prior.of(machine, constraint)
        self._plays: list[Play] = []
        self._target: InferenceTarget | None = None
        self._draws: Draws | None = None
        self._walkers: Floats | None = None
        self._peak: Floats | None = None  # [D]

    # While a policy is trained

    def begin(
        self, index: int, rollout: Rollout, log_prob: LogProb, demonstrated_log_prob: LogProb, effort: int
    ) -> None:
        """The play of round `index`, and what its policy thinks of the demonstrations; a policy that knows no log-probabilities is no evidence."""
        if log_prob is not None:
            self._tape.add(rollout, log_prob)
        if self.config.is_due(index + 1) and log_prob is not None and demonstrated_log_prob is not None:
            play = self._tape.play(demonstrated_log_prob)
            if play is not None:
                self.add(play)
        elif self.config.pay == "draw":
            if self._draws is None:  # draws are not saved
                self._draw()
            self._believe(stream(self._seed, f"draw {index}"))

    # The posterior

    def add(self, *plays: Play) -> None:
        """More policies among the evidence, and the posterior drawn anew."""
        self._plays += plays
        self._draw()

    def _draw(self) -> None:
        self._target = self._make_target(self._plays)
        rng = stream(
            self._seed, f"posterior of {len(self._plays)} policies" if self._walkers is not None else "posterior"
        )
        # The peak needs walkers near it, not converged draws: those are drawn at the end. Of averages the mean pays.
        searches = self.config.pay == "peak" and self.config.likelihood != "averages"
        short = replace(self.config, sweeps=NEAR) if searches else self.config
        self._draws = draw(self._prior, self._target.density, short, rng, self._walkers)
        self._walkers = self._draws.walkers
        self._believe(rng)

    def _make_target(self, plays: Sequence[Play]) -> InferenceTarget:
        by_episode = self.config.likelihood == "averages"
        evidence = Evidence.of(self.program, self.event_reader, self.demonstrated, tuple(plays), by_episode=by_episode)
        return InferenceTarget(
            self.machine, self.constraint, self.forbidden, self._prior, Density(evidence, self.config)
        )

    def _believe(self, rng: np.random.Generator) -> None:
        assert self._draws is not None
        assert self._target is not None
        draws = self._draws.assignments
        if self.config.pay == "peak":
            self._peak = paying_point(self._target, self._draws, rng)
            point = self._peak[:-1]
        else:
            point = draws.mean(axis=0) if self.config.pay == "mean" else draws[rng.integers(len(draws))]
        point = tidied(self.machine, self.constraint, point)
        self.belief = Belief(point, draws.mean(axis=0), draws.std(axis=0), float(self._draws.idle.mean()))

    def posterior(self) -> Posterior:
        """What is known at the end, with all that the draws say. It pays what the policy was paid, also after `load`."""
        assert self._target is not None
        rng = stream(self._seed, f"posterior after {len(self._plays)} policies")
        draws = draw(self._prior, self._target.density, self.config, rng, self._walkers)
        if self._peak is None:
            self._peak = paying_point(self._target, draws, rng)
        known = assemble(self._target, draws, self._peak, self._seed)
        return replace(known, point=self.belief.mode, pressed=known.pressed or self._pressed_at_first())

    def _pressed_at_first(self) -> tuple[PressedAtom, ...]:
        """Against what the demonstrations press beside random play: a policy that was kept from it, or that farmed, hides it again."""
        target = self._make_target(self._plays[:1])
        rng = stream(self._seed, "pressed")
        draws = draw(self._prior, target.density, replace(self.config, sweeps=NEAR), rng, self._walkers)
        at = paying_point(target, draws, rng)
        return pressed_atoms(target, prior_draws(self._prior, self._seed), at)

    # Files

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that learning has changed, by name, for a checkpoint."""
        assert self._walkers is not None
        belief = {f"belief.{f.name}": np.asarray(getattr(self.belief, f.name)) for f in fields(Belief)}
        plays = {
            f"play.{number}.{name}": value
            for number, play in enumerate(self._plays)
            for name, value in _play_arrays(play).items()
        }
        at = {} if self._peak is None else {"peak": self._peak}
        return {"walkers": self._walkers, **at, **belief, **plays}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Goes on where a posterior of the same machine was saved."""
        try:
            self._walkers = arrays["walkers"].astype(np.float64)
            self._peak = arrays["peak"].astype(np.float64) if "peak" in arrays else None
            mode, mean, spread = (arrays[f"belief.{name}"] for name in ("mode", "mean", "spread"))
            self.belief = Belief(mode, mean, spread, float(arrays["belief.idle"]))
            count = 1 + max(int(name.split(".")[1]) for name in arrays if name.startswith("play."))
            self._plays = [_play_of(arrays, f"play.{number}.") for number in range(count)]
            self._target = self._make_target(self._plays)
        except (KeyError, IndexError, ValueError, TypeError, SrmError) as problem:
            raise RunError(f"these arrays hold no posterior of {self.machine.name}: {problem}") from None
        holes = self._prior.dimensions - 1
        self.belief.refuse_misfit(holes)
        if self._walkers.ndim != 3 or self._walkers.shape[2] != holes + 1 or not np.isfinite(self._walkers).all():
            raise RunError(f"walkers {list(self._walkers.shape)}: of another machine than {self.machine.name}")
        if self._peak is not None and (self._peak.shape != (holes + 1,) or not np.isfinite(self._peak).all()):
            raise RunError(f"peak {list(self._peak.shape)}: of another machine than {self.machine.name}")


def _play_arrays(play: Play) -> dict[str, np.ndarray]:
    rollout = {f"rollout.{f.name}": getattr(play.rollout, f.name) for f in fields(Rollout) if f.name != "info"}
    rollout |= {f"rollout.info.{key}": numbers for key, numbers in play.rollout.info.items()}
    return {**rollout, "log_prob": play.log_prob, "demonstrated_log_prob": play.demonstrated_log_prob}


def _play_of(arrays: Mapping[str, np.ndarray], prefix: str) -> Play:
    named = {f.name: arrays[f"{prefix}rollout.{f.name}"] for f in fields(Rollout) if f.name != "info"}
    info_prefix = f"{prefix}rollout.info."
    info = {key.removeprefix(info_prefix): arrays[key] for key in arrays if key.startswith(info_prefix)}
    rollout = Rollout(**{**named, "info": info})  # type: ignore[arg-type]
    return Play(rollout, arrays[f"{prefix}log_prob"], arrays[f"{prefix}demonstrated_log_prob"])
