"""Integrals of powers of the density and of squared derivatives, in the attribute's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import SchemeError, check_positive, check_within
from dpcore.functionals.base import Curvature, Density, Expansion, Functional, Influence, needs_degree, nodes

_TINY = 1e-90  # the third power of its inverse is still a number


@dataclass(frozen=True)
class IntegratedSquare(Functional):
    """int (f^(m))^2, m = 0..3; per unit of x to the power 2m + 1.

    T(h) = 2 int f^(m) h^(m), Q(h) = int (h^(m))^2, no remainder.
    Smooth for m = 0; integration by parts leaves point values at the ends for m >= 1.
    """

    m: int

    name = "integrated_square"
    example = "integrated_square(0)"

    def __post_init__(self) -> None:
        check_within(0, 3, m=self.m)
        if self.m != int(self.m):
            raise SchemeError(f"m of integrated_square must be 0, 1, 2 or 3, got {self.m}")

    @property
    def unit(self) -> float:  # type: ignore[override]
        return -1 - 2 * self.m

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "smooth" if self.m == 0 else "atomic"

    @property
    def index(self) -> int | None:
        return int(self.m) - 1 if self.m else None

    @property
    def is_quadratic(self) -> bool:
        return True

    def refuses(self, lower: float, upper: float, degree: int | None = None) -> str | None:
        return needs_degree(self.m, degree)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return (1 / (upper - lower) if self.m == 0 else 0.0), np.inf  # Cauchy-Schwarz: the uniform is flattest

    def expand(self, density: Density) -> Expansion:
        order = int(self.m)
        derivative = density.derivative(order)
        x, w = nodes(density.lower, density.upper, density.breakpoints)
        value = float(np.sum(w * derivative(x) ** 2))
        influence = Influence.of_density(density, (order, lambda u: 2 * derivative(u)))
        return Expansion(value, influence, Curvature(((order, lambda u: np.ones(np.shape(u))),)))


@dataclass(frozen=True)
class PowerIntegral(Functional):
    """int f^q, q > 0 and not 1; per unit of x to the power q - 1.

    T(h) = int q f^{q-1} h, Q(h) = q (q - 1) / 2 int f^{q-2} h^2.
    """

    q: float

    name = "power_integral"
    example = "power_integral(3)"

    def __post_init__(self) -> None:
        check_positive(q=self.q)
        if self.q == 1:
            raise SchemeError("q of power_integral must differ from 1: int f is always 1")

    @property
    def unit(self) -> float:  # type: ignore[override]
        return 1 - self.q

    @property
    def is_quadratic(self) -> bool:
        return self.q == 2

    @property
    def needs_positive(self) -> bool:  # type: ignore[override]
        return self.q < 2

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        uniform = (upper - lower) ** (1 - self.q)  # Jensen
        return (uniform, np.inf) if self.q > 1 else (0.0, uniform)

    def expand(self, density: Density) -> Expansion:
        q = self.q

        def power(x: Any, exponent: float) -> np.ndarray:
            f = density.pdf(x)
            # A whole power of a raw estimate keeps its sign; other powers take only what is above zero.
            return f**exponent if float(exponent).is_integer() and exponent >= 0 else np.maximum(f, _TINY) ** exponent

        x, w = nodes(density.lower, density.upper, density.breakpoints)
        influence = Influence.of_density(density, (0, lambda u: q * power(u, q - 1)))
        curvature = Curvature(((0, lambda u: q * (q - 1) / 2 * power(u, q - 2)),))
        return Expansion(float(np.sum(w * power(x, q))), influence, curvature)
