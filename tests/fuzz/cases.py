"""Damaged files of every kind that people hand to each other. A case is a target and a number: the same two give the same files.

`write_seeds` makes whole inputs once; `damage` copies those of a target and changes one file; `TARGETS` says who reads them.
"""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from srm.cli import main
from srm.domains import demonstrations as demos
from srm.infer.posterior.store import read_draws
from srm.machine.importer.writer import import_reward_machine
from srm.machine.language.parse import library, load, parse
from srm.report.compare.collect import find_runs
from srm.report.compare.measure import compare
from srm.report.compare.page import write_comparison
from srm.report.run.inference import write_posterior_report
from srm.report.run.learning import write_report
from srm.runs.folder import last_checkpoint
from srm.runs.policy import read_policy
from srm.runs.run import Run
from srm.suites.runs import claimed, reached, runs_of
from srm.suites.suite import Suite, curve, read_suite
from tests.cli.test_infer import QUICK
from tests.cli.test_train import SMALL
from tests.machine.language.test_fuzz import BITS, SHIPPED
from tests.machine.test_importer import COFFEE
from tests.report.sample import write_run

ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 0.5, 1e308, -1e308, 1e-320, 2**62, 10**400, float("nan"), float("inf"), "", "\ud800", "\0"),
    *("x" * 5000, [], {}, [[]], {"": None}, [1, 2], ["a"]),
)
SUITE = Suite("small", "Small", {name: curve(name, "train DoorKey-5x5 --frames 64") for name in ("a", "b")})
SUITE_TOML = (
    'title = "Two"\nseeds = 2\n[curves]\na = "train DoorKey-5x5 --frames 64"\nb = "learn doorkey --frames 64"\n'
)


@dataclass(frozen=True)
class Target:
    """Whose files are damaged, which of them, and who reads them."""

    seed: str  # folder below that of the seeds
    files: tuple[str, ...]  # patterns
    read: Callable[[Path], object]


def write_seeds(folder: Path) -> None:
    """Whole inputs, each kind in a folder of its own."""
    for name, texts in {
        "machine": dict(zip((f"{name}.srm" for name in library()), SHIPPED, strict=True)),
        "rival": {"coffee.txt": COFFEE},
        "toml": {"suite.toml": SUITE_TOML},
    }.items():
        (folder / name).mkdir(parents=True)
        for file, text in texts.items():
            (folder / name / file).write_text(text)
    write_run(folder / "learn", episodes=1, demonstrations=2)
    for place in ("a/seed0", "b/seed0"):
        shutil.copytree(folder / "learn", folder / "suite" / place)
    (folder / "suite/suite.json").write_text(
        json.dumps(
            {"name": "small", "title": "Small", "scale": 1, "curves": {n: c.command for n, c in SUITE.curves.items()}}
        )
    )
    (folder / "demonstrations").mkdir()
    shutil.copy(folder / "learn/demonstrations.npz", folder / "demonstrations")
    with redirect_stdout(io.StringIO()):
        assert main(["train", "DoorKey-5x5", "--frames", "200", "-o", str(folder / "train"), *SMALL]) == 0
        assert main(["infer", "doorkey", "-o", str(folder / "infer"), *QUICK]) in (0, 1)


# Who reads


def _machine(folder: Path) -> None:
    for path in folder.glob("*.srm"):
        machine = load(path)
        assert parse(str(machine)) == machine


def _demonstrations(folder: Path) -> None:
    demos.load(folder / "demonstrations.npz")


def _resume(folder: Path) -> None:
    last_checkpoint(folder)
    Run.resume(folder, frames=400).writer.close()


def _policy(folder: Path) -> None:
    trained = read_policy(folder)
    envs = trained.environment(None).make_envs(1, 0)
    try:
        trained.net(envs)
    finally:
        envs.close()


def _infer(folder: Path) -> None:
    read_draws(folder / "draws.safetensors")
    write_posterior_report(folder)


def _suite(folder: Path) -> None:
    for run in runs_of(SUITE, folder, 1):
        reached(run)
    with claimed(SUITE, folder):
        write_comparison(compare(find_runs([folder]), 0.8), folder / "report", False)


