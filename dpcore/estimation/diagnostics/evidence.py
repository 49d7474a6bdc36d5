"""Evidence behind an estimate: reports used, level, goodness of fit, discreteness, and sensitivity to malicious clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpcore.errors import SchemeError
from dpcore.estimation import constants

Deviations = float | np.ndarray  # standard errors to either side of a curve, the same at all points or each its own


@dataclass(frozen=True, kw_only=True)
class GoodnessOfFit:
    """Distance of the data from the expected values of an estimate, relative to chance.

    statistic: chi-squared.  degrees: effective degrees of freedom, its mean if the model is right.  threshold: exceeded with
    probability .001 then.  p_value: of the statistic.
    """

    statistic: float
    degrees: float
    threshold: float
    p_value: float

    @property
    def passed(self) -> bool:
        """Whether the fit is not rejected."""
        return self.statistic <= self.threshold

    def __str__(self) -> str:
        return f"chi-squared {self.statistic:.1f} on {self.degrees:.1f} effective degrees of freedom, p = {self.p_value:.2g}"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The test of a stated bound on a second derivative.

    statistic: gain of rougher densities, in standard deviations under the bound.  threshold: exceeded in one of a hundred
    rounds of a density within the bound.
    """

    statistic: float
    threshold: float

    @property
    def passed(self) -> bool:
        """Whether the bound is not rejected."""
        return self.statistic <= self.threshold

    def __str__(self) -> str:
        return (
            f"rougher densities explain the reports better by {self.statistic:.1f} standard deviations, and by more than "
            f"{self.threshold:.1f} once in a hundred rounds by chance"
        )


@dataclass(frozen=True)
class Discreteness:
    """Whether the reports suggest values concentrated on few points.

    peaks: number of intervals that may each be a single value.  share: of the respondents at possible single values.
    lattice: k if values are multiples of 1 / k of the range, else 0.  has_endless_end: whether the density may be unbounded at
    an end.
    """

    peaks: int
    share: float
    lattice: int
    has_endless_end: bool

    @property
    def is_seen(self) -> bool:
        """Whether the reports suggest values concentrated on points."""
        return self.share > 0

    def text(self, width: float, unit: str = "") -> str:
        """Return it in words; width: of the range, in the attribute's unit."""
        if self.lattice:
            step = f"{width / self.lattice:.4g} {unit}".rstrip()
            return f"values {step} apart explain the reports better than a density does"
        if self.is_seen:
            stretches = "1 stretch" if self.peaks == 1 else f"{self.peaks} stretches"
            return f"{stretches}, {self.share:.0%} of the respondents, are indistinguishable from one value each"
        return "a density explains the reports as well as a discrete distribution does"


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """The reports of an estimate, from which comparisons derive the correlation of two estimates.

    aggregate: the fingerprint of the aggregate.  n: its reports.
    weights, reported: for a group (k,), the row w of the inverse of the categorical channel and the reports m by reported
    category of the other attribute, so that w' m is unbiased for the group's reports; None for all clients.
    """

    aggregate: str
    n: int
    weights: np.ndarray | None = None
    reported: np.ndarray | None = None

    @property
    def size(self) -> float:
        """The group's reports, estimated: w' m."""
        return float(self.n) if self.weights is None or self.reported is None else float(self.weights @ self.reported)

    @property
    def error(self) -> float:
        """Its standard error, sqrt(sum w^2 m), without the sampling of the clients; 0 for all clients."""
        return 0.0 if self.weights is None or self.reported is None else float(np.sqrt(self.weights**2 @ self.reported))

    @property
    def effective_n(self) -> float:
        """Number of reports with known category of the same precision as the group's: n P(c)^2 / E w^2."""
        return float(self.n) if self.weights is None else (max(0.0, self.size) / max(self.error, constants.TINY)) ** 2


@dataclass(frozen=True)
class Sensitivity:
    """How far malicious clients can move an estimate, in its unit, by any reports.

    value: the largest influence of one report, max |U(z)| (see `diagnostics.poisoning_sensitivity`).
    is_exact: whether the bound holds for any number of them; else to first order in their share.
    """

    value: float
    is_exact: bool

    def bias(self, beta: float) -> float:
        """Return the most that a share beta of the counted reports, 0 <= beta < 1, has moved the estimate."""
        if not 0 <= beta < 1:
            raise SchemeError(f"beta must be a share of the reports, at least 0 and below 1, got {beta}")
        return self.value * beta / (1 - beta)


class Exposure(Protocol):
    """The effect of one report on the averages that estimates use.

    is_constant: whether it does not depend on other reports, so that bounds of linear functionals are exact.
    """

    @property
    def is_constant(self) -> bool: ...

    def sensitivity(self, weights: np.ndarray) -> float:
        """Return max |U(z)| of a number with these weights of the average reports."""

    def sensitivities(self, weights: np.ndarray) -> np.ndarray:
        """Return max |U(z)| of several functionals, (n,); weights: (n, S)."""

    def reread(self, reading: np.ndarray) -> Exposure:
        """Return it for functionals of other averages: reading (k, S), their weights of the average reports."""


@dataclass(frozen=True)
class LevelRow:
    """A level rule's comparison at one candidate level: the one closest to its threshold, or furthest above it.

    statistic, threshold: L2 distances on the unit interval; None at the finest level.
    """

    level: int
    statistic: float | None
    threshold: float | None
    selected: bool
