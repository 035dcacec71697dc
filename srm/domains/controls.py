"""How a person plays an environment: which keys act, and what is done while no key is pressed.

A task may have controls of its own, else its domain's are taken, else those of the environment (`get_keys_to_action`, as Gymnasium's own
player asks for), else a number key for each action. Keys are named as browsers name them: "ArrowLeft", " ", "a".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srm.domains.registry import domain_of
from srm.errors import TaskError

if TYPE_CHECKING:
    import gymnasium

    from srm.domains.base import Task

_KEYS = "1234567890abcdefghijklmnopqrstuvwxyz"
_ARROWS = {  # as pygame numbers them, before version 2 and since
    273: "ArrowUp",
    274: "ArrowDown",
    275: "ArrowRight",
    276: "ArrowLeft",
    1073741906: "ArrowUp",
    1073741905: "ArrowDown",
    1073741903: "ArrowRight",
    1073741904: "ArrowLeft",
}


@dataclass(frozen=True)
class Controls:
    """The keys of an environment with discrete actions."""

    keys: Mapping[tuple[str, ...], int]  # held together -> action
    noop: int | None = None  # what is done in real time while no key is held; None: the world waits
    turns: bool = True  # the world waits for a key, unless real time is asked for
    names: tuple[str, ...] = ()  # of the actions, for the buttons; those of the domain or the environment unless given

    def __post_init__(self) -> None:
        for keys, action in self.keys.items():
            if not keys or action < 0:
                raise TaskError(f"controls: {keys} -> {action}; give one key or more for an action that is 0 or more")


def controls_of(task: Task, env: gymnasium.Env) -> Controls:
    """Those of the task, of its domain, of the environment, or numbers."""
    count = action_count(task, env)
    own = task.controls or _of_domain(task)
    if own is not None:
        return own
    keys = _of_environment(env, count)
    noop = keys.pop((), None)
    named = {action for combination, action in keys.items() if len(combination) == 1}
    free = [key for key in _KEYS if (key,) not in keys]
    others = [action for action in range(count) if action not in named]
    return Controls({**keys, **{(key,): action for key, action in zip(free, others, strict=False)}}, noop)


def action_count(task: Task, env: gymnasium.Env) -> int:
    """How many actions there are to choose from; an environment that has no list of them cannot be played by keys."""
    count = getattr(env.action_space, "n", None)
    if count is None or getattr(env.action_space, "start", 0) != 0:
        raise TaskError(
            f"{task.env_id} has actions {env.action_space}, and keys choose among a few; wrap it so that they are Discrete, from 0"
        )
    return int(count)


def action_names(task: Task, env: gymnasium.Env) -> list[str]:
    """What each action is called."""
    count, domain = action_count(task, env), domain_of(task.vocabulary)
    if task.controls is not None and len(task.controls.names) == count:
        return list(task.controls.names)
    if domain is not None and len(domain.actions) >= count:
        return list(domain.actions[:count])
    meanings = getattr(env.unwrapped, "get_action_meanings", None)
    names = [str(name).lower() for name in meanings()] if callable(meanings) else []
    return names if len(names) == count else [f"action {action}" for action in range(count)]


def _of_domain(task: Task) -> Controls | None:
    domain = domain_of(task.vocabulary)
    return None if domain is None else domain.controls


def _of_environment(env: gymnasium.Env, count: int) -> dict[tuple[str, ...], int]:
    """Gymnasium lets an environment write a combination as text, as a key's code, or as a tuple of these; of no keys at all, what is done then."""
    mapping = getattr(env.unwrapped, "get_keys_to_action", None)
    keys: dict[tuple[str, ...], int] = {}
    for combination, action in (mapping() if callable(mapping) else {}).items():
        listed = combination if isinstance(combination, tuple | list | str) else (combination,)
        names = tuple(dict.fromkeys(map(_name, listed)))
        if None not in names and isinstance(action, int) and 0 <= action < count:
            keys[names] = action  # type: ignore[index]
    return keys


def _name(key: Any) -> str | None:
    """What a browser calls a key; None: it has no such key."""
    if isinstance(key, str):
        return key
    return chr(key) if isinstance(key, int) and 32 <= key < 127 else _ARROWS.get(key)
