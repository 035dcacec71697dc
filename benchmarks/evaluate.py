"""What evaluating machines costs, as ratios measured in one run on one core: `OMP_NUM_THREADS=1 python benchmarks/evaluate.py`.

Rollouts of 128 steps x 64 envs of the three tasks; half of the envs are played at random by EnvPool, half are demonstrations
of the expert laid one after another, so that every rule fires somewhere. All times are of the processor, taken in turn
over several rounds, and the median is shown, so that a ratio holds on a busy machine too.

* share of an update: reading the events, the machine with open holes, and its pay with coefficients under K = 16 assignments,
  against one PPO update of the same rollout (4 epochs of 8 minibatches, the learner's defaults). The aim is under 5 %.
* K = 1,024 against K = 16: the same work without coefficients. The aim is under 10. With them it is shown for information: the memory
  that the result fills is what costs then, and the system's ways of handing it out.
* the reference: the definition one step at a time, from the same events, one assignment. The aim is 500 times its speed.
* `pyrewardmachines`, the nearest living tool, on the plain reward machine of KeyCorridor, which both can express: from what
  happened at each step to its reward, so that what it costs to know what happened is left out on both sides. The aim is 200 times its
  speed for one assignment; the second number counts the 16 assignments that are evaluated in one go.

The last is skipped unless the tool is there. It is no dependency of ours, and its own are not needed:

    pip install --no-deps --target /tmp/peer pyrewardmachines
    PYTHONPATH=/tmp/peer OMP_NUM_THREADS=1 python benchmarks/evaluate.py
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from statistics import median
from time import process_time

import numpy as np

from srm.domains.base import Task
from srm.domains.demonstrations import load, shipped
from srm.domains.envs import gather
from srm.domains.tasks import find_task
from srm.evaluate import batched, symbolic
from srm.evaluate.payer import read_rollout
from srm.evaluate.program import Program
from srm.evaluate.reference import Walk, happenings, pay_rollout
from srm.machine.language.parse import find_machine
from srm.seeding import stream
from srm.trajectory import Demonstrations, Rollout

STEPS, WORLDS, ROUNDS = 128, 64, 15
SAMPLE = 0.03  # seconds
FEW, MANY = 16, 1024
CASES = (("doorkey", "doorkey"), ("keycorridor", "keycorridor"), ("obstructedmaze", "obstructedmaze_1"))


# Rollouts


def random_rollout(task: Task, envs: int) -> Rollout:
    pool = task.make_envs(envs, seed=0)
    actions = stream(0, "actions").integers(7, size=(STEPS, envs))
    rollout = gather(*pool.reset(), list(actions), [pool.step(row) for row in actions])
    pool.close()
    return rollout


def shown_rollout(demonstrations: Demonstrations, envs: int) -> Rollout:
    """Each env plays one demonstration after another, and spends a step on resetting between them."""
    rng, columns = stream(0, "demonstrations"), []
    for _ in range(envs):
        rows: list[tuple[np.ndarray, np.ndarray, int, bool, bool]] = []
        while len(rows) <= STEPS:
            episode = demonstrations.trajectories[rng.integers(len(demonstrations))]
            last = episode.steps - 1
            rows += [
                (episode.observations[t], episode.poses[t], int(episode.actions[t]), t == last, True)
                for t in range(last + 1)
            ]
            rows.append((episode.observations[-1], episode.poses[-1], 0, False, False))
        columns.append(rows[: STEPS + 1])
    observations, poses = (
        np.stack([np.stack([row[part] for row in rows]) for rows in columns], axis=1) for part in (0, 1)
    )
    actions, terminated, valid = (
        np.array([[row[part] for row in rows[:-1]] for rows in columns]).T for part in (2, 3, 4)
    )
    nothing = np.zeros((STEPS, envs), np.float32)
    return Rollout(observations, actions, poses, nothing, terminated, nothing > 0, valid)


def side_by_side(left: Rollout, right: Rollout) -> Rollout:
    names = ("observations", "actions", "poses", "task_reward", "terminated", "truncated", "valid")
    return Rollout(**{name: np.concatenate([getattr(left, name), getattr(right, name)], axis=1) for name in names})


# Times


def in_turn(*works: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Median seconds of each work, taken in turn; short works are repeated until a sample is long enough to be timed."""
    for work in works:
        work()  # whatever is made once is made now
    calls = [max(1, round(SAMPLE / seconds_of(work, 1))) for work in works]
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for times, work, count in zip(taken, works, calls, strict=True):
            times.append(seconds_of(work, count))
    return [median(times) for times in taken]


