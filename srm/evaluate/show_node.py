"""The machine's node, and its counters, as a part of the observation: what pay depends on beside the environment.

node      [N] one-hot
counters  bounded ones one-hot, up to the number from which on they make no difference; others as c / (c + 8)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from srm.errors import MachineError, SettingError, near
from srm.evaluate.counterfactual import Counterfactual
from srm.evaluate.places import counter_bounds
from srm.evaluate.step_payer import StepPayer

ShowNode = bool | Literal["counters"]
HALF = 8  # the number that an unbounded counter shows as 1/2

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class NodeView:
    """Where the machines of a payer stand, as arrays that a policy can read."""

    payer: StepPayer
    counters: bool
    bounds: tuple[int | None, ...]  # [C]

    @staticmethod
    def of(payer: StepPayer, show_node: ShowNode, bounds: Mapping[str, int] | None = None) -> NodeView | None:
        """None: nothing is shown. `bounds`: up to where counters are told apart, where that is not what the machine itself says."""
        if show_node not in (False, True, "counters"):
            raise SettingError(f'show_node={show_node!r}: give True, False or "counters"')
        if show_node is False:
            return None
        machine, given = payer.program.machine, bounds or {}
        names = [counter.name for counter in machine.counters]
        unknown = [name for name in given if name not in names]
        if unknown:
            raise MachineError(f"machine {machine.name} has no counter #{unknown[0]}{near(unknown[0], names)}")
        if min(given.values(), default=0) < 0:
            raise SettingError(f"bounds={dict(given)}: a counter counts from 0, so no bound may be below it")
        known = counter_bounds(machine, payer.program.vocabulary, payer.values)
        chosen = tuple(given.get(name, bound) for name, bound in zip(names, known, strict=True))
        return NodeView(payer, show_node == "counters", chosen)

    def counterfactual(self) -> Counterfactual:
        """The places that a policy can tell apart."""
        return Counterfactual(self.payer, self.bounds if self.counters else (None,) * len(self.bounds))

    @cached_property
    def _one_hot(self) -> Floats:
        return np.eye(len(self.payer.node_names), dtype=np.float32)

    @property
    def sizes(self) -> dict[str, int]:
        """How many numbers each part has."""
        sizes = {"node": len(self.payer.node_names)}
        if self.counters:
            sizes["counters"] = sum(1 if bound is None else bound + 1 for bound in self.bounds)
        return sizes

    def space(self, seen: spaces.Space[Any]) -> spaces.Dict:
        """The space of an observation that shows it."""
        parts = {name: spaces.Box(0, 1, (size,), np.float32) for name, size in self.sizes.items()}
        return spaces.Dict({**(seen.spaces if isinstance(seen, spaces.Dict) else {"observation": seen}), **parts})

    def add(self, seen: Any, parts: dict[str, Floats]) -> dict[str, Any]:
        return {**(seen if isinstance(seen, dict) else {"observation": seen}), **parts}

    def one(self, env: int) -> dict[str, Floats]:
        """Of one env."""
        return {
            name: part[0]
            for name, part in self.at(self.payer.nodes[env : env + 1], self.payer.counts[env : env + 1]).items()
        }

    def all(self) -> dict[str, Floats]:
        """Of every env, [B, ...] of each part."""
        return self.at(self.payer.nodes, self.payer.counts)

    def at(self, nodes: npt.NDArray[np.int32], counts: npt.NDArray[np.int32]) -> dict[str, Floats]:
        """Of machines that stand at nodes [B] with counts [B, C]."""
        parts = {"node": self._one_hot[nodes]}
        if self.counters:
            columns = [_numbers_of(counts[:, index], bound) for index, bound in enumerate(self.bounds)]
            parts["counters"] = np.concatenate([np.zeros((len(nodes), 0), np.float32), *columns], axis=1)
        return parts


def _numbers_of(count: npt.NDArray[np.int32], bound: int | None) -> Floats:
    """[B, bound + 1], or [B, 1] without a bound."""
    if bound is None:
        scaled: Floats = (count / (count + HALF)).astype(np.float32)[:, None]
        return scaled
    return np.eye(bound + 1, dtype=np.float32)[np.minimum(count, bound)]
