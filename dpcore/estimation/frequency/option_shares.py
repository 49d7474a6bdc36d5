"""Shares of options where one respondent may choose several, joint shares of two, and the number chosen."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore._random import Source
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.consistency import project_simplex
from dpcore.estimation.diagnostics.evidence import Sensitivity
from dpcore.estimation.estimator import FrequencyEstimator
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate, SeparateShares, Spread
from dpcore.estimation.frequency.proportion_intervals import (
    NormalIntervals,
    QuadraticIntervals,
    ScoreIntervals,
    within_bounds,
)
from dpcore.estimation.functional_estimate import (
    FunctionalEstimate,
    check_confidence,
    estimated,
    refused,
)
from dpcore.estimation.weighting.stratified_variance import Strata
from dpcore.estimation.weighting.weighted_estimates import weighted_frequencies
from dpcore.mechanisms.categorical.option_sets import ONE_CHOSEN, ONE_ITEM, SetSums, moments_of

SHARES = "shares"  # the estimator of options, in schemes and tables


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SetEstimate(SeparateShares):
    """The shares of respondents who chose each option, (k,); they sum to the mean number chosen, not to one.

    values: `raw` within [0, 1].  model: of the reports.  square: (d, d), counts of reports with each two items.
    counted: number of reports in `square`; if reports are weighted, the effective number.
    """

    one = "one option of {}; `both` returns the share of two"

    model: SetSums = field(repr=False)
    square: np.ndarray = field(repr=False)
    counted: float = field(repr=False)

    @cached_property
    def number(self) -> FrequencyEstimate:
        """The distribution of the number of options that a respondent chose: 0, .., at_most.

        The share of a dummy is that of the respondents who chose few options enough for it (`OptionSets`).
        """
        return self._number_chosen()

    def _number_chosen(self) -> FrequencyEstimate:
        options, most = self.model.options, self.model.at_most
        weights = np.zeros((most + 1, self.model.items))
        dummies = options + most - 1 - np.arange(most)  # those of sets of at most 0, 1, .. options
        weights[np.arange(most), dummies] = 1.0
        weights[np.arange(1, most + 1), dummies] -= 1.0
        raw = weights @ self._shares
        raw[most] += 1.0
        covariance = weights @ self._covariance @ weights.T
        errors = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        reading = weights @ readings(self.model)
        return FrequencyEstimate(
            attribute=self.attribute,
            categories=tuple(map(str, range(most + 1))),
            values=project_simplex(raw),
            raw=raw,
            spread=Spread(np.zeros(most + 1), np.eye(most + 1), covariance),
            intervals=NormalIntervals(raw, errors),
            confidence=self.confidence,
            n=self.n,
            numbers=tuple(map(float, range(most + 1))),
            estimator=self.estimator,
            group=self.group,
            sample=self.sample,
            exposure=None if self.exposure is None else self.exposure.reread(reading),
            reading=reading,
        )

    @cached_property
    def _shares(self) -> np.ndarray:
        """Unbiased shares of options and dummies, (d,)."""
        return self.model.of_one.frequencies(np.diagonal(self.square), self.counted)

    @cached_property
    def _covariance(self) -> np.ndarray:
        """Of these, (d, d)."""
        return self.model.covariance(self.square, self.counted)

    def both(self, one: str, other: str, confidence: float = 0.95) -> FunctionalEstimate:
        """Return the share of respondents who chose two options, with its interval within [0, 1].

        A report has both with probability other_both + (true_both - other_both) (g_a + g_b - g_ab) (`SetSums`).  The interval
        inverts a score test: the variance is that of the share in question [Wilson1927].
        Raises SchemeError for an unknown option or the same one, NotEstimable if reports have one item each, or answers at most
        one option.
        """
        check_confidence(confidence)
        a, b = self._position(one), self._position(other)
        if a == b:
            raise SchemeError(f"both takes two different options of {self.attribute}, got {one!r} twice")
        model = self.model
        gain = float(model.contrast_of_both)
        if gain <= 0 or model.at_most == 1:
            raise NotEstimable(f"{self.attribute}: {ONE_ITEM if gain <= 0 else ONE_CHOSEN}")
        start, contrast = float(model.other_both), float(model.of_one.contrast)
        shares = self.values[[a, b]]
        either, means = float(shares.sum()), float(model.of_one.means(shares).sum())
        raw = np.array([self.raw[a] + self.raw[b] - (self.square[a, b] / self.n - start) / gain])
        # What the square of a report with both adds to those of reports with one
        one_report = 2 / contrast**2 - 4 / (contrast * gain) + 1 / gain**2
        constant = means / contrast**2 + one_report * (start + gain * either)
        shift = 2 * float(model.other_mean) / contrast - start / gain
        intervals = QuadraticIntervals(raw, constant - shift**2, -one_report * gain - 2 * shift, self.n)
        value = np.clip(raw, 0.0, 1.0)
        low, high = within_bounds(intervals, raw, confidence)
        interval = float(value[0]), float(np.sqrt(intervals.variance(value)[0])), float(low[0]), float(high[0])
        return estimated(f"both({one}, {other})", interval, confidence, interval[0], "smooth")

    @property
    def effective_n(self) -> float:
        """How many direct observations would give the shares the summed variance they have."""
        return float((self.values * (1 - self.values)).sum() / self.spread.variances.sum())

    def weighted(self, strata: Strata) -> WeightedSetEstimate:
        return WeightedSetEstimate(**{key.name: getattr(self, key.name) for key in fields(self)}, strata=strata)

    def draw(self, n: int, random: Source) -> np.ndarray:
        """Raise SchemeError: shares of options determine no distribution of sets."""
        raise SchemeError(f"{self.attribute}: sets cannot be drawn from the shares of options; draw from its `number`")

    def functional(self, functional: Any, confidence: float = 0.95) -> FunctionalEstimate:
        """Return a functional of the number of options chosen, or the share of two options, as `both`."""
        if functional.options:
            one, other = functional.options
            try:
                return self.both(one, other, confidence)
            except NotEstimable as error:
                return refused(functional, str(error), confidence)
        return self.number.functional(functional, confidence)

    def sensitivity(self, functional: Any) -> Sensitivity | None:
        """Return how far malicious clients can move a functional of the number chosen, or of two options; None if refused.

        A report has none, one or both of the two options; `both` is an average over reports.
        """
        if not functional.options:
            return self.number.sensitivity(functional)
        gain, contrast = float(self.model.contrast_of_both), float(self.model.of_one.contrast)
        if gain <= 0:
            return None
        a, b = map(self._position, functional.options)
        one, two = (self.square[a, a] + self.square[b, b]) / self.n, self.square[a, b] / self.n
        moves = np.array([0.0, 1 / contrast, 2 / contrast - 1 / gain]) - (one / contrast - two / gain)
        return Sensitivity(float(np.abs(moves).max()), is_exact=True)


@dataclass(frozen=True)
class OptionShares(FrequencyEstimator):
    """The shares of a set's options [Wang2018].

    raw = (count / n - other_mean) / (true_mean - other_mean); the covariance is that of the observed counts of two items.
    Intervals invert the score test, one option at a time [Wilson1927].
    """

    name = SHARES
    titles = MappingProxyType({SHARES: ""})
    sums_to_one = False

    def _of_everyone(self, described: Any, statistics: np.ndarray, n: int) -> SetEstimate:
        model = described.mechanism.model()
        options, square = model.options, model.square(statistics)
        one, counts = model.of_one, np.diagonal(square)[:options]
        raw = one.frequencies(counts, n)
        return SetEstimate(
            attribute=described.name,
            categories=tuple(described.categories),
            values=np.clip(raw, 0.0, 1.0),
            raw=raw,
            spread=Spread(np.zeros(options), np.eye(options), model.covariance(square, n)[:options, :options]),
            intervals=ScoreIntervals(one, raw, n),
            confidence=self.confidence,
            n=n,
            numbers=None,
            estimator=self.name,
            sensitivities=np.maximum(counts / n, 1 - counts / n) / float(one.contrast),
            reading=readings(model)[:options],
            model=model,
            square=square,
            counted=n,
        )


def readings(model: SetSums) -> np.ndarray:
    """Return the weights of the average reports in the unbiased shares of all items, (d, S)."""
    one, other = np.triu_indices(model.items)
    return np.asarray((one == np.arange(model.items)[:, None]) & (one == other)) / float(model.of_one.contrast)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WeightedSetEstimate(SetEstimate):
    """Weighted shares of options, and the distribution of the number chosen; no joint shares."""

    strata: Strata = field(repr=False)

    def _number_chosen(self) -> FrequencyEstimate:
        plain = super()._number_chosen()
        assert plain.reading is not None
        return weighted_frequencies(plain, self.strata, plain.reading)

    def both(self, one: str, other: str, confidence: float = 0.95) -> FunctionalEstimate:
        """Raise NotEstimable: the sums lack the moments that the variance of a weighted joint share needs."""
        raise NotEstimable(f"{self.attribute}: joint shares of options have no weighted estimates; use those of groups")

    def sensitivity(self, functional: Any) -> Sensitivity | None:
        """Return how far malicious clients can move a functional of the number chosen; None for others."""
        return None if functional.options else super().sensitivity(functional)


@dataclass(frozen=True, eq=False)
class _Chosen(Strata, model=SetSums):
    """Sets of options: counts of items and of pairs determine the covariance of the items of one report."""

    model: SetSums

    @cached_property
    def _apart(self) -> np.ndarray:
        """The cells' average items less the weighted average, (C, d)."""
        return self.apart(np.array([np.diagonal(self.model.square(cell)) for cell in self.statistics]))

    @cached_property
    def _covariances(self) -> np.ndarray:
        """Of the items of one report of each cell, (C, d, d), never zero: one report more may be any subset."""
        cells = zip(self.statistics, np.maximum(self.answered, 1), strict=True)
        moments = np.array([moments_of(self.model.square(cell), n) for cell, n in cells])
        means = np.diagonal(moments, axis1=1, axis2=2)
        return np.asarray(moments - means[:, :, None] * means[:, None, :])

    def _of_items(self, G: np.ndarray) -> np.ndarray:
        """The weights of single items, (m, d); G: (m, S), 0 for pairs."""
        one, other = np.triu_indices(self.model.items)
        return np.asarray(G[:, one == other])

    def squares(self, G: np.ndarray) -> np.ndarray:
        weights = self._of_items(G)
        varying = np.einsum("md,cde,me->mc", weights, self._covariances, weights, optimize=True)
        return np.asarray((varying + (weights @ self._apart.T) ** 2) * self.answered) / self.total**2

    def sums(self, G: np.ndarray) -> np.ndarray:
        return np.asarray((self._of_items(G) @ self._apart.T) * self.answered) / self.total

    def products(self, often: np.ndarray, G: np.ndarray) -> np.ndarray:
        often, weights = often * self.answered / self.total**2, self._of_items(G)
        apart = weights @ self._apart.T
        return np.asarray(weights @ np.tensordot(often, self._covariances, 1) @ weights.T + (apart * often) @ apart.T)