def seconds_of(work: Callable[[], object], calls: int) -> float:
    start = process_time()
    for _ in range(calls):
        work()
    return (process_time() - start) / calls


@dataclass(frozen=True, eq=False)
class Case:
    task: Task
    program: Program
    rollout: Rollout

    @property
    def over(self) -> np.ndarray:
        return self.rollout.terminated | self.rollout.truncated

    def pipeline(self, count: int, coefficients: bool) -> Callable[[], object]:
        """From the rollout to pay under `count` assignments."""
        event_reader, holes = self.task.event_reader(), self.assignments(count)

        def run() -> object:
            residual, _ = read_rollout(self.program, event_reader, self.rollout)
            return batched.pay(residual, holes, coefficients=coefficients)

        return run

    def assignments(self, count: int) -> np.ndarray:
        return stream(0, "assignments").normal(size=(count, len(self.program.machine.holes)))

    def update(self) -> Callable[[], object]:
        """One PPO update of the rollout."""
        import torch

        from srm.rl.make import LearnerConfig

        torch.set_num_threads(1)
        learner = LearnerConfig().make(self.task.make_envs(WORLDS, seed=0), seed=0)
        batch = learner.collect()  # a learner learns from what it played itself; its size is the same
        return lambda: learner.update(batch, batch.rollout.task_reward)

    def reference(self) -> Callable[[], object]:
        vocabulary, events = self.program.vocabulary, self.task.event_reader().read(self.rollout)
        values = dict(zip(self.program.machine.hole_names, self.assignments(1)[0].tolist(), strict=True))
        walks = [Walk(self.program.machine, vocabulary, values) for _ in range(WORLDS)]
        return lambda: pay_rollout(walks, vocabulary, events, self.over, self.rollout.valid)

    def from_events(self, count: int) -> Callable[[], object]:
        """From events to pay, as the reference and other tools have it."""
        events, holes = self.task.event_reader().read(self.rollout), self.assignments(count)

        def run() -> object:
            residual, _ = symbolic.read(self.program, events, self.over, self.rollout.valid)
            return batched.pay(residual, holes)

        return run


def make_case(task_name: str, machine_name: str) -> Case:
    task = find_task(task_name)
    half = WORLDS // 2
    rollout = side_by_side(random_rollout(task, half), shown_rollout(load(shipped(task)), half))
    return Case(task, Program(find_machine(machine_name), task.vocabulary), rollout)


# The peer


def peer(case: Case) -> Callable[[], object] | None:
    """The plain reward machine of KeyCorridor in `pyrewardmachines`, over the same steps."""
    try:
        from pycrm.automaton import RewardMachine, RmToCrmAdapter
    except ImportError:
        return None
    machine, vocabulary = case.program.machine, case.program.vocabulary
    values, nodes = machine.values(), [node.name for node in machine.nodes if node.rules]
    event = Enum("event", [word.name.upper() for word in vocabulary.events])  # type: ignore[misc]

    class Peer(RewardMachine):  # type: ignore[misc, valid-type]
        u_0 = nodes.index(machine.start)

        def _get_state_transition_function(self) -> dict[int, dict[str, int]]:
            to = {node: nodes.index(node) if node in nodes else -1 for node in (node.name for node in machine.nodes)}
            rules = {
                nodes.index(node.name): {str(rule.guard).upper(): to[rule.target or node.name] for rule in node.rules}
                for node in machine.nodes
                if node.rules
            }
            return {node: {**listed, "": node} for node, listed in rules.items()}  # whatever else happens, stay

        def _get_reward_transition_function(self) -> dict[int, dict[str, float]]:
            rules = {
                nodes.index(node.name): {str(rule.guard).upper(): values[str(rule.pay)[1:]] for rule in node.rules}
                for node in machine.nodes
                if node.rules
            }
            return {node: {**listed, "": 0.0} for node, listed in rules.items()}

    told = [
        [{event[name.upper()] for name in happened} for happened in step]
        for step in happenings(case.task.event_reader().read(case.rollout), vocabulary)
    ]
    adapter, over, valid = RmToCrmAdapter(Peer(event)), case.over.tolist(), case.rollout.valid.tolist()

    def run() -> list[list[float]]:
        pay = [[0.0] * WORLDS for _ in range(STEPS)]
        for env in range(WORLDS):
            node, counts = adapter.u_0, adapter.c_0
            for step in range(STEPS):
                if valid[step][env] and node not in adapter.F:
                    node, counts, reward = adapter.transition(node, counts, told[step][env])
                    pay[step][env] = reward(None, None, None)
                if over[step][env]:
                    node, counts = adapter.u_0, adapter.c_0
        return pay

    return run


