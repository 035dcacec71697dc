from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from srm.errors import RunError
from srm.rl.make import LearnerConfig
from srm.runs.config import from_plain, to_plain
from srm.runs.training import Training


@dataclass(frozen=True)
class Inner:
    size: int = 3
    rate: float | None = None


@dataclass(frozen=True)
class Outer:
    kind: Literal["a", "b"] = "a"
    inner: Inner = field(default_factory=Inner)
    where: Path = Path("runs")
    names: tuple[str, ...] = ()


@pytest.mark.parametrize(
    "config",
    [
        Outer(),
        Outer("b", Inner(4, 0.5), Path("x"), ("n",)),
        Training("doorkey", learning=LearnerConfig("agac", "lstm")),
    ],
)
def test_a_config_comes_back_from_json(config: object) -> None:
    plain = json.loads(json.dumps(to_plain(config)))
    assert from_plain(type(config), plain, "config.json") == config


@pytest.mark.parametrize(
    ("plain", "problem"),
    [
        ({"kinds": "a"}, "config.json: kinds is not a field of this version; did you mean kind?"),
        ({"kind": "c"}, "config.json: kind: 'c', expected one of a, b"),
        ({"inner": {"size": "3"}}, "config.json: inner: size: '3', expected int"),
        (
            {"inner": 3},
            "config.json: inner: 3, expected the fields of Inner; it was cut short, or another version wrote it: make the run again",
        ),
        ({"where": 3}, "config.json: where: 3, expected str"),
        ({"names": 3}, "config.json: names: 3, expected a list"),
    ],
)
def test_a_foreign_config_is_refused_with_the_field(plain: dict[str, object], problem: str) -> None:
    with pytest.raises(RunError) as found:
        from_plain(Outer, plain, "config.json")
    assert str(found.value) == problem


def test_what_an_older_version_did_not_know_has_its_default() -> None:
    assert from_plain(Outer, {"inner": {"rate": 2}}, "config.json") == Outer(inner=Inner(rate=2.0))
