"""How a file is damaged: as bytes, or as what it is, so that it gets past the first lines of its reader.

anything         bytes cut, doubled or put in; a link, a folder or nothing in the place of the file
.json .srm ...   values and words of the kind that stand there, or of another
.safetensors     the header; what it says in JSON of its own; the arrays, of other numbers, shapes and types
.npz             the arrays, with the digest that then fits; headers and sizes that lie
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from srm.domains import demonstrations as demos
from tests.machine.language.test_fuzz import BITS

ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 0.5, 1e308, -1e308, 1e-320, 2**62, 10**400, float("nan"), float("inf"), "", "\ud800", "\0"),
    *("x" * 5000, "../../etc/passwd", "<script>alert(1)</script>", "a\nb", [], {}, [[]], {"": None}, [1, 2], ["a"]),
)
NUMBERS = (-1, 0, 1, 3, 255, 10**6, 2**31, 2**53, 0.5, -0.0, 1e15, 1e300, -1e308)
KINDS = ("<f8", "<f4", "<f2", "<i8", "<i4", "<u1", "|b1", ">f8", "<U3", "<c16", "<M8[s]", "|V8")


def damage_file(path: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    if rng.random() < 0.02:
        _replace(path, rng)
        return
    structured = _STRUCTURED.get(path.suffix)
    if structured is None or rng.random() < 0.2:
        path.write_bytes(_bytes(content, rng) if rng.random() < 0.5 else _as_text(content, rng))
        return
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        with contextlib.suppress(ValueError, TypeError, AttributeError, KeyError):  # of what was damaged before
            content = structured(content, rng)
    path.write_bytes(content)


def _replace(path: Path, rng: random.Random) -> None:
    """Something that is no such file."""
    path.unlink()
    match rng.randrange(4):
        case 0:
            path.mkdir()
        case 1:
            path.write_bytes(b"")
        case 2:
            path.symlink_to(rng.choice(("/dev/zero", "/dev/null", "nowhere", path.name)))
        case _:
            with path.open("wb") as file:  # takes no room on the disk
                file.truncate(1 << 40)


def _bytes(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        begin = rng.randrange(len(changed) + 1)
        end = min(len(changed), begin + rng.choice((0, 1, 8, 200)))
        changed[begin:end] = rng.choice((b"", rng.randbytes(end - begin), changed[begin:end] * 2, b"\0", b"\xff"))
    return bytes(changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.1 else changed)


def _as_text(content: bytes, rng: random.Random) -> bytes:
    return _text(content.decode(errors="replace"), rng).encode(errors="surrogatepass")


def _text(text: str, rng: random.Random) -> str:
    """Words of the language, numbers and lines, put in, cut, doubled or moved."""
    for _ in range(rng.randint(1, 4)):
        begin = rng.randrange(len(text) + 1)
        end = min(len(text), begin + rng.choice((0, 1, 5, 12, 200)))
        piece = rng.choice(("", text[begin:end] * 2, rng.choice(BITS), str(rng.choice(ODD)), "," * 3, "nan", "1e400"))
        text = text[:begin] + piece + text[end:]
    return text


def _words(content: bytes, rng: random.Random) -> bytes:
    """One word of a text by another of it, or by one that is odd."""
    text = content.decode(errors="replace")
    words = text.replace("\n", " \n ").split(" ")
    place = rng.randrange(len(words))
    words[place] = rng.choice((rng.choice(words), rng.choice(words), rng.choice(BITS), f"{rng.choice(NUMBERS)}"))
    return " ".join(words).replace(" \n ", "\n").encode(errors="surrogatepass")


def _cells(content: bytes, rng: random.Random) -> bytes:
    """Cells, rows and columns of a table."""
    rows = [line.split(",") for line in content.decode().split("\n")]
    row = rng.choice(rows)
    match rng.randrange(6):
        case 0:
            rows[rng.randrange(len(rows))] = list(rng.choice(rows))
        case 1:
            rows.remove(row)
        case 2:
            place = rng.randrange(len(row))
            rows = [line[:place] + line[place + 1 :] for line in rows]
        case _:
            odd = rng.choice((*NUMBERS, "", "nan", "inf", "1e999", "-0", "0x1", "1_0", '"', "é", "9" * 5000))
            row[rng.randrange(len(row))] = str(odd)
    return "\n".join(map(",".join, rows)).encode()


def _json(content: bytes, rng: random.Random) -> bytes:
    return json.dumps(_value(json.loads(content), rng)).encode()


def _json_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines()
    place = rng.randrange(len(lines))
    lines[place] = _json(lines[place], rng)
    return b"\n".join(lines) + b"\n"


def _value(value: Any, rng: random.Random) -> Any:
    """One value somewhere within, in the place of another, or gone."""
    inner = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if not inner or rng.random() < 0.04:
        alike = isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.6
        return rng.choice(NUMBERS) if alike else rng.choice(ODD)
    key = rng.choice(inner)
    match rng.randrange(25):
        case 0:
            del value[key]
        case 1:
            for _ in range(rng.choice((30, 300))):
                value[key] = [value[key]]
        case 2 if isinstance(value, list):
            value[key:key] = [value[key]] * rng.choice((1, 30))
        case 3:
            value[key] = value[rng.choice(inner)]
        case 4 if isinstance(value, dict):
            value[rng.choice(("x", "", "round", "kind", "__proto__"))] = value.pop(key)
        case _:
            value[key] = _value(value[key], rng)
    return value


def _weights(content: bytes, rng: random.Random) -> bytes:
    """A safetensors file: 8 bytes for the length of a header in JSON, the header, the numbers."""
    size = int.from_bytes(content[:8], "little")
    header, rest = json.loads(content[8 : 8 + size]), bytearray(content[8 + size :])
    names = [name for name, entry in header.items() if name != "__metadata__" and isinstance(entry, dict)]
    match rng.randrange(4):
        case 0 if "srm" in (header.get("__metadata__") or ()):
            about = header["__metadata__"]["srm"]
            header["__metadata__"]["srm"] = json.dumps(_value(json.loads(about), rng))
        case 1:
            header = _value(header, rng)
        case 2 if names:
            entry = header[rng.choice(names)]
            shape = entry.get("shape")
            if isinstance(shape, list):
                entry["shape"] = rng.choice((shape[::-1], [*shape, 1], shape[1:], [0], [2**40, 2**40]))
            entry["dtype"] = rng.choice((entry.get("dtype"), "F64", "F32", "I64", "I32", "F16", "BF16", "BOOL", "U8"))
        case _ if rest:
            odd = rng.choice((float("nan"), float("inf"), -1e38, 0.0))
            piece = struct.pack("<f", odd) if rng.random() < 0.5 else struct.pack("<d", odd)
            at = 8 * rng.randrange(max(1, len(rest) // 8))
            rest[at : at + len(piece)] = piece
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + rest


def _archive(content: bytes, rng: random.Random) -> bytes:
    """One array of other values, shape or kind, mostly with the digest that then fits."""
    try:
        with np.load(io.BytesIO(content)) as archive:
            arrays = {name: archive[name] for name in archive}
    except Exception:  # of a dozen kinds: it was damaged before
        return _bytes(content, rng)
    if rng.random() < 0.2:
        return _lying(arrays, rng)
    name = rng.choice(sorted(arrays))
    _change(arrays, name, rng)
    if rng.random() < 0.9 and "digest" in arrays:
        arrays["digest"] = np.array(demos._digest({key: value for key, value in arrays.items() if key != "digest"}))
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    return packed.getvalue()


def _change(arrays: dict[str, np.ndarray], name: str, rng: random.Random) -> None:
    array = arrays[name]
    if array.dtype.kind == "U" and array.ndim == 0:
        text = str(array)
        with_json = text[:1] in "[{" and rng.random() < 0.9
        arrays[name] = np.array(json.dumps(_value(json.loads(text), rng)) if with_json else _text(text, rng))
        return
    changed = array.copy()
    match rng.randrange(8):
        case 0:
            changed = array.reshape(-1)[: rng.randrange(array.size + 1)]
        case 1:
            changed = array[..., None] if rng.random() < 0.5 else array[None]
        case 2:
            changed = np.zeros(array.shape, rng.choice(KINDS))
        case 3:
            del arrays[name]
            return
        case 4 if array.ndim:
            changed = np.roll(array, 1, axis=rng.randrange(array.ndim))
        case _ if array.size:
            odd = rng.choice((*NUMBERS, np.nan, np.inf))
            with np.errstate(all="ignore"):
                changed.reshape(-1)[rng.randrange(array.size)] = np.array([odd]).astype(array.dtype)[0]
    arrays[name] = changed


def _lying(arrays: dict[str, np.ndarray], rng: random.Random) -> bytes:
    """An archive whose headers say something else than what it holds, or that has members which nobody asked for."""
    packed, liar = io.BytesIO(), rng.choice(sorted(arrays))
    with zipfile.ZipFile(
        packed, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    ) as zipped:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            data = member.getvalue()
            if name == liar:
                shape = rng.choice(("(99999999999,)", "(-1,)", "(2**9,)", "(1e3,)", "()", "((),)", "(" * 300, "(0, 0)"))
                words = {"shape": shape, "fortran_order": "True", "descr": f"'{rng.choice((*KINDS, '|O', '<q99'))}'"}
                told = rng.sample(sorted(words), rng.randint(1, 2))
                header = ", ".join(f"'{w}': {words[w] if w in told else _HONEST[w](array)}" for w in words)
                text = f"{{{header}}}\n".encode()
                body = data[len(data) - array.nbytes :]
                data = b"\x93NUMPY" + bytes((1, 0)) + len(text).to_bytes(2, "little") + text + body
            zipped.writestr(f"{name}.npy", data)
        if rng.random() < 0.3:
            zipped.writestr(rng.choice(("../up.npy", "/tmp/x.npy", "more.npy", "seeds.npy")), b"\0" * 10_000)
    return packed.getvalue()


_HONEST: dict[str, Callable[[np.ndarray], str]] = {
    "shape": lambda array: str(array.shape),
    "fortran_order": lambda array: "False",
    "descr": lambda array: repr(array.dtype.str),
}
_STRUCTURED: dict[str, Callable[[bytes, random.Random], bytes]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".safetensors": _weights,
    ".npz": _archive,
    ".csv": _cells,
    ".srm": _words,
    ".txt": _words,
    ".toml": _words,
}
