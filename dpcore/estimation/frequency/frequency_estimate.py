"""The estimate of a categorical attribute: its frequencies, proper ones shown, unbiased ones stored beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore._random import Source
from dpcore.errors import SchemeError, check_within
from dpcore.estimation import constants
from dpcore.estimation.diagnostics.evidence import Exposure, Sample, Sensitivity
from dpcore.estimation.frequency.proportion_intervals import (
    Intervals,
    NormalIntervals,
    UnionInterval,
    differs_from_equal,
    within_bounds,
)
from dpcore.estimation.functional_estimate import (
    FunctionalEstimate,
    check_confidence,
    estimated,
    moved,
    normal_quantile,
    refused,
)
from dpcore.functionals import Cdf, Probability, Quantile
from dpcore.functionals.group import Group, OfGroup
from dpcore.functionals.quantile import proportions

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.estimation.weighting.stratified_variance import Strata


@dataclass(frozen=True, eq=False)
class Spread:
    """A covariance matrix of k numbers, diag(own) + shared' weights shared: exact, and small where k is large.

    own: (k,).  shared: (r, k).  weights: (r, r), symmetric.
    """

    own: np.ndarray
    shared: np.ndarray
    weights: np.ndarray

    @property
    def variances(self) -> np.ndarray:
        """The diagonal, shape (k,)."""
        return np.asarray(self.own + np.einsum("rk,rs,sk->k", self.shared, self.weights, self.shared, optimize=True))

    def along(self, gradient: np.ndarray) -> float:
        """Return the variance of gradient' x, gradient (k,)."""
        common = self.shared @ gradient
        return float(self.own @ gradient**2 + common @ self.weights @ common)

    def design_effect(self, gradient: np.ndarray) -> float | None:
        """Return the variance over that of the same number of equally weighted reports; None for equal weights."""
        return None

    def trace(self, matrix: np.ndarray) -> float:
        """Return tr(matrix S), matrix (k, k) symmetric."""
        return float(self.own @ np.diagonal(matrix) + np.sum(self.weights * (self.shared @ matrix @ self.shared.T)))

    def matrix(self) -> np.ndarray:
        """Return the whole matrix, (k, k)."""
        return np.asarray(np.diag(self.own) + self.shared.T @ self.weights @ self.shared)


