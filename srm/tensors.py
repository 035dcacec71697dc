"""Arrays by name and a few words about them, as the bytes of a safetensors file. Nothing is unpickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from srm.files import parse_json


def pack(arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> bytes:
    contiguous = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    return save(contiguous, metadata={"srm": json.dumps(dict(about))})


def unpack(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `pack` was given; ValueError, in one line, for anything else."""
    try:
        arrays = load(content)
    except SafetensorError:
        raise ValueError(f"it is truncated, or no weights at all ({len(content)} bytes)") from None
    except (ValueError, TypeError, KeyError):
        raise ValueError("it holds numbers of a type that this program never writes") from None
    try:
        header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")])
        about = parse_json(header["__metadata__"]["srm"])
    except (KeyError, TypeError):
        raise ValueError("it holds numbers that another program wrote") from None
    if not isinstance(about, dict):
        raise ValueError("it holds numbers that another program wrote")
    return arrays, about
