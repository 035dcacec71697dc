"""A posterior on disk: a summary that can be read without it, and its draws.

    posterior.json        `to_json`: everything a page or a reader needs, a `Summary` of `record.py` under its field names
    draws.safetensors     `draws_bytes`, `read_draws`: thinned draws, for other programs (`to_arviz`)

    C ensembles   N draws kept of each   P draws of the prior   H holes

Nothing is unpickled, and what is read is checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from srm.domains.base import EventReader
from srm.errors import RunError
from srm.evaluate.trace import trace
from srm.extras import require
from srm.files import MOST_WEIGHTS, read_whole
from srm.infer.hole_uses import pays_terms
from srm.infer.posterior.infer import Posterior
from srm.infer.posterior.prior import Floats, spaces
from srm.infer.posterior.record import (
    KIND,
    AddedAtom,
    Convergence,
    HoleRecord,
    HoleSummary,
    PairRecord,
    RatioRecord,
    Summary,
)
from srm.infer.posterior.sample import LARGEST_R_HAT, LEAST_DRAWS
from srm.infer.posterior.summary import INTERVAL, finite
from srm.tensors import pack, unpack
from srm.trajectory import Trajectory

FORMAT = "srm-draws 1"
MOST_DRAWS = 4000
BINS = 60  # of a hole's histogram
CELLS = 24  # of a pair's, along either side


def to_json(
    posterior: Posterior, event_reader: EventReader | None = None, trajectories: Sequence[Trajectory] = ()
) -> dict[str, Any]:
    """The summary as plain values. With the demonstrations, the steps that decided a hole have their events and rules."""
    return {"kind": KIND, **asdict(summary_of(posterior, event_reader, trajectories))}


def summary_of(
    posterior: Posterior, event_reader: EventReader | None = None, trajectories: Sequence[Trajectory] = ()
) -> Summary:
    forbidden, draws = posterior.forbidden, posterior.draws
    added = tuple(
        AddedAtom(str(replace(atom, label=None)), atom.label or "", loop)
        for atom, loop in zip(forbidden.atoms, forbidden.loops, strict=True)
    )
    moments = _moments(posterior, event_reader, trajectories) if event_reader else {}
    return Summary(
        posterior.machine.name,
        posterior.constraint.name if posterior.constraint else None,
        added,
        forbidden.unproved,
        tuple(_hole(posterior, i, hole, moments) for i, hole in enumerate(posterior.holes)),
        posterior.pressed,
        _pairs(posterior),
        Convergence(
            posterior.converged,
            draws.sweeps,
            finite(draws.r_hat.max(initial=0.0)),
            finite(draws.effective.min(initial=np.inf)),
            LARGEST_R_HAT,
            float(LEAST_DRAWS),
        ),
        posterior.demonstrations,
        posterior.demonstrated_steps,
        posterior.played_steps,
        posterior.answers,
        _ratios(posterior),
    )


def _ratios(posterior: Posterior) -> tuple[RatioRecord, ...]:
    """To the weight that is known best beside its size; none unless the machine is a reward of terms."""
    x, names = posterior.draws.assignments, posterior.machine.hole_names
    if not pays_terms(posterior.machine) or len(names) < 2:
        return ()
    known = int(np.argmax(np.abs(x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)))
    divisor = np.where(np.abs(x[:, known]) > 1e-9, x[:, known], 1e-9)
    return tuple(
        RatioRecord(name, names[known], *map(float, np.quantile(x[:, i] / divisor, INTERVAL)))
        for i, name in enumerate(names)
        if i != known
    )


def _hole(
    posterior: Posterior, index: int, hole: HoleSummary, moments: dict[tuple[int, int], dict[str, Any]]
) -> HoleRecord:
    after, before = posterior.draws.assignments[:, index], posterior.prior_draws[:, index]
    edges = _edges(np.concatenate([after, before]), spaces(posterior.machine)[index].whole)
    steps = tuple(replace(step, **moments.get((step.demonstration, step.step), {})) for step in hole.steps)
    return HoleRecord(
        **(vars(hole) | {"steps": steps}),
        value=float(posterior.values[hole.name]),
        extent=_ends(edges),
        drawn=tuple(np.histogram(after, edges)[0].tolist()),
        before=tuple(np.histogram(before, edges)[0].tolist()),
    )


def _edges(values: Floats, whole: bool) -> Floats:
    """Bins over all the values; those of a whole-number hole have whole numbers in their middles."""
    low, high = float(values.min()), float(values.max())
    if whole:
        width = max(1, math.ceil((high - low + 1) / BINS))
        return np.arange(low - 0.5, high + 0.5 + width, width)
    if high - low < 1e-9:  # an equality pins it
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, BINS + 1)


def _ends(edges: npt.NDArray[Any]) -> tuple[float, float]:
    return float(edges[0]), float(edges[-1])


def _pairs(posterior: Posterior) -> tuple[PairRecord, ...]:
    column = {name: i for i, name in enumerate(posterior.machine.hole_names)}
    listed = []
    for pair in posterior.tradeoffs:
        x, y = (posterior.draws.assignments[:, column[name]] for name in (pair.first, pair.second))
        cells, across, up = np.histogram2d(x, y, CELLS)
        rows = tuple(tuple(row) for row in cells.T.astype(int).tolist())
        listed.append(PairRecord(pair.first, pair.second, pair.correlation, _ends(across), _ends(up), rows))
    return tuple(listed)


def _moments(
    posterior: Posterior, event_reader: EventReader, trajectories: Sequence[Trajectory]
) -> dict[tuple[int, int], dict[str, Any]]:
    """What happened at the steps that decided a hole, under the values that pay: the last fields of a `DecidingStep`."""
    machine = posterior.concrete
    rules = {label: str(replace(rule, name=None)) for _, rule, label in machine.rules}
    wanted = {(step.demonstration, step.step) for hole in posterior.holes for step in hole.steps}
    moments: dict[tuple[int, int], dict[str, Any]] = {}
    for index in sorted({demonstration for demonstration, _ in wanted}):
        traced = trace(machine, event_reader, trajectories[index], machine.values())
        for step in (step for demonstration, step in wanted if demonstration == index):
            moment = traced.steps[step]
            rule = moment.fired.rule if moment.fired else ""
            events = tuple(map(str, moment.happened))
            moments[index, step] = {"events": events, "rule": rule, "text": rules.get(rule, "")}
    return moments


# Draws


@dataclass(frozen=True, eq=False)
class StoredDraws:
    """Draws of a posterior as a file holds them."""

    holes: tuple[str, ...]
    draws: Floats  # [C, N, H]
    idle: Floats  # [C, N]
    prior: Floats  # [P, H]


def stored_draws(posterior: Posterior) -> StoredDraws:
    """At most `MOST_DRAWS` draws, evenly chosen, as many of each ensemble."""
    draws, (ensembles, walkers, _) = posterior.draws, posterior.draws.walkers.shape
    by_ensemble = _by_ensemble(draws.assignments, ensembles, walkers)
    idle = _by_ensemble(draws.idle[:, None], ensembles, walkers)[..., 0]
    count = by_ensemble.shape[1]
    rows = np.linspace(0, count - 1, min(count, max(1, MOST_DRAWS // ensembles))).astype(np.intp)
    return StoredDraws(posterior.machine.hole_names, by_ensemble[:, rows], idle[:, rows], posterior.prior_draws)


def _by_ensemble(draws: Floats, ensembles: int, walkers: int) -> Floats:
    """[C, N, H] of draws [S, H] that go through all walkers of all ensembles after each sweep."""
    width = draws.shape[1]
    return np.moveaxis(draws.reshape(-1, ensembles, walkers, width), 1, 0).reshape(ensembles, -1, width)


def draws_bytes(posterior: Posterior) -> bytes:
    """A safetensors file: draws [S, H], idle [S], ensemble [S], prior [P, H]."""
    kept = stored_draws(posterior)
    ensembles, count, holes = kept.draws.shape
    arrays: dict[str, npt.NDArray[Any]] = {
        "draws": kept.draws.reshape(-1, holes),
        "idle": kept.idle.reshape(-1),
        "ensemble": np.repeat(np.arange(ensembles, dtype=np.int64), count),
        "prior": kept.prior,
    }
    return pack(arrays, {"format": FORMAT, "holes": list(kept.holes)})


def read_draws(path: Path) -> StoredDraws:
    """What `draws_bytes` gave; anything else is refused."""
    try:
        arrays, about = unpack(read_whole(path, MOST_WEIGHTS))
        if about.get("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        return _checked(arrays, about.get("holes"))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}; give the draws that `srm infer` wrote") from None
    except ValueError as error:
        problem = str(error).splitlines()[0]
    raise RunError(f"{path} holds no draws of a posterior: {problem}; make it again with `srm infer`")


def _checked(arrays: dict[str, npt.NDArray[Any]], holes: Any) -> StoredDraws:
    named = isinstance(holes, list) and all(isinstance(name, str) and name.isidentifier() for name in holes)
    if not named or not holes or len(set(holes)) < len(holes):
        raise ValueError("its holes have no names of their own")
    kinds = {"draws": np.float64, "idle": np.float64, "ensemble": np.int64, "prior": np.float64}
    if set(arrays) != set(kinds) or any(arrays[name].dtype != kind for name, kind in kinds.items()):
        raise ValueError(f"its arrays are not {', '.join(kinds)}")
    draws, idle, ensemble, prior = (arrays[name] for name in kinds)
    size = len(draws)
    shapes = ((size, len(holes)), (size,), (size,), (len(prior), len(holes)))
    if size == 0 or any(
        array.shape != shape for array, shape in zip((draws, idle, ensemble, prior), shapes, strict=True)
    ):
        raise ValueError("its arrays do not fit together")
    if not all(np.isfinite(array).all() for array in (draws, idle, prior)):
        raise ValueError("a draw is not a finite number")
    ensembles = int(ensemble[-1]) + 1
    even = 1 <= ensembles <= size and size % ensembles == 0
    if not even or (ensemble != np.repeat(np.arange(ensembles), size // ensembles)).any():
        raise ValueError("its ensembles are not of one size")
    return StoredDraws(tuple(holes), draws.reshape(ensembles, -1, len(holes)), idle.reshape(ensembles, -1), prior)


def to_arviz(kept: StoredDraws) -> Any:
    """The draws as ArviZ takes them: a chain for each ensemble, a variable for each hole."""
    arviz = require("arviz", "to_arviz")
    groups = {
        "posterior": {name: kept.draws[:, :, i] for i, name in enumerate(kept.holes)},
        "prior": {name: kept.prior[None, :, i] for i, name in enumerate(kept.holes)},
    }
    # From version 1 on groups are one argument, and what comes back is a DataTree.
    return arviz.from_dict(**groups) if hasattr(arviz, "InferenceData") else arviz.from_dict(groups)
