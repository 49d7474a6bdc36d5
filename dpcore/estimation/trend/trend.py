"""The trend of one quantity over rounds: smoothed values, a forecast, and whether the newest rounds have shifted.

The drift is unknown, and few rounds say little about it.  So estimates average over drifts, from none to ten times the variance
of a round's estimate a day, each as likely beforehand, by their restricted likelihoods; a weekly season is averaged likewise
where two weeks have been seen.  Intervals are normal with the mean and variance of the average.

The distribution of levels that drift from round to round, given estimates with known errors.

y_t = m_t + s_t + e_t with e_t of known variance; m is a random walk whose variance grows by `drift` a day; s is a weekly season
of sum zero, or absent.  m on the first day and the season have flat priors [DurbinKoopman2012].  With Z the columns of the
first level and of the season, b their coefficients, and V the covariance of the rest of y, the estimates are

    b = (Z'V^{-1}Z)^{-1} Z'V^{-1} y,    E(m_t + s_t | y) = z_t'b + E(w_t | y - Z b),    w_t = m_t - m_1.

A Kalman filter of w, started at 0, takes y and the columns of Z at once.  Its innovations give Z'V^{-1}Z, Z'V^{-1}y and the
restricted likelihood, of the contrasts that do not depend on b, of the first rounds and of all; so flat priors and gaps need no
special case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy

from dpcore.errors import SchemeError
from dpcore.estimation import constants
from dpcore.estimation.functional_estimate import check_confidence, normal_quantile

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


@dataclass(frozen=True, eq=False)
class Fit:
    """The coefficients of B models given the first rounds, (B, P), with covariances, (B, P, P), and log-likelihoods, (B,).

    restricted: up to a constant that depends on the columns only.  profile: at the best coefficients, up to a constant.
    """

    coefficients: np.ndarray
    covariances: np.ndarray
    restricted: np.ndarray
    profile: np.ndarray


@dataclass(frozen=True, eq=False)
class LocalLevels:
    """B models of the same rounds.

    days: (T,), increasing.  values, errors: (B, T), standard errors above 0.  drifts: (B,), variances a day, at least 0.
    """

    days: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    drifts: np.ndarray
    has_season: bool = False
    _fits: dict[int, Fit] = field(default_factory=dict)

    def fit(self, rounds: int) -> Fit:
        """Return the coefficients given the first rounds; with a season they need every day of the week."""
        if rounds in self._fits:
            return self._fits[rounds]
        innovations, precisions = self._filter[0][:rounds], self._filter[1][:rounds]
        moments = np.einsum("tbp,tb,tbq->bpq", innovations, precisions, innovations, optimize=True)
        inner, right = moments[:, 1:, 1:], moments[:, 1:, 0]
        covariances = np.linalg.inv(inner)
        coefficients = np.einsum("bpq,bq->bp", covariances, right)
        profile = (np.log(precisions).sum(axis=0) - moments[:, 0, 0] + np.einsum("bp,bp->b", coefficients, right)) / 2
        restricted = profile - np.linalg.slogdet(inner)[1] / 2
        return self._fits.setdefault(rounds, Fit(coefficients, covariances, restricted, profile))

    def smoothed(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of level and season in every round given all, each (B, T)."""
        innovations, precisions, _, _, states, variances = self._filter
        weighted, information = np.zeros_like(states[0]), np.zeros_like(variances[0])
        fit, moments = self.fit(len(self.days)), []
        for t in reversed(range(len(self.days))):
            share = 1 - variances[t] * precisions[t]
            weighted = precisions[t][:, None] * innovations[t] + share[:, None] * weighted
            information = precisions[t] + share**2 * information
            state = states[t] + variances[t][:, None] * weighted
            moments.append(self._of_state(fit, state, variances[t] - variances[t] ** 2 * information, self.days[t]))
        means, spreads = np.array(moments[::-1]).transpose(1, 2, 0)
        return means, spreads

    def predicted(self, rounds: int, day: int) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of level and season on a day given the first rounds, not before the last, each (B,)."""
        _, _, states, variances, _, _ = self._filter
        ahead = variances[rounds - 1] + self.drifts * (day - self.days[rounds - 1])
        return self._of_state(self.fit(rounds), states[rounds - 1], ahead, day)

    def _of_state(self, fit: Fit, state: np.ndarray, variance: np.ndarray, day: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance on a day, from the walk's state of y and Z, (B, 1 + P), and its variance given b."""
        free = self._columns(day) - state[:, 1:]
        spread = np.einsum("bp,bpq,bq->b", free, fit.covariances, free, optimize=True)
        return state[:, 0] + np.einsum("bp,bp->b", free, fit.coefficients), variance + spread

    def _columns(self, day: int) -> np.ndarray:
        """The columns of level and season on a day, (1,) or (7,)."""
        if not self.has_season:
            return np.ones(1)
        place = int(day) % constants.WEEK
        last = constants.WEEK - 1
        return np.append(1.0, np.eye(constants.WEEK)[place, :last] - (place == last))

    @cached_property
    def _filter(self) -> tuple[np.ndarray, ...]:
        """Innovations, (T, B, 1 + P), their precisions, (T, B), the walk's state and variance after each round and before."""
        state = np.zeros((len(self.drifts), 1 + len(self._columns(0))))
        variance, before, steps = np.zeros(len(self.drifts)), self.days[0], []
        for t, day in enumerate(self.days):
            state_before, variance_before = state, variance + self.drifts * (day - before)
            columns = np.broadcast_to(self._columns(day), (len(state), state.shape[1] - 1))
            innovation = np.column_stack([self.values[:, t], columns]) - state
            precision = 1 / (variance_before + self.errors[:, t] ** 2)
            gain = variance_before * precision
            state, variance = state + gain[:, None] * innovation, variance_before * (1 - gain)
            steps.append((innovation, precision, state, variance, state_before, variance_before))
            before = day
        return tuple(np.array(part) for part in zip(*steps, strict=True))
