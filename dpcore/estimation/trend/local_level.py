"""The distribution of levels that drift from round to round, given estimates with known errors.

y_t = m_t + s_t + e_t with e_t of known variance; m is a random walk whose variance grows by `drift` a day; s is a weekly season
of sum zero, or absent.  m on the first day and the season have flat priors [DurbinKoopman2012].  With Z the columns of the
first level and of the season, b their coefficients, and V the covariance of the rest of y, the estimates are

    b = (Z'V^{-1}Z)^{-1} Z'V^{-1} y,    E(m_t + s_t | y) = z_t'b + E(w_t | y - Z b),    w_t = m_t - m_1.

A Kalman filter of w, started at 0, takes y and the columns of Z at once.  Its innovations give Z'V^{-1}Z, Z'V^{-1}y and the
restricted likelihood, of the contrasts that do not depend on b, of the first rounds and of all; so flat priors and gaps need no
special case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpcore.estimation import constants


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
