"""How a mechanism reads its parameters back from a scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dpcore.errors import SchemeError


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Raise SchemeError, with the mechanism's name, where what is read is missing or of another type."""
    try:
        yield
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise SchemeError(
            f"{name} parameters are incomplete or malformed ({type(error).__name__}: {error}); leave out the client table "
            "to have them computed"
        ) from None


def integer(value: Any) -> int:
    """Return an integer; raises TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected an integer, got {value!r}")
    return value


def integers(values: Sequence[Any]) -> tuple[int, ...]:
    """Return integers; raises TypeError for anything else."""
    return tuple(integer(value) for value in values)
