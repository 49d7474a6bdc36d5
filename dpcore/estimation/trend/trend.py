"""The trend of one quantity over rounds: smoothed values, a forecast, and whether the newest rounds have shifted.

The drift is unknown, and few rounds say little about it.  So estimates average over drifts, from none to ten times the variance
of a round's estimate a day, each as likely beforehand, by their restricted likelihoods; a weekly season is averaged likewise
where two weeks have been seen.  Intervals are normal with the mean and variance of the average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import scipy

from dpcore.errors import SchemeError
from dpcore.estimation import constants
from dpcore.estimation.functional_estimate import check_confidence, normal_quantile
from dpcore.estimation.trend.local_level import LocalLevel

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
    average = _Average.from_rounds(numbers, y, errors)
    mean, variance = average.at(numbers)
    half = normal_quantile(confidence) * np.sqrt(variance)
    step = int(np.median(np.diff(numbers)))
    [ahead], [ahead_variance] = average.at(numbers[-1:] + step)
    reach = normal_quantile(confidence) * ahead_variance**0.5
    return Trend(
        days=tuple(days),
        values=y,
        standard_errors=errors,
        confidence=confidence,
        smoothed=mean,
        smoothed_errors=np.sqrt(variance),
        low=mean - half,
        high=mean + half,
        forecast=(date.fromordinal(int(numbers[-1]) + step), float(ahead), float(ahead - reach), float(ahead + reach)),
        shift=_shift(numbers, y, errors),
    )


@dataclass(frozen=True, eq=False)
class _Average:
    """Models of the level with their weights, (M,)."""

    models: tuple[LocalLevel, ...]
    weights: np.ndarray

    @classmethod
    def from_rounds(cls, days: np.ndarray, values: np.ndarray, errors: np.ndarray) -> _Average:
        scale = float(np.median(errors**2))
        plain = [LocalLevel(days, values, errors, drift * scale) for drift in constants.DRIFTS]
        classes = [plain]
        if len(set(days % constants.WEEK)) == constants.WEEK and len(days) >= 2 * constants.WEEK:
            classes.append([replace(model, has_season=True) for model in plain])
        # Within a class by the restricted likelihood; between classes by Schwarz's criterion, as flat priors have no scale.
        restricted = [scipy.special.softmax([model.log_likelihood for model in models]) for models in classes]
        best = [max(model.profile_log_likelihood for model in models) for models in classes]
        penalties = [(constants.WEEK - 1) / 2 * np.log(len(days)) * place for place in range(len(classes))]
        shares = scipy.special.softmax(np.array(best) - penalties)
        weights = np.concatenate([share * own for share, own in zip(shares, restricted, strict=True)])
        return cls(tuple(model for models in classes for model in models), weights)

    def at(self, days: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of level and season on days (n,), each (n,)."""
        means, variances = np.moveaxis(np.array([model.at(days) for model in self.models]), 1, 0)
        mean = self.weights @ means
        return mean, self.weights @ (variances + (means - mean) ** 2)


def _shift(days: np.ndarray, values: np.ndarray, errors: np.ndarray) -> Shift | None:
    """The more significant of two tests: of the newest round, and of the mean of the two newest."""
    tests = []
    for newest in (1, 2):
        if len(days) - newest < 2:
            continue
        before = _Average.from_rounds(days[:-newest], values[:-newest], errors[:-newest])
        mean, variance = before.at(days[-newest:])
        change = float(np.mean(values[-newest:] - mean))
        # predictions of neighbouring rounds share nearly all of their error
        error = float(np.sqrt(np.mean(variance) + np.sum(errors[-newest:] ** 2) / newest**2))
        tests.append(Shift(newest, change, error, float(min(1.0, 2 * 2 * scipy.special.ndtr(-abs(change) / error)))))
    return min(tests, key=lambda test: test.p_value, default=None)
