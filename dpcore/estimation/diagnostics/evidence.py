"""What stands behind an estimate: whose reports, at what level, whether it explains them, how far lies can move it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpcore.errors import SchemeError

Deviations = float | np.ndarray  # standard errors to either side of a curve, the same at all points or each its own


@dataclass(frozen=True, kw_only=True)
class GoodnessOfFit:
    """How far what was observed lies from what an estimate expects, against what chance explains.

    statistic: chi-squared.  degrees: of freedom, effective: its mean where the model is right.  threshold: what it exceeds once
    in a thousand times then.  p_value: how often it would be as large.
    """

    statistic: float
    degrees: float
    threshold: float
    p_value: float

    @property
    def passed(self) -> bool:
        """Whether the estimate explains what was observed."""
        return self.statistic <= self.threshold

    def __str__(self) -> str:
        return f"chi-squared {self.statistic:.1f} on {self.degrees:.1f} effective degrees of freedom, p = {self.p_value:.2g}"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Whether reports contradict a bound on a second derivative.

    statistic: how much better rougher densities explain them, in standard deviations of what they do by chance.  threshold:
    what that exceeds once in a hundred rounds of a density of the class.
    """

    statistic: float
    threshold: float

    @property
    def passed(self) -> bool:
        """Whether they do not."""
        return self.statistic <= self.threshold

    def __str__(self) -> str:
        return (
            f"rougher densities explain the reports better by {self.statistic:.1f} standard deviations, and by more than "
            f"{self.threshold:.1f} once in a hundred rounds by chance"
        )


@dataclass(frozen=True)
class Discreteness:
    """Whether values are concentrated on few points, as far as reports can tell.

    peaks: how many parts of the range may each be a single value.  share: of the respondents who may be at single values.
    lattice: k of the multiples of 1 / k of the range where values are, 0 where none is seen.  has_endless_end: whether the
    density may be unbounded at an end.
    """

    peaks: int
    share: float
    lattice: int
    has_endless_end: bool

    @property
    def is_seen(self) -> bool:
        """Whether values are concentrated on points, as far as reports can tell."""
        return self.share > 0

    def text(self, width: float, unit: str = "") -> str:
        """Return it in words; width: of the range, in the attribute's unit."""
        if self.lattice:
            step = f"{width / self.lattice:.4g} {unit}".rstrip()
            return f"values {step} apart explain the reports better than a density does"
        if self.is_seen:
            stretches = "1 stretch" if self.peaks == 1 else f"{self.peaks} stretches"
            return f"{stretches}, {self.share:.0%} of the people, cannot be told from one value each"
        return "a density explains the reports as well as values at few points do"


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """Whose reports an estimate was made of: what a comparison has to know of how two estimates are correlated.

    aggregate: the fingerprint of the aggregate.  n: its reports.
    weights, reported: of a group (k,), the row w of the inverse of the categorical channel and the reports m by what they said
    of the other attribute, so that w' m is unbiased for the group's reports; None for everyone.
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
        """Its standard error, sqrt(sum w^2 m), but for the sampling of the clients; 0 for everyone."""
        return 0.0 if self.weights is None or self.reported is None else float(np.sqrt(self.weights**2 @ self.reported))

    @property
    def effective_n(self) -> float:
        """How many reports, their category known, the group's are worth: n P(c)^2 / E w^2."""
        return float(self.n) if self.weights is None else (max(0.0, self.size) / max(self.error, 1e-300)) ** 2


@dataclass(frozen=True)
class Sensitivity:
    """How far malicious clients can move an estimate, in its unit, whatever they report.

    value: the most that one report is worth, max |U(z)| (see `diagnostics.poisoning_sensitivity`).
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
    """What one report can do to the averages that estimates are made of.

    is_constant: whether what a report counts for depends on no other, so that linear numbers' bounds are exact.
    """

    @property
    def is_constant(self) -> bool: ...

    def sensitivity(self, weights: np.ndarray) -> float:
        """Return max |U(z)| of a number with these weights of the average reports."""

    def sensitivities(self, weights: np.ndarray) -> np.ndarray:
        """Return the same of many numbers, (n,); weights: (n, S)."""

    def reread(self, reading: np.ndarray) -> Exposure:
        """Return the same of numbers made of other averages: reading (k, S), their weights of the average reports."""


@dataclass(frozen=True)
class LevelRow:
    """What a level rule found at one candidate level: the comparison that came closest to its threshold, or passed it most.

    statistic, threshold: L2 distances on the unit interval; None where there was nothing finer to compare with.
    """

    level: int
    statistic: float | None
    threshold: float | None
    selected: bool
