"""Who shows how a task is done. An expert is one of

    def plan(env): ...                all actions of an episode at once, of an environment that was just reset; None: nothing solves it
    def act(observation): ...         one action a step, from what the environment observes
    def act(env, observation): ...    the same, for one that looks into the environment
    class Actor: ...                  for one that remembers: made anew for every episode, and called with each observation

A function of `env` alone plans; every other one acts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srm.errors import SrmError, TaskError
from srm.seeding import stream

if TYPE_CHECKING:
    import gymnasium

    from srm.domains.base import Expert
    from srm.trajectory import Observations

_FORMS = "write it as plan(env), act(observation) or act(env, observation)"


def plans(expert: Expert) -> bool:
    """Whether it returns the actions of a whole episode."""
    return not isinstance(expert, type) and _arguments(expert) == ["env"]


def plan_of(expert: Expert, env: gymnasium.Env) -> Sequence[Any] | None:
    """The actions of a whole episode."""
    actions = _answer(expert, env)
    if actions is not None and not hasattr(actions, "__len__"):
        raise TaskError(
            f"the expert returned a {type(actions).__name__} for a whole episode, expected a list of actions; "
            "one that returns an action takes `observation`, not `env`"
        )
    return actions


def actor_of(expert: Expert, env: gymnasium.Env, noise: float, seed: int) -> Callable[[Sequence[Observations]], Any]:
    """One episode of an expert that acts: from the observations so far to what to do. A share `noise` of the actions is random."""
    act = _answer(expert) if isinstance(expert, type) else expert
    looks_inside = len(_arguments(act)) == 2
    rng = stream(seed, "noise")
    env.action_space.seed(int(rng.integers(2**31)))

    def choose(observations: Sequence[Observations]) -> Any:
        if noise > 0 and rng.random() < noise:
            return env.action_space.sample()
        given = (env, observations[-1]) if looks_inside else (observations[-1],)
        action = _answer(act, *given)
        known = _as_sampled(env, action)
        if known is None or not env.action_space.contains(known):
            step = len(observations) - 1
            raise TaskError(f"action {step} of the expert is {action!r}, which is not in {env.action_space}")
        return known

    return choose


def _as_sampled(env: gymnasium.Env, action: Any) -> Any:
    """The action in the type and shape that the space asks for: 0.5 for [0.5], a list for an array; None: it has no such form."""
    if env.action_space.shape == ():
        return action
    try:
        return np.asarray(action, env.action_space.dtype).reshape(env.action_space.shape)
    except (TypeError, ValueError):
        return None


def _arguments(expert: Any) -> list[str]:
    try:
        parameters = inspect.signature(expert).parameters.values()
    except (TypeError, ValueError):
        raise TaskError(f"the expert {expert!r} does not say what it takes; {_FORMS}") from None
    needed = [
        p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) not in (1, 2):
        raise TaskError(f"the expert takes {len(needed)} arguments ({', '.join(needed)}); {_FORMS}")
    return needed


def _answer(expert: Any, *given: Any) -> Any:
    try:
        return expert(*given)
    except SrmError:
        raise
    except Exception as error:  # whatever the user's expert does
        raise TaskError(f"the expert raises {type(error).__name__}: {error}; mend it") from error
