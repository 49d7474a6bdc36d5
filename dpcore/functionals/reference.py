"""What distances are taken to: a density that a scheme can name, or any density, from Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.functionals.base import Density, Function

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True)
class Uniform:
    """The uniform density on [lower, upper]."""

    lower: float
    upper: float

    @property
    def breakpoints(self) -> np.ndarray:
        return np.array([self.lower, self.upper])

    def pdf(self, x: Any) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        return np.where((x >= self.lower) & (x <= self.upper), 1 / (self.upper - self.lower), 0.0)

    def cdf(self, x: Any) -> np.ndarray:
        return np.clip((np.asarray(x, dtype=np.float64) - self.lower) / (self.upper - self.lower), 0.0, 1.0)

    def quantile(self, t: Any) -> np.ndarray:
        return self.lower + (self.upper - self.lower) * np.asarray(t, dtype=np.float64)

    def derivative(self, order: int) -> Function:
        return self.pdf if order == 0 else lambda x: np.zeros(np.shape(x))


_NAMED: dict[str, Callable[[float, float], Density]] = {"uniform": Uniform}
REFERENCES = tuple(_NAMED)


@dataclass(frozen=True, eq=False)
class Reference:
    """A density with a name of your own, which the functional's name contains: `Reference("last_year", estimate.density)`.

    name: lower-case letters, digits and _, none of the names in schemes.
    """

    name: str
    density: Density

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name in REFERENCES:
            raise SchemeError(
                f"a reference's name must be lower-case letters, digits and _, and not {', '.join(REFERENCES)}; "
                f"got {self.name[:40]!r}"
            )


def check(reference: Any) -> None:
    """Raise SchemeError unless it is a known name or a density."""
    if isinstance(reference, str) and reference in _NAMED:
        return
    density = reference.density if isinstance(reference, Reference) else reference
    if any(not hasattr(density, part) for part in ("lower", "upper", "breakpoints", "pdf", "cdf", "quantile")):
        got = repr(density[:40]) if isinstance(density, str) else f"a {type(density).__name__}"
        raise SchemeError(
            f"reference must be {', '.join(map(repr, REFERENCES))} or, from Python, a density such as an estimate's "
            f"`.density`; got {got}"
        )


def on(reference: Any, lower: float, upper: float) -> Density:
    """Return the density that a reference is on [lower, upper]; raises SchemeError where it lives elsewhere."""
    if isinstance(reference, str):
        return _NAMED[reference](lower, upper)
    density: Density = reference.density if isinstance(reference, Reference) else reference
    if (density.lower, density.upper) != (lower, upper):
        raise SchemeError(
            f"the reference lives on [{density.lower:g}, {density.upper:g}], the attribute on [{lower:g}, {upper:g}]; "
            "give one on the attribute's bounds"
        )
    return density


def refuses(reference: Any, lower: float, upper: float) -> str | None:
    """Return why a reference cannot be one on [lower, upper], or None."""
    try:
        on(reference, lower, upper)
    except SchemeError as error:
        return str(error)
    return None
