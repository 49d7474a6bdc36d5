"""Integers that a mechanism reads back from a scheme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def integer(value: Any) -> int:
    """Return an integer; raises TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected an integer, got {value!r}")
    return value


def integers(values: Sequence[Any]) -> tuple[int, ...]:
    """Return integers; raises TypeError for anything else."""
    return tuple(integer(value) for value in values)
