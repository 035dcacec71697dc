"""Whether chosen questions teach more than any questions, and whether what they teach is true.

    python -m benchmarks.preferences --problems 20

Holes are known: each problem draws them from the posterior of one demonstration, and somebody who knows them answers 20 questions about pairs
of episodes, as the model says that people answer. The pairs are chosen (`next_pair`), or drawn by lot. Printed are how much narrower
the holes are than before the answers, and how often the 90 % interval holds the truth, which must be 90 % of the time for either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import tyro

from srm.domains.base import Task
from srm.domains.demonstrations import choose
from srm.domains.record import play
from srm.domains.registry import domain_of
from srm.domains.tasks import find_task
from srm.evaluate import batched
from srm.evaluate.program import Program
from srm.infer.posterior.evidence import Evidence, EvidenceSide
from srm.infer.posterior.infer import random_play, unfarmable
from srm.infer.posterior.preferences import ComparedEpisodes, log_answer, next_pair
from srm.infer.posterior.prior import Floats, Prior
from srm.infer.posterior.sample import Density, PosteriorConfig, draw
from srm.machine.language.parse import find_machine
from srm.seeding import stream
from srm.trajectory import Trajectory, as_rollout

CONFIG = PosteriorConfig(sweeps=400)
DRAWS = 1000  # by which pairs are chosen
Pair = tuple[int, int]


@dataclass(frozen=True)
class Settings:
    """How much is simulated."""

    task: str = "doorkey"
    machine: str = "doorkey"
    problems: int = 20
    questions: int = 20
    demonstrations: int = 1
    seed: int = 0


def candidates(task: Task, seed: int) -> list[Trajectory]:
    """Episodes to ask about: demonstrations, clumsy ones, those of somebody with a habit, and random ones."""
    domain = domain_of(task.vocabulary)
    assert domain is not None
    assert domain.record_with is not None
    listed = [
        *choose(task, None, 8).trajectories,
        *domain.record_with(task, 8, seed, habit=None, noise=0.4).trajectories,
        *domain.record_with(task, 8, seed, habit="closes_doors", noise=0.2).trajectories,
    ]
    env, rng = task.environment(task.env_id), stream(seed, "random episodes")
    return listed + [play(env, lambda _: int(rng.integers(6)), index, most=300) for index in range(12)]


class Problem:
    """Everything but the answers."""

    def __init__(self, settings: Settings) -> None:
        task, self.machine = find_task(settings.task), find_machine(settings.machine).opened()
        reader = task.event_reader()
        demonstrated = choose(task, None, settings.demonstrations).as_rollout()
        constraint, _ = unfarmable(self.machine, self.machine.constraint(), reader)
        program = Program(self.machine, reader.vocabulary)
        plays = (random_play(task, demonstrated, settings.seed),)
        self.evidence = Evidence.of(program, reader, demonstrated, plays)
        self.prior = Prior.of(self.machine, constraint)
        self.side = EvidenceSide.of(program, reader, as_rollout(candidates(task, settings.seed)))
        self.before = self.draws(None, stream(settings.seed, "before"))

    def draws(self, compared: ComparedEpisodes | None, rng: np.random.Generator) -> Floats:
        """[S, H]."""
        density = Density(replace(self.evidence, compared=compared), CONFIG)
        return draw(self.prior, density, CONFIG, rng).assignments

    def totals(self, assignments: Floats) -> Floats:
        """[K, B]."""
        return batched.pay(self.side.residual, assignments).pay @ self.side.totals()

    def answered(self, truth: Floats, questions: int, rng: np.random.Generator, chosen: bool) -> ComparedEpisodes:
        """So many answers of somebody who knows the holes [H]."""
        paid, known = self.totals(self.before[:: 1 + len(self.before) // DRAWS]), self.totals(truth[None])[0]
        log_weight, pairs, answers = np.zeros(len(paid)), list[Pair](), []
        for _ in range(questions):
            if chosen:
                pair = next_pair(paid, np.exp(log_weight - log_weight.max()), pairs, rng)
                assert pair is not None
            else:
                pair = tuple(rng.choice(paid.shape[1], 2, replace=False).tolist())
            left, right = pair
            answer = int(rng.choice(3, p=np.exp(log_answer(known[left] - known[right]))))
            log_weight += log_answer(paid[:, left] - paid[:, right])[answer]
            pairs.append(pair)
            answers.append(1 - answer)
        places = np.array(pairs)
        return ComparedEpisodes(self.side, places[:, 0], places[:, 1], np.array(answers))


def measure(settings: Settings) -> Iterator[str]:
    problem = Problem(settings)
    spread = problem.before.std(axis=0)
    rows: dict[str, list[tuple[Floats, Floats, float]]] = {"chosen": [], "by lot": []}
    for number in range(settings.problems):
        truth = problem.before[stream(settings.seed, f"truth {number}").integers(len(problem.before))]
        for way, listed in rows.items():
            rng = stream(settings.seed, f"answers {number}")
            compared = problem.answered(truth, settings.questions, rng, way == "chosen")
            after = problem.draws(compared, stream(settings.seed, f"after {number}"))
            low, high = np.quantile(after, (0.05, 0.95), axis=0)
            volume = np.linalg.slogdet(np.cov(problem.before.T))[1] - np.linalg.slogdet(np.cov(after.T))[1]
            listed.append((1 - after.std(axis=0) / spread, (low <= truth) & (truth <= high), volume / 2))
    names = [f"?{name}" for name in problem.machine.hole_names]
    yield f"| {settings.questions} questions | narrower | {' | '.join(names)} | nats | truth in the 90 % interval |"
    yield f"|---|{'--:|' * (len(names) + 3)}"
    for way, listed in rows.items():
        narrower, holds, nats = (np.array(column) for column in zip(*listed, strict=True))
        cells = [f"{100 * value:.0f} %" for value in (narrower.mean(), *narrower.mean(axis=0))]
        error = nats.std() / len(nats) ** 0.5
        yield f"| {way} | {' | '.join(cells)} | {nats.mean():.2f} ± {error:.2f} | {100 * holds.mean():.0f} % |"
    gain = [chosen[2] - lot[2] for chosen, lot in zip(rows["chosen"], rows["by lot"], strict=True)]
    yield f"\nchosen tells more in {sum(value > 0 for value in gain)} of {len(gain)} problems, {np.mean(gain):.2f} nats more on average"


def main() -> None:
    for line in measure(tyro.cli(Settings)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
