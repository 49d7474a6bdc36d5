"""The trend of one quantity over rounds: smoothed values, a forecast, and whether the newest rounds have shifted.

The drift is unknown, and few rounds say little about it.  So estimates average over drifts, from none to ten times the variance
of a round's estimate a day, each as likely beforehand, by their restricted likelihoods; a weekly season is averaged likewise
where two weeks have been seen.  Intervals are normal with the mean and variance of the average.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy

from dpcore.errors import SchemeError
from dpcore.estimation import constants
from dpcore.estimation.functional_estimate import check_confidence, normal_quantile
from dpcore.estimation.trend.local_level import LocalLevels

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Shift:
    """A test of the newest rounds against what the earlier ones predict.

    rounds: how many newest rounds, 1 or 2.  change: their mean less the prediction.  p_value: two-sided, the smaller of the
    tests of one and of two rounds, doubled.  is_significant: one false alarm is expected in a year of nightly rounds.
    """

    rounds: int
    change: float
    standard_error: float
    p_value: float

    @property
    def is_significant(self) -> bool:
        return self.p_value < 1 / constants.ALARM_ROUNDS


@dataclass(frozen=True, eq=False, kw_only=True)
class Trend:
    """Smoothed values of a quantity, in its unit; arrays have shape (T,), in the order of days.

    values, standard_errors: of the rounds' own estimates.  smoothed: of all rounds together; the last one is today's value.
    low, high: limits of its intervals.  forecast: of the true value a step after the last round, with its limits.
    shift: None with fewer than three rounds.
    """

    days: tuple[date, ...]
    values: np.ndarray
    standard_errors: np.ndarray
    confidence: float
    smoothed: np.ndarray
    smoothed_errors: np.ndarray
    low: np.ndarray
    high: np.ndarray
    forecast: tuple[date, float, float, float]
    shift: Shift | None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per round: day, estimate, standard_error, smoothed, smoothed_error, low, high."""
        import pandas as pd

        return pd.DataFrame(
            {
                "day": list(self.days),
                "estimate": self.values,
                "standard_error": self.standard_errors,
                "smoothed": self.smoothed,
                "smoothed_error": self.smoothed_errors,
                "low": self.low,
                "high": self.high,
            }
        )


def trend(
    days: Sequence[date], values: Sequence[float], standard_errors: Sequence[float], *, confidence: float = 0.95
) -> Trend:
    """Return the trend of a quantity that several rounds have estimated.

    Parameters
    ----------
    days : sequence of date
        Of the rounds, two or more, increasing; they need not be consecutive.
    values, standard_errors : sequence of float
        Of each round's estimate, independent; errors above 0.
    confidence : float
        Of the intervals, strictly between 0 and 1.

    Returns
    -------
    Trend

    Raises
    ------
    SchemeError
        For fewer than two rounds, days that do not increase, or errors that are not positive.

    Notes
    -----
    A local level with a random walk and an optional weekly season [DurbinKoopman2012], averaged over drifts and seasons.
    """
    check_confidence(confidence)
    y, errors = (np.asarray(numbers, dtype=np.float64) for numbers in (values, standard_errors))
    numbers = np.array([day.toordinal() for day in days])
    if not 2 <= len(numbers) == len(y) == len(errors) or np.any(np.diff(numbers) <= 0):
        raise SchemeError("trend: needs two or more rounds with increasing days, and a value and an error of each")
    if not (np.all(np.isfinite(y)) and np.all(np.isfinite(errors)) and np.all(errors > 0)):
        raise SchemeError("trend: values must be finite, and standard errors above 0")
    smoothing = smooth(numbers, y[None], errors[None])
    half = normal_quantile(confidence) * smoothing.errors[0]
    reach = normal_quantile(confidence) * float(smoothing.ahead_errors[0])
    ahead = float(smoothing.ahead[0])
    return Trend(
        days=tuple(days),
        values=y,
        standard_errors=errors,
        confidence=confidence,
        smoothed=smoothing.smoothed[0],
        smoothed_errors=smoothing.errors[0],
        low=smoothing.smoothed[0] - half,
        high=smoothing.smoothed[0] + half,
        forecast=(date.fromordinal(smoothing.next_day), ahead, ahead - reach, ahead + reach),
        shift=smoothing.shifts[0] if smoothing.shifts else None,
    )


@dataclass(frozen=True, eq=False)
class Smoothing:
    """The trends of N quantities of the same T rounds.

    smoothed, errors: (N, T), of every round given all.  next_day: a step after the last round.  ahead, ahead_errors: (N,), the
    true value predicted for it.  shifts: (N,); empty with fewer than three rounds.
    """

    smoothed: np.ndarray
    errors: np.ndarray
    next_day: int
    ahead: np.ndarray
    ahead_errors: np.ndarray
    shifts: tuple[Shift, ...]


