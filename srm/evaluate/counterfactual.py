"""What a step would have paid had the machine stood elsewhere, and where it would have led (Toro Icarte et al. 2022).

What happens in an environment does not depend on the machine. So one step teaches an off-policy learner as much as S steps, one at
each place. Hindsight depends on what happened before as well, so a machine that has it is refused.

    B envs   S places   C counters
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from srm.errors import MachineError
from srm.evaluate._native.compiled import CompiledStep
from srm.evaluate.places import places
from srm.evaluate.step_payer import StepPayer

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """One step of B envs at each of S places."""

    nodes: Ints  # [B, S]
    counts: Ints  # [B, S, C]
    pay: npt.NDArray[np.float64]  # [B, S]
    next_nodes: Ints  # [B, S]
    next_counts: Ints  # [B, S, C]
    silent: npt.NDArray[np.bool_]  # [B, S] nothing is ever paid from there on: for a learner the episode is over


class Counterfactual:
    """The places of a payer's machine. `bounds` [C]: up to where each counter is told apart; None: it stays as it is."""

    def __init__(self, payer: StepPayer, bounds: tuple[int | None, ...]) -> None:
        machine = payer.program.machine
        if payer.repays:
            raise MachineError(
                f"machine {machine.name} has hindsight, which depends on what happened before and not on the node alone; "
                "leave counterfactual out, or take a machine without hindsight"
            )
        self._payer, self._tables = payer, payer.tables
        nodes, counts = places(machine, bounds, np.zeros((1, len(bounds)), np.int32))
        self.nodes, self._counts = nodes[0], counts[0]  # [S], [S, C]
        self._bounded = np.array([bound is not None for bound in bounds], np.bool_)  # [C]
        self._most = np.array([np.iinfo(np.int32).max if bound is None else bound for bound in bounds], np.int32)
        self._ruled = np.array([bool(node.rules) for node in machine.nodes])  # [N]
        self._steps = CompiledStep(payer.tables, payer.envs, len(self.nodes))

    def last_step(self) -> Elsewhere:
        """Of the step that the payer has paid last."""
        if self._tables is not self._payer.tables:  # the holes have other values
            self._tables = self._payer.tables
            self._steps = CompiledStep(self._tables, self._payer.envs, len(self.nodes))
        return self._run(self._steps, self._payer.happened, self._payer.counts_before)

    def steps(self, happened: tuple[npt.NDArray[np.generic], ...], counts: Ints) -> Elsewhere:
        """Of many steps at once, each as an env of its own (`Ledger.side_by_side`), with the counts [B, C] before them."""
        return self._run(CompiledStep(self._payer.tables, len(counts), len(self.nodes)), happened, counts)

    def counts_at(self, place: npt.NDArray[np.integer], counts: Ints) -> Ints:
        """[n, C] at n places, of machines that truly have `counts` [n, C]."""
        return np.where(self._bounded, self._counts[place], counts)

    def _run(self, steps: CompiledStep, happened: tuple[npt.NDArray[np.generic], ...], counts: Ints) -> Elsewhere:
        steps.nodes[:] = self.nodes
        steps.counts[:] = before = np.where(self._bounded, self._counts, counts[:, None])
        steps(*happened)
        return Elsewhere(
            np.repeat(self.nodes[None], len(counts), axis=0),
            before,
            steps.pay.copy(),
            steps.nodes.copy(),
            np.minimum(steps.counts, self._most),
            ~self._ruled[steps.nodes],
        )