# What is shown


def tell(label: str, ratio: float, aim: float | None = None, *, upwards: bool = False) -> None:
    """A ratio, what it should be, and whether it is."""
    line = f"    {label:<56}{f'{ratio:,.0f} x' if upwards else f'{ratio:.3g}':>9}"
    if aim is not None:
        met = ratio >= aim if upwards else ratio < aim
        line += f"   {'at least' if upwards else 'under'} {aim:g}: {'yes' if met else 'NO'}"
    print(line)


def measure(case: Case) -> None:
    entries = symbolic.read(case.program, case.task.event_reader().read(case.rollout), case.over, case.rollout.valid)[
        0
    ].entries
    print(
        f"{case.program.machine.name} in {case.task.env_id}: {len(entries):,} of {STEPS * WORLDS:,} steps can be paid"
    )
    few, few_alone, many, many_alone = in_turn(
        case.pipeline(FEW, True), case.pipeline(FEW, False), case.pipeline(MANY, True), case.pipeline(MANY, False)
    )
    (update,) = in_turn(case.update(), rounds=3)
    slow, one = in_turn(case.reference(), case.from_events(1), rounds=5)
    print(f"    K = {FEW}: {few * 1e3:.2f} ms, an update {update * 1e3:.0f} ms; from events, K = 1: {one * 1e3:.2f} ms")
    tell(f"share of an update, K = {FEW} with coefficients", few / update, 0.05)
    tell(f"K = {MANY:,} against K = {FEW}", many_alone / few_alone, 10)
    tell(f"K = {MANY:,} against K = {FEW}, with coefficients", many / few)
    tell("against the reference, one assignment", slow / one, 500, upwards=True)


def measure_peer(case: Case) -> None:
    print(f"{case.program.machine.name} against pyrewardmachines")
    other = peer(case)
    if other is None:
        print("    skipped: it is not installed; the text of benchmarks/evaluate.py tells how")
        return
    values = np.array([list(case.program.machine.values().values())])
    ours = batched.pay(
        symbolic.read(case.program, case.task.event_reader().read(case.rollout), case.over, case.rollout.valid)[0],
        values,
    )
    assert np.array_equal(ours.dense()[0], other()), "both must pay the same"
    one, few, slow = in_turn(case.from_events(1), case.from_events(FEW), other, rounds=5)
    print(f"    transitions a second: {STEPS * WORLDS / slow:,.0f} theirs, {STEPS * WORLDS / one:,.0f} ours with K = 1")
    tell("against pyrewardmachines, one assignment", slow / one, 200, upwards=True)
    tell(f"against pyrewardmachines, {FEW} assignments in one go", FEW * slow / few, upwards=True)


def main() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"{STEPS} steps x {WORLDS} envs, processor time on one core, median of {ROUNDS} rounds\n")
    for task, machine in CASES:
        measure(make_case(task, machine))
    measure_peer(make_case("keycorridor", "keycorridor_rm"))


if __name__ == "__main__":
    main()
