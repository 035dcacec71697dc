"""The domains that ship. One more is a folder beside them with a `domain.py`, and a line here.

A domain is imported when it is first asked for. Whoever needs something that only a domain knows asks one of these:

    domain_named("minigrid")        by the name of its vocabulary, as files and flags have it
    KnownVocabularies()             its vocabulary, or that of an installed package
    domain_of(vocabulary)           by the words a task speaks
    domain_of_env(env)              by an environment
    domain_of_id(env_id)            by the name of one
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import Distribution
from itertools import chain
from typing import TYPE_CHECKING

from srm.domains.base import Domain
from srm.installed import additions
from srm.machine.vocabulary import find_vocabulary

if TYPE_CHECKING:
    import gymnasium

    from srm.machine.vocabulary import Vocabulary

MODULES = {  # by the name of the vocabulary
    "minigrid": "srm.domains.minigrid.domain",
    "lunarlander": "srm.domains.control.lunarlander.domain",
    "hopper": "srm.domains.control.hopper.domain",
    "highway": "srm.domains.control.highway.domain",
}
DEFAULT = "minigrid"  # what is meant where no vocabulary is named


@cache
def _load(name: str) -> Domain:
    domain: Domain = import_module(MODULES[name]).DOMAIN
    assert domain.vocabulary.name == name, f"{MODULES[name]} speaks {domain.vocabulary.name}"
    return domain


class KnownVocabularies(Mapping[str, "Vocabulary"]):
    """Those of the domains and of installed packages, which are loaded when they are named."""

    def __getitem__(self, name: str) -> Vocabulary:
        domain = domain_named(name)
        vocabulary = find_vocabulary(name) if domain is None else domain.vocabulary
        if vocabulary is None:
            raise KeyError(name)
        return vocabulary

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*MODULES, *additions())))

    def __len__(self) -> int:
        return len(list(iter(self)))


def domains() -> tuple[Domain, ...]:
    return tuple(map(_load, MODULES))


def domain_named(name: str) -> Domain | None:
    return _load(name) if name in MODULES else None


def domain_of(vocabulary: Vocabulary) -> Domain | None:
    """None for the words of somebody's own task, also if they took the name of ours."""
    domain = domain_named(vocabulary.name)
    return domain if domain is not None and domain.vocabulary == vocabulary else None


def domain_of_env(env: gymnasium.Env) -> Domain | None:
    return next((domain for domain in domains() if domain.owns(env)), None)


def domain_of_id(env_id: str) -> Domain | None:
    """Of all names that begin as its environments do or, where they share no beginning, of those that it lists."""
    for domain in domains():
        listed = chain.from_iterable(domain.environments.values())
        if env_id.startswith(domain.prefix) if domain.prefix else env_id in listed:
            return domain
    return None


def register_environments(env_id: str) -> None:
    """Makes Gymnasium know an environment, and those of every domain that shares a prefix. Packages of the others are imported only where one of their
    environments is named: highway-env takes two seconds of a processor."""
    for domain in domains():
        if domain.prefix or domain is domain_of_id(env_id):
            domain.register()


def packages() -> tuple[str, ...]:
    """Distributions that decide how an episode goes, as many of them as are installed."""
    named = dict.fromkeys(name for domain in domains() for name in domain.packages)
    return tuple(name for name in named if any(Distribution.discover(name=name)))
