"""What was compiled when the package was installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from srm.errors import SrmError


@cache
def extension(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise SrmError(
            f"{name} is missing; install the package (`make setup`, or `pip install .`), which builds it"
        ) from error