@dataclass(frozen=True, eq=False, kw_only=True)
class FrequencyEstimate(OfGroup):
    """The frequencies of a categorical attribute, in the order of its categories; arrays have shape (k,).

    values: a projection of `raw`: nonnegative, sum one.  raw: unbiased; may be negative.
    low, high: pointwise intervals within [0, 1], whose limits are where a test against the best possible frequency rejects,
    moved where needed to contain `values` (`moved`).
    spread: the covariance of raw, at `values`.  n: number of reports.  numbers: the categories' numbers, or None.
    union_interval: None if categories are not exchangeable; unions then have intervals by `spread`.
    sensitivities: (k,), how far malicious clients can move each of raw per share of them (`Sensitivity`), exact.
    exposure: the effect of one report on functionals of raw.  reading: (k, S), the weights of the average reports in raw,
    unless they invert the reported frequencies.
    beliefs: the models averaged over with their weights, best first, for a distribution on support points.
    visible: the share from which a category is found with a probability of about 0.8, if reports selected the categories.
    """

    attribute: str
    categories: tuple[str, ...]
    values: np.ndarray
    raw: np.ndarray
    spread: Spread = field(repr=False)
    intervals: Intervals = field(repr=False)
    union_interval: UnionInterval | None = field(default=None, repr=False)
    confidence: float
    n: int
    numbers: tuple[float, ...] | None
    estimator: str
    group: Group | None = None
    sample: Sample | None = field(default=None, repr=False)
    sensitivities: np.ndarray | None = field(default=None, repr=False)
    exposure: Exposure | None = field(default=None, repr=False)
    reading: np.ndarray | None = field(default=None, repr=False)
    beliefs: tuple[tuple[float, Any], ...] = field(default=(), repr=False)
    visible: float | None = field(default=None, repr=False)

    @property
    def is_selected(self) -> bool:
        """Whether the reports selected the categories."""
        return self.visible is not None

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self.attribute} by {self.estimator}: {len(self.categories)} categories, "
            f"{self.n} reports>"
        )

    def __getitem__(self, category: str) -> float:
        """Return one category's frequency."""
        return float(self.values[self._position(category)])

    def __call__(self, x: Any) -> np.ndarray:
        """Return the probability of each number x (any shape), 0 of a number that no category has; see `cdf` for errors.

        The estimate of a density (`DensityEstimate`) returns its density at x instead.
        """
        numbers, shares = self._law
        x = np.asarray(x, dtype=np.float64)
        place = np.minimum(np.searchsorted(numbers, x), len(numbers) - 1)
        return np.where(numbers[place] == x, shares[place], 0.0)

    def cdf(self, x: Any) -> np.ndarray:
        """Return the proportion of numbers at or below x (any shape), of `values`, among respondents.

        Raises SchemeError if the categories have no numbers.
        """
        numbers, shares = self._law
        below = np.concatenate([[0.0], np.minimum(np.cumsum(shares), 1.0)])
        below[-1] = 1.0
        return below[np.searchsorted(numbers, np.asarray(x, dtype=np.float64), side="right")]

    def quantile(self, t: Any) -> np.ndarray:
        """Return the least number with cdf >= t, t in [0, 1] (any shape); raises SchemeError for other t, and as `cdf` does."""
        t = proportions(t)
        numbers, _ = self._law
        return numbers[np.minimum(np.searchsorted(self.cdf(numbers), t), len(numbers) - 1)]

    @cached_property
    def _law(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct numbers of the categories in ascending order, and the proportions shown of them."""
        if self.numbers is None:
            raise SchemeError(f"the categories of {self.attribute} have no numbers; give `values` in the scheme")
        numbers, places = np.unique(np.asarray(self.numbers, dtype=np.float64), return_inverse=True)
        return numbers, np.bincount(places, self.answered.values, len(numbers))

    def _position(self, category: str) -> int:
        if category not in self.categories:
            raise SchemeError(f"{self.attribute} has no category {category!r}; it has {', '.join(self.categories)}")
        return self.categories.index(category)

    @cached_property
    def standard_errors(self) -> np.ndarray:
        """Of raw, shape (k,)."""
        return np.sqrt(np.maximum(self.spread.variances, 0.0))

    @property
    def covariance(self) -> np.ndarray:
        """Of raw, shape (k, k); made when asked for, 800 MB for 10,000 categories, where `spread` is small."""
        return self.spread.matrix()

    @property
    def low(self) -> np.ndarray:
        return self._shown[0]

    @property
    def high(self) -> np.ndarray:
        return self._shown[1]

    @cached_property
    def _shown(self) -> tuple[np.ndarray, np.ndarray]:
        return self._moved(*self._limits(self.confidence))

    def _limits(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """The limits of every frequency within [0, 1], (k,) each."""
        return within_bounds(self.intervals, self.raw, confidence)

    def _moved(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return moved(self.values, low, high, 0.0, 1.0)

    def interval(self, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits, shapes (k,), of pointwise intervals.

        Around `raw` and not clipped: they may reach below 0 or above 1, and `values` may lie outside them.
        """
        check_confidence(confidence)
        return self.intervals(normal_quantile(confidence))

    def simultaneous(self, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits, shapes (k,), within [0, 1], of simultaneous intervals.

        Each interval has confidence c^(1/k): for normal errors with any correlation, all cover jointly with at least c
        [Sidak1967].
        Errors of different categories are nearly uncorrelated, so that for more than a few categories nothing is lost.  They
        also cover categories selected by their estimates, such as the largest.  Those of a frequency oracle contain the exact
        binomial ones [ClopperPearson1934].
        """
        check_confidence(confidence)
        return self.intervals.simultaneous(confidence)

    def differs(self, confidence: float = 0.95) -> np.ndarray:
        """Return which categories differ significantly from an equal share 1/k, shape (k,), bool; see `differs_from_equal`."""
        return differs_from_equal(*self.simultaneous(confidence))

    def weighted(self, strata: Strata) -> FrequencyEstimate:
        """Return the estimate of weighted reports, if other methods need their strata."""
        return self

    @property
    def effective_n(self) -> float:
        """How many direct observations would give the frequencies the summed variance they have: (1 - sum f^2) / tr S."""
        return float((1 - self.values @ self.values) / self.spread.variances.sum())

    def draw(self, n: int, random: Source) -> np.ndarray:
        """Return n >= 0 categories, shape (n,), drawn from the frequencies shown."""
        check_within(0, 10**9, n=n)
        return random.generator().choice(
            np.array(self.categories, dtype=object), size=n, p=self.values / self.values.sum()
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per category: category, estimate, standard_error, confidence, low, high, simultaneous_low and _high.

        simultaneous_low, simultaneous_high: of `simultaneous`, moved as `low` and `high` are.
        """
        import pandas as pd

        low, high = self._moved(*self.simultaneous(self.confidence))

        return pd.DataFrame(
            {
                "category": list(self.categories),
                "estimate": self.values,
                "standard_error": self.standard_errors,
                "confidence": self.confidence,
                "low": self.low,
                "high": self.high,
                "simultaneous_low": low,
                "simultaneous_high": high,
            }
        )

    def functional(self, functional: Any, confidence: float = 0.95) -> FunctionalEstimate:
        """Return a functional of the categories' numbers, such as Mean(), with its interval, or a refusal.

        value = L(raw) - tr(Q S), the second-order bias removed (Q half the second derivative, S the covariance);
        SE^2 = g' S g, g the gradient.  A quantile inverts the band of the distribution function.  The value of a proportion or
        a quantile is that of `values`, and the interval is moved where needed to contain it.
        If nonresponse is an answer, functionals describe the respondents.
        """
        check_confidence(confidence)
        if self.answered is not self:
            if self._too_few_answered:
                why = (
                    f"the response rate of {self.attribute} is within three standard errors of 0; collect more reports"
                )
                return refused(functional, why, confidence)
            return self.answered.functional(functional, confidence)
        reason = functional.refuses_probabilities()
        if self.numbers is None:
            reason = f"the categories of {self.attribute} have no numbers; give `values` in the scheme"
        if reason is not None or self.numbers is None:
            return refused(functional, str(reason), confidence)
        numbers = np.asarray(self.numbers, dtype=np.float64)
        if isinstance(functional, Quantile):
            return self._quantile(functional, numbers, confidence)
        value, gradient, curvature = functional.expand_probabilities(self.raw, numbers)
        if not functional.is_linear:
            value -= self.spread.trace(curvature)
        error = float(np.sqrt(max(0.0, self.spread.along(gradient))))
        least, most = functional.range_of_numbers(numbers)
        half = normal_quantile(confidence) * error
        shown = float(functional.of_probabilities(self.values, numbers))
        reported = float(np.clip(shown if isinstance(functional, Cdf | Probability) else value, least, most))
        low, high = np.clip(moved(reported, value - half, value + half, least, most), least, most)
        interval, effect = (reported, error, low, high), self.spread.design_effect(gradient)
        return estimated(functional, interval, confidence, shown, design_effect=effect)

    def _quantile(self, functional: Quantile, numbers: np.ndarray, confidence: float) -> FunctionalEstimate:
        """The least number with at least that share at or below it, of both ends of the band, and of `values`.

        Half its length is z standard errors, which are at least those of a value that may be anywhere up to the next number.
        """
        order, z = np.argsort(numbers), normal_quantile(confidence)
        below = np.cumsum(self.raw[order])
        variances = [self.spread.along(np.asarray(numbers <= number, dtype=np.float64)) for number in numbers[order]]
        half = z * np.sqrt(np.maximum(variances, 0.0))
        value = functional.of_probabilities(self.values, numbers)
        low, high = (functional.among(numbers[order], curve) for curve in (below + half, below - half))
        low, high = min(low, value), max(high, value)
        gaps = np.abs(numbers - value)
        error = max((high - low) / (2 * z), gaps[gaps > 0].min() / 12**0.5)
        return estimated(functional, (value, error, low, high), confidence, value)

    @cached_property
    def answered(self) -> FrequencyEstimate:
        """The distribution of the respondents, if nonresponse is the last category; else itself.

        q = p / s, s the response rate: its derivative is (I - q 1') / s.
        """
        k = len(self.numbers or ())
        if self.numbers is None or k == len(self.categories):
            return self
        share = float(self.raw[:k].sum())
        law = self.raw[:k] / share
        moved = (np.eye(k) - law[:, None]) / share
        matrix = moved @ self.spread.matrix()[:k, :k] @ moved.T
        exposure, reading = self.exposure, self.reading
        return replace(
            self,
            categories=self.categories[:k],
            values=self.values[:k] / self.values[:k].sum(),
            raw=law,
            spread=Spread(np.zeros(k), np.eye(k), matrix),
            intervals=NormalIntervals(law, np.sqrt(np.maximum(np.diagonal(matrix), 0.0))),
            sensitivities=None,
            exposure=exposure if exposure is None or reading is None else exposure.reread(moved @ reading[:k]),
        )

    @property
    def _too_few_answered(self) -> bool:
        """Whether the response rate, the divisor of the respondents' frequencies, is within three standard errors of 0."""
        gave = np.arange(len(self.categories)) < len(self.numbers or ())
        return float(self.raw[gave].sum()) <= constants.CLEAR_ERRORS * float(
            np.sqrt(max(0.0, self.spread.along(gave.astype(float))))
        )

    def share_of(self, categories: Sequence[str], confidence: float = 0.95) -> FunctionalEstimate:
        """Return the proportion of a union of categories, one or more, with an interval by their joint covariance.

        value = sum_A raw - s (sum raw - 1), s the union's share of all k categories: `raw` shifted equally to sum to one, then
        clipped to [0, 1] with its interval.  It is 1 for all categories, and complements add up to 1.  It is more precise than
        raw alone, by sqrt(1 - s) if a report describes each category separately.
        SE^2 = w' S w, w = 1 - s in the union and -s elsewhere.  The interval inverts the score test, as for one category.
        plug_in: the sum of `values`.  Raises SchemeError for an unknown category, or none.
        """
        check_confidence(confidence)
        if isinstance(categories, str) or not categories:
            raise SchemeError(f"share_of takes a list of categories, one or more, got {categories!r}")
        members = sorted({self._position(category) for category in categories})
        weights, share = np.zeros(len(self.categories)), len(members) / len(self.categories)
        weights[members] = 1.0
        raw, shown = float(weights @ self.raw - share * (self.raw.sum() - 1)), float(weights @ self.values)
        error, z = float(np.sqrt(max(0.0, self.spread.along(weights - share)))), normal_quantile(confidence)
        if share == 1 or self.union_interval is None:
            low, high = raw - z * error, raw + z * error
        else:
            low, high = self.union_interval(raw, z=z, share=share)
        value = float(np.clip(raw, 0.0, 1.0))
        low, high = (float(np.clip(end + value - raw, 0.0, 1.0)) for end in (low, high))
        name, effect = ", ".join(self.categories[i] for i in members), self.spread.design_effect(weights - share)
        interval = value, error, low, high
        return estimated(f"share_of({name})", interval, confidence, shown, "smooth", design_effect=effect)

    def sensitivity(self, functional: Any) -> Sensitivity | None:
        """Return how far malicious clients can move a functional of the categories' numbers; None if it is refused."""
        if self.answered is not self:
            return None if self._too_few_answered else self.answered.sensitivity(functional)
        if self.exposure is None or self.numbers is None or functional.refuses_probabilities() is not None:
            return None
        if isinstance(functional, Quantile):
            return None  # of few points it does not move, or by a whole one
        _, gradient, _ = functional.expand_probabilities(self.raw, np.asarray(self.numbers, dtype=np.float64))
        is_exact = functional.is_linear and self.reading is None and self.exposure.is_constant
        return Sensitivity(self.exposure.sensitivity(gradient), is_exact)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SeparateShares(FrequencyEstimate):
    """Shares that do not sum to one: of options that may be chosen together, or of some of all texts."""

    one: ClassVar[str]  # the argument of `share_of`, for messages

    def differs(self, confidence: float = 0.95) -> np.ndarray:
        """Return that no share differs from an equal one, (k,): the shares have no sum to be equal parts of."""
        return np.zeros(len(self.categories), dtype=bool)

    def share_of(self, categories: Sequence[str], confidence: float = 0.95) -> FunctionalEstimate:
        """Return the share of one category with its interval; raises SchemeError for several."""
        if isinstance(categories, str) or len(set(categories)) != 1:
            raise SchemeError(f"share_of takes a list of {self.one.format(self.attribute)}")
        place = self._position(categories[0])
        check_confidence(confidence)
        low, high = (end[place] for end in self._moved(*self._limits(confidence)))
        value = float(self.values[place])
        interval = value, float(self.standard_errors[place]), float(low), float(high)
        return estimated(f"share_of({categories[0]})", interval, confidence, value, "smooth")
