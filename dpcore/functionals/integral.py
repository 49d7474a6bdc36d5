"""Integrals of the density: its powers, squared derivatives, differential entropy and Fisher information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import SchemeError, check_positive, check_within
from dpcore.functionals.base import Curvature, Density, Expansion, Functional, Influence, needs_degree, nodes

_TINY = 1e-90  # the third power of its inverse is still a number
_LEAST_DENSITY = 1e-300  # in a logarithm


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


@dataclass(frozen=True)
class Entropy(Functional):
    """-int f log f in nats, x in the attribute's unit; at most log(upper - lower).

    T(h) = -int (1 + log f) h, Q(h) = -int h^2 / (2 f).  It is the negative of the functional that the source studies.
    """

    name = "entropy"
    unit = "nats"
    needs_positive = True

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return -np.inf, float(np.log(upper - lower))

    def expand(self, density: Density) -> Expansion:
        from scipy.special import xlogy

        def positive(u: Any) -> np.ndarray:
            return np.maximum(density.pdf(u), _LEAST_DENSITY)

        x, w = nodes(density.lower, density.upper, density.breakpoints)
        f = np.maximum(density.pdf(x), 0.0)
        influence = Influence.of_density(density, (0, lambda u: -1 - np.log(positive(u))))
        return Expansion(-float(np.sum(w * xlogy(f, f))), influence, Curvature(((0, lambda u: -0.5 / positive(u)),)))


@dataclass(frozen=True)
class FisherInformation(Functional):
    """int (f')^2 / f, per unit of x squared: information of one direct observation on a shift of the density.

    With l = f'/f:  T(h) = int 2 l h' - l^2 h,  Q(h) = int (h' - l h)^2 / f.
    Integration by parts leaves 2 l h at the two ends: atomic of index 0 unless the density is flat there.
    It is infinite where the density falls to zero linearly or more steeply; no quadrature detects that.
    """

    name = "fisher_information"
    unit = -2
    kind = "atomic"
    needs_positive = True

    @property
    def index(self) -> int:
        return 0

    def refuses(self, lower: float, upper: float, degree: int | None = None) -> str | None:
        return needs_degree(1, degree)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return 0.0, np.inf

    def expand(self, density: Density) -> Expansion:
        slope = density.derivative(1)

        def positive(u: Any) -> np.ndarray:
            return np.maximum(density.pdf(u), _TINY)

        def score(u: Any) -> np.ndarray:  # l
            return slope(u) / positive(u)

        x, w = nodes(density.lower, density.upper, density.breakpoints)
        value = float(np.sum(w * np.where(density.pdf(x) > _TINY, slope(x) * score(x), 0.0)))
        influence = Influence.of_density(density, (1, lambda u: 2 * score(u)), (0, lambda u: -(score(u) ** 2)))
        curvature = Curvature(
            ((1, lambda u: 1 / positive(u)), (0, lambda u: score(u) ** 2 / positive(u))),
            mixed=((0, 1, lambda u: -2 * score(u) / positive(u)),),
        )
        return Expansion(value, influence, curvature)
