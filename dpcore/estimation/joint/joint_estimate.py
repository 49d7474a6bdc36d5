"""The estimate of two attributes together: the distribution shown, functionals with intervals, and tests of independence.

Rules.  (1) The distribution shown has the single estimates as its margins.  (2) Intervals belong to one-step estimates near
that distribution, kind 'smooth', or on request to estimates valid for every distribution, kind 'distribution_free'; `plug_in`
is the value at the distribution shown.  (3) Everything describes the clients who responded to both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation import constants
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.functional_estimate import (
    FunctionalEstimate,
    check_confidence,
    estimated,
    moved,
    normal_quantile,
    refused,
)
from dpcore.estimation.joint import marginal_densities
from dpcore.estimation.joint.joint_distribution import Functions, Surface, fit
from dpcore.estimation.joint.product_moments import Evidence, Near, Paired, Together
from dpcore.estimation.joint.report_weights import Side
from dpcore.functionals.axis import Axis
from dpcore.functionals.joint import JointFunctional

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Test:
    """A test of no dependence: statistic, chi-squared of so many degrees of freedom where there is none, and its p-value."""

    name: str
    statistic: float
    degrees: int
    p_value: float

    def __str__(self) -> str:
        degrees = f"{self.degrees} degree{'s' if self.degrees > 1 else ''} of freedom"
        return f"{self.name}: chi-squared {self.statistic:.1f} on {degrees}, p = {self.p_value:.2g}"


@dataclass(frozen=True, eq=False, kw_only=True)
class JointEstimate:
    """Two attributes together.

    first, second: their axes.  margins: the distributions of each on its cells, (K_x,) and (K_y,), as the single estimates have
    them.
    evidence: the reports.  n: number of clients who reported both.
    """

    first: Axis
    second: Axis
    margins: tuple[np.ndarray, np.ndarray]
    evidence: Evidence = field(repr=False)

    def __repr__(self) -> str:
        return f"<JointEstimate of {self.first.name} and {self.second.name}: {self.n} reports>"

    @property
    def n(self) -> int:
        """Number of clients who reported both."""
        return self.evidence.n

    @cached_property
    def surface(self) -> Surface:
        """The joint distribution shown, with its posterior."""
        first, second = self._functions
        return fit(self.evidence.summary(first.values, second.values), first, second, self.margins)

    @property
    def law(self) -> np.ndarray:
        """Probabilities of pairs of cells, (K_x, K_y): nonnegative, with the margins as sums."""
        return self.surface.law

    @cached_property
    def _near(self) -> Near:
        first, second = self._functions
        return Near(self.law, first.values, second.values)

    @cached_property
    def _functions(self) -> tuple[Functions, Functions]:
        return Functions.at_margin(self.first, self.margins[0]), Functions.at_margin(self.second, self.margins[1])

    def checked(self) -> JointEstimate:
        """Return it; raises NotEstimable if either attribute's estimate is concentrated on one value."""
        for axis, functions in zip((self.first, self.second), self._functions, strict=True):
            if not len(functions.values):
                raise NotEstimable(
                    f"{axis.name}: the estimate from {self.n:,} reports has all its mass on one value; "
                    "collect more, or give a larger epsilon"
                )
        return self

    def functional(
        self, functional: JointFunctional, confidence: float = 0.95, *, distribution_free: bool = False
    ) -> FunctionalEstimate:
        """Return a functional of both attributes with its interval, or a refusal; raises SchemeError if undefined.

        distribution_free: with an interval valid for every distribution, which is longer.
        """
        check_confidence(confidence)
        kind = "distribution_free" if distribution_free else "smooth"
        means = functional.means(self.first, self.second, self.law)
        plug_in = means.value(self.law)
        estimates, covariance = self.evidence.means(
            means.first, means.second, None if distribution_free else self._near
        )
        divisors, slopes = means.divisors(estimates)
        sure = constants.CLEAR_ERRORS * np.sqrt(np.maximum(np.einsum("dr,rs,ds->d", slopes, covariance, slopes), 0.0))
        if not np.all(divisors > sure):
            much = float(np.max((sure / np.maximum(divisors, 1e-12 + sure / 1e3)) ** 2))
            reason = (
                f"the divisor, a share or variance, is within three standard errors of zero with {self.n:,} reports; about "
                f"{2 * much:,.{0 if much > 5 else 1}f} times as many, or a larger epsilon, would do"
            )
            return refused(functional, reason, confidence, plug_in, kind)
        value, gradient = means.combine(estimates)
        error = float(np.sqrt(max(gradient @ covariance @ gradient, 0.0)))
        half, (least, most) = normal_quantile(confidence) * error, functional.range_on(self.first)
        low, high = min(max(value - half, least), most), max(min(value + half, most), least)
        return estimated(functional, (value, error, low, high), confidence, plug_in, kind)

    def independence(self) -> Test:
        """Return the test of independence: by polynomials up to the third order of numbers, and by all categories."""
        return self._test("independence", *(_up_to(functions, constants.DEGREE) for functions in self._functions))

    def trend(self) -> Test:
        """Return the test of a linear trend of one number along the other; raises SchemeError where either has none."""
        for axis in (self.first, self.second):
            axis.values("a trend")
        return self._test("trend", *(_up_to(functions, 1) for functions in self._functions))

    def equal_means(self) -> Test:
        """Return the test that the first's mean is constant along the second; raises SchemeError without numbers."""
        self.first.values("a mean")
        first, second = self._functions
        return self._test("equal_means", _up_to(first, 1), _up_to(second, constants.DEGREE))

    def _test(self, name: str, first: np.ndarray, second: np.ndarray) -> Test:
        from scipy.stats import chi2

        statistic, degrees = self.evidence.association(first, second), len(first) * len(second)
        return Test(name=name, statistic=statistic, degrees=degrees, p_value=float(chi2.sf(statistic, degrees)))

    def to_frame(self, parts: int = 8, confidence: float = 0.95) -> pd.DataFrame:
        """Return a table, a row per cell: first, second, share, estimate, standard_error, low, high, confidence.

        share: of the distribution shown, whose rows and columns add up to the margins.  estimate: of kind 'smooth', with its
        interval, clipped to [0, 1] and moved where needed so that the share is not at its limits.
        parts: ranges of a number, at most.
        """
        import pandas as pd

        check_confidence(confidence)
        rows, columns = self.first.ranges(parts), self.second.ranges(parts)
        a = np.array([function for _, function in rows for _ in columns])
        b = np.array([function for _ in rows for _, function in columns])
        answered = np.vstack([self.first.answered, a]), np.vstack([self.second.answered, b])
        means, covariance = self.evidence.means(*answered, self._near)
        share, estimates = means[0], means[1:] / means[0]
        gradients = np.hstack([-estimates[:, None], np.eye(len(estimates))]) / share
        errors = np.sqrt(np.maximum(np.einsum("ir,rs,is->i", gradients, covariance, gradients), 0.0))
        shown = np.einsum("ri,ij,rj->r", *(answered[0], self.law, answered[1]), optimize=True)
        shown, half = shown[1:] / shown[0], normal_quantile(confidence) * errors
        low, high = np.clip(moved(shown, estimates - half, estimates + half, 0.0, 1.0), 0.0, 1.0)
        return pd.DataFrame(
            {
                "first": [name for name, _ in rows for _ in columns],
                "second": [name for _ in rows for name, _ in columns],
                "share": shown,
                "estimate": estimates,
                "standard_error": errors,
                "low": low,
                "high": high,
                "confidence": confidence,
            }
        )


