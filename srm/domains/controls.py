"""How a person plays an environment: which keys act, and what is done while no key is pressed.

A task may have controls of its own, else its domain's are taken, else those of the environment (`get_keys_to_action`, as Gymnasium's own
player asks for), else a number key for each action. Keys are named as browsers name them: "ArrowLeft", " ", "a".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srm.domains.registry import domain_of
from srm.errors import TaskError

if TYPE_CHECKING:
    import gymnasium

    from srm.domains.base import Task

MOST_ACTIONS = 36  # that can be named by a key: 0 to 9, then a to z
_KEYS = "1234567890abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Controls:
    """The keys of an environment with discrete actions."""

    keys: Mapping[tuple[str, ...], int]  # held together -> action
    noop: int | None = None  # what is done in real time while no key is held; None: the world waits
    turns: bool = True  # the world waits for a key, unless real time is asked for

    def __post_init__(self) -> None:
        for keys, action in self.keys.items():
            if not keys or action < 0:
                raise TaskError(f"controls: {keys} -> {action}; give one key or more for an action that is 0 or more")


def controls_of(task: Task, env: gymnasium.Env) -> Controls:
    """Those of the task, of its domain, of the environment, or numbers."""
    own = task.controls or _of_domain(task)
    if own is not None:
        return own
    count = action_count(task, env)
    keys = _of_environment(env, count)
    return Controls(keys or {(key,): action for action, key in enumerate(_KEYS[:count])}, noop=0 if keys else None)


def action_count(task: Task, env: gymnasium.Env) -> int:
    """How many actions there are to choose from; an environment that has no list of them cannot be played by keys."""
    count = getattr(env.action_space, "n", None)
    if count is None:
        raise TaskError(
            f"{task.env_id} has actions {env.action_space}, and keys choose among a few; wrap it so that they are Discrete"
        )
    return int(count)


def action_names(task: Task, env: gymnasium.Env) -> list[str]:
    """What each action is called."""
    count, domain = action_count(task, env), domain_of(task.vocabulary)
    if domain is not None and len(domain.actions) >= count:
        return list(domain.actions[:count])
    meanings = getattr(env.unwrapped, "get_action_meanings", None)
    names = [str(name).lower() for name in meanings()] if callable(meanings) else []
    return names if len(names) == count else [f"action {action}" for action in range(count)]


def _of_domain(task: Task) -> Controls | None:
    domain = domain_of(task.vocabulary)
    return None if domain is None else domain.controls


def _of_environment(env: gymnasium.Env, count: int) -> dict[tuple[str, ...], int]:
    """Gymnasium lets an environment write a combination as text, as a key's code, or as a tuple of these."""
    mapping = getattr(env.unwrapped, "get_keys_to_action", None)
    keys: dict[tuple[str, ...], int] = {}
    for combination, action in (mapping() if callable(mapping) else {}).items():
        names = tuple(dict.fromkeys(_names(combination)))
        if names and isinstance(action, int) and 0 <= action < count:
            keys[names] = action
    return keys


def _names(combination: Any) -> Iterable[str]:
    for key in combination if isinstance(combination, tuple | list | str) else [combination]:
        yield chr(key) if isinstance(key, int) and 32 <= key < 127 else str(key)
