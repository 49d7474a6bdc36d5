"""Shares of options where one respondent may choose several, joint shares of two, and the number chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dpcore._random import Source
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.consistency import project_simplex
from dpcore.estimation.diagnostics.evidence import Sensitivity
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
from dpcore.mechanisms.categorical.option_sets import ONE_CHOSEN, ONE_ITEM, SetSums

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


def option_shares(described: Any, statistics: np.ndarray, n: int, confidence: float) -> SetEstimate:
    """Return the shares of a set's options from its statistics, (S,), of n > 0 reports [Wang2018].

    raw = (count / n - other_mean) / (true_mean - other_mean); the covariance is that of the observed counts of two items.
    Intervals invert the score test, one option at a time [Wilson1927].
    """
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
        confidence=confidence,
        n=n,
        numbers=None,
        estimator=SHARES,
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