def smooth(days: np.ndarray, values: np.ndarray, errors: np.ndarray, *, has_weeks: bool = True) -> Smoothing:
    """Return the trends of quantities with estimates in the same rounds.

    days: (T,), integers, increasing, at least two.  values, errors: (N, T), standard errors above 0.
    has_weeks: whether days are of the calendar, so that there may be a weekly season.
    """
    average = _Average(days, values, errors, has_weeks)
    mean, variance = average.smoothed()
    next_day = int(days[-1] + np.median(np.diff(days)))
    ahead, ahead_variance = average.predicted(len(days), next_day)
    return Smoothing(mean, np.sqrt(variance), next_day, ahead, np.sqrt(ahead_variance), tuple(_shifts(average)))


@dataclass(frozen=True, eq=False)
class _Average:
    """Models of N levels, averaged."""

    days: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    has_weeks: bool

    def smoothed(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of level and season in every round given all, each (N, T)."""
        return self._averaged(len(self.days), [models.smoothed() for models in self._classes(len(self.days))])

    def predicted(self, rounds: int, day: int) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance on a day given the first rounds, each (N,)."""
        moments = [models.predicted(rounds, day) for models in self._classes(rounds)]
        mean, variance = self._averaged(rounds, [(mean[:, None], variance[:, None]) for mean, variance in moments])
        return mean[:, 0], variance[:, 0]

    def _averaged(self, rounds: int, moments: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the mixture of all models, whose moments are (N * M, ...) for each class."""
        means, variances = (
            np.concatenate([part.reshape(len(self.values), -1, part.shape[-1]) for part in parts], axis=1)
            for parts in zip(*moments, strict=True)
        )
        weights = self._weights(rounds)
        mean = np.einsum("nm,nmt->nt", weights, means)
        return mean, np.einsum("nm,nmt->nt", weights, variances + (means - mean[:, None]) ** 2)

    def _weights(self, rounds: int) -> np.ndarray:
        """The weight of each model given the first rounds, (N, M), class by class.

        Within a class by the restricted likelihood; between classes by Schwarz's criterion, as flat priors have no scale.
        """
        fits = [models.fit(rounds) for models in self._classes(rounds)]
        shape = (len(self.values), len(constants.DRIFTS))
        restricted = [scipy.special.softmax(fit.restricted.reshape(shape), axis=1) for fit in fits]
        best = np.column_stack([fit.profile.reshape(shape).max(axis=1) for fit in fits])
        penalties = (constants.WEEK - 1) / 2 * np.log(rounds) * np.arange(len(fits))
        shares = scipy.special.softmax(best - penalties, axis=1)
        return np.concatenate([shares[:, [place]] * own for place, own in enumerate(restricted)], axis=1)

    def _classes(self, rounds: int) -> list[LocalLevels]:
        """The models without a season, and those with one if the first rounds have two weeks with every day."""
        days = self.days[:rounds]
        has_season = (
            self.has_weeks and rounds >= 2 * constants.WEEK and len(set(days % constants.WEEK)) == constants.WEEK
        )
        return [self._without_season, self._with_season] if has_season else [self._without_season]

    @cached_property
    def _without_season(self) -> LocalLevels:
        return self._models(has_season=False)

    @cached_property
    def _with_season(self) -> LocalLevels:
        return self._models(has_season=True)

    def _models(self, *, has_season: bool) -> LocalLevels:
        values, errors = (np.repeat(part, len(constants.DRIFTS), axis=0) for part in (self.values, self.errors))
        drifts = np.outer(np.median(self.errors**2, axis=1), constants.DRIFTS).ravel()
        return LocalLevels(self.days, values, errors, drifts, has_season)


def _shifts(average: _Average) -> Iterator[Shift]:
    """The more significant of two tests of each quantity: of the newest round, and of the mean of the two newest."""
    tests = []
    for newest in (1, 2):
        before = len(average.days) - newest
        if before < 2:
            continue
        mean, variance = np.mean([average.predicted(before, int(day)) for day in average.days[before:]], axis=0)
        change = average.values[:, before:].mean(axis=1) - mean
        # predictions of neighbouring rounds share nearly all of their error
        error = np.sqrt(variance + np.sum(average.errors[:, before:] ** 2, axis=1) / newest**2)
        p_value = np.minimum(1.0, 2 * 2 * scipy.special.ndtr(-np.abs(change) / error))
        tests.append([Shift(newest, *map(float, row)) for row in zip(change, error, p_value, strict=True)])
    for both in zip(*tests, strict=True):
        yield min(both, key=lambda test: test.p_value)