def _up_to(functions: Functions, order: int) -> np.ndarray:
    return functions.values[functions.orders <= order]


def cells_of(attribute: Any) -> np.ndarray:
    """Return the input cells of each cell of an attribute's axis, (K, w).

    A density's input cells are merged to at most 64: unbiased weights for more have a larger variance (for a mean at epsilon 1,
    half as much again with 512).
    """
    cells = attribute.cells
    if not attribute.has_density:
        return np.asarray(cells[:, None])
    silent = attribute.missing == "category"
    room = len(cells) - silent
    width = next(width for width in range(-(-room // (1 << constants.FIT_LEVEL)), room + 1) if room % width == 0)
    joined = cells[:room].reshape(-1, width)
    return np.vstack([joined, np.full((1, width), cells[-1])]) if silent else joined


def axis_of(attribute: Any) -> Axis:
    """Return an attribute's axis."""
    silent, size = attribute.missing == "category", len(cells_of(attribute))
    answered = np.append(np.ones(size - 1), 0.0) if silent else np.ones(size)
    numbers, squares, edges = None, None, None
    if attribute.has_density:
        edges = np.linspace(float(attribute.lower), float(attribute.upper), size - silent + 1)
        numbers = (edges[1:] + edges[:-1]) / 2
        squares = numbers**2 + (edges[1] - edges[0]) ** 2 / 12
    elif attribute.points is not None or attribute.values is not None:
        numbers = np.array([float(value) for value in attribute.points or attribute.values])
        squares = numbers**2
    if numbers is not None and squares is not None and len(numbers) < size:
        numbers, squares = np.append(numbers, 0.0), np.append(squares, 0.0)
    return Axis(
        name=attribute.name,
        unit=attribute.unit,
        answered=answered,
        numbers=numbers,
        squares=squares,
        edges=edges,
        categories=() if attribute.has_density else tuple(attribute.categories),
    )


def margin_of(estimate: Any, axis: Axis) -> np.ndarray:
    """Return the distribution of an axis's cells by the attribute's own estimate, (K,): nonnegative, sum one."""
    if not isinstance(estimate, DensityEstimate):
        return np.asarray(np.maximum(estimate.values, 0.0) / np.maximum(estimate.values, 0.0).sum())
    assert axis.edges is not None
    cdf = np.concatenate([[0.0], estimate.cdf(axis.edges[1:-1]), [1.0]])
    law = np.maximum(np.diff(cdf), 0.0)
    law = law / law.sum()
    if estimate.silence is None:
        return np.asarray(law)
    silent = float(estimate.silence.values[-1])
    return np.append(law * (1 - silent), silent)


def paired(aggregate: Any, first: str, second: str, estimates: tuple[Any, Any]) -> JointEstimate:
    """Return the joint estimate of two paired attributes; estimates: of each alone.

    Raises SchemeError if the aggregate does not contain the pair, NotEstimable if it has too few reports.
    """
    attributes = [aggregate.scheme.attributes[name] for name in (first, second)]
    if (first, second) in aggregate.pairs:
        table = np.asarray(aggregate.pairs[first, second], dtype=np.float64).T
    elif (second, first) in aggregate.pairs:
        table = np.asarray(aggregate.pairs[second, first], dtype=np.float64)
    else:
        pairs = ", ".join(f"{one} with {other}" for one, other in aggregate.pairs) or "none"
        raise SchemeError(f"{first} with {second} is not kept; name the pair in the scheme (it keeps: {pairs})")
    n = aggregate.reports(first)
    _check_enough(f"{first} with {second}", n)
    sums = np.zeros((table.shape[0] + 1, table.shape[1] + 1))
    sums[0, 0], sums[1:, 1:] = n, table
    sums[1:, 0], sums[0, 1:] = aggregate.statistics[first], aggregate.statistics[second]
    axes = axis_of(attributes[0]), axis_of(attributes[1])
    margins = margin_of(estimates[0], axes[0]), margin_of(estimates[1], axes[1])
    sides = [
        Side.from_attribute(attribute, cells_of(attribute), _near(margin))
        for attribute, margin in zip(attributes, margins, strict=True)
    ]
    return JointEstimate(
        first=axes[0], second=axes[1], margins=_held(*margins), evidence=Paired(sides[0], sides[1], sums)
    ).checked()


def asked_together(aggregate: Any, name: str, first: str, estimate: Any = None) -> JointEstimate:
    """Return the joint estimate of the two columns of a joint attribute; first: the name of the first.

    estimate: of the pairs of their categories; None for numbers, whose densities are estimated here.
    """
    attribute = aggregate.scheme.attributes[name]
    _check_enough(name, aggregate.reports(name))
    columns = attribute.sides if attribute.of[0] == first else attribute.sides[::-1]
    axes = axis_of(columns[0]), axis_of(columns[1])
    places = np.arange(axes[0].size * axes[1].size)
    if attribute.of[0] != first:
        places = places.reshape(axes[1].size, axes[0].size).T.ravel()
    if estimate is None:
        alone = marginal_densities.densities(attribute, aggregate.statistics[name])[
            :: 1 if attribute.of[0] == first else -1
        ]
        margins = margin_of(alone[0], axes[0]), margin_of(alone[1], axes[1])
    else:
        table = np.maximum(estimate.values, 0.0)[places].reshape(axes[0].size, axes[1].size)
        margins = table.sum(axis=1) / table.sum(), table.sum(axis=0) / table.sum()
    side = Side.from_attribute(attribute, places[:, None], np.outer(*map(_near, margins)).ravel())
    sums = np.append(aggregate.reports(name), aggregate.statistics[name]).astype(np.float64)
    return JointEstimate(
        first=axes[0], second=axes[1], margins=_held(*margins), evidence=Together(side, sums)
    ).checked()


def _check_enough(subject: str, n: int) -> None:
    """Raise NotEstimable if reports are too few to estimate errors from them."""
    if n < constants.MIN_SUPPORT:
        raise NotEstimable(f"{subject} has {n} reports, and needs {constants.MIN_SUPPORT}; collect more")


def _near(margin: np.ndarray) -> np.ndarray:
    """The distribution at which weights have least variance."""
    return np.asarray((1 - constants.EVEN_SHARE) * margin + constants.EVEN_SHARE / len(margin))


def _held(*margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Margins whose cells all have positive mass, equal to nine digits."""
    first, second = ((1 - constants.ROUNDING) * margin + constants.ROUNDING / len(margin) for margin in margins)
    return first, second