TARGETS = {
    "machine": Target("machine", ("*.srm",), _machine),
    "demonstrations": Target("demonstrations", ("*.npz",), _demonstrations),
    "report": Target("learn", ("*.json", "log.csv", "*.srm"), write_report),
    "resume": Target("train", ("config.json", "log.csv", "summary.json", "checkpoint/*"), _resume),
    "policy": Target("train", ("config.json", "policy.safetensors"), _policy),
    "posterior": Target("infer", ("*.json", "*.srm", "draws.safetensors"), _infer),
    "suite": Target("suite", ("suite.json", "*/*/config.json", "*/*/log.csv", "*/*/summary.json"), _suite),
    "suite file": Target("toml", ("suite.toml",), lambda folder: read_suite(folder / "suite.toml")),
    "rival": Target("rival", ("*.txt",), lambda folder: import_reward_machine(folder / "coffee.txt")),
}


# What is damaged


def damage(seeds: Path, name: str, number: int, folder: Path) -> Path:
    """The files of a case, in a new folder; returns the one that was changed."""
    target, rng = TARGETS[name], random.Random(f"{name} {number}")
    shutil.copytree(seeds / target.seed, folder)
    path = rng.choice(sorted(path for pattern in target.files for path in folder.glob(pattern)))
    for other in folder.glob("*.srm") if name == "machine" else ():
        if other != path:
            other.unlink()
    content = path.read_bytes()
    if rng.random() < 0.3:
        path.write_bytes(_bytes(content, rng))
    elif path.suffix == ".json":
        path.write_text(json.dumps(_value(json.loads(content), rng)))
    elif path.suffix == ".safetensors":
        path.write_bytes(_weights(content, rng))
    elif path.suffix == ".npz":
        path.write_bytes(_archive(content, rng))
    else:
        path.write_text(_text(content.decode(), rng), errors="surrogatepass")
    return path


def _bytes(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        begin = rng.randrange(len(changed) + 1)
        end = min(len(changed), begin + rng.choice((0, 1, 8, 200)))
        changed[begin:end] = rng.choice((b"", rng.randbytes(end - begin), changed[begin:end] * 2, b"\0", b"\xff"))
    return bytes(changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.1 else changed)


def _text(text: str, rng: random.Random) -> str:
    """Words of the language, numbers and lines, put in, cut, doubled or moved."""
    for _ in range(rng.randint(1, 4)):
        begin = rng.randrange(len(text) + 1)
        end = min(len(text), begin + rng.choice((0, 1, 5, 12, 200)))
        piece = rng.choice(("", text[begin:end] * 2, rng.choice(BITS), str(rng.choice(ODD)), "," * 3, "nan", "1e400"))
        text = text[:begin] + piece + text[end:]
    return text


def _value(value: Any, rng: random.Random) -> Any:
    """One value somewhere within, in the place of another, or gone."""
    inner = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if not inner or rng.random() < 0.1:
        return rng.choice(ODD)
    key = rng.choice(inner)
    if rng.random() < 0.1:
        del value[key]
    elif rng.random() < 0.05:
        for _ in range(rng.choice((30, 300))):
            value[key] = [value[key]]
    else:
        value[key] = _value(value[key], rng)
    return value


def _weights(content: bytes, rng: random.Random) -> bytes:
    """The header of a safetensors file, or what it says in JSON of its own, with the length that then fits."""
    size = int.from_bytes(content[:8], "little")
    header, rest = json.loads(content[8 : 8 + size]), content[8 + size :]
    if rng.random() < 0.6:
        header["__metadata__"]["srm"] = json.dumps(_value(json.loads(header["__metadata__"]["srm"]), rng))
    else:
        header = _value(header, rng)
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + rest


def _archive(content: bytes, rng: random.Random) -> bytes:
    """One array of other values, shape or kind, mostly with the digest that then fits."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive}
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    arrays[name] = rng.choice(
        [
            array.reshape(-1)[: rng.randrange(array.size + 1)],
            array[..., None],
            np.zeros(array.shape, rng.choice(("f8", "i8", "u1", "U3", "c16", "M8[s]"))),
            np.array(json.dumps(_value(json.loads(str(arrays["about"])), rng))),
            np.full(array.shape, -1 if array.dtype.kind in "if" else array.flat[0], array.dtype),
            np.full(array.shape, np.iinfo(np.int64).max),
        ]
    )
    if rng.random() < 0.8:
        arrays["digest"] = np.array(demos._digest({key: value for key, value in arrays.items() if key != "digest"}))
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    return packed.getvalue()
