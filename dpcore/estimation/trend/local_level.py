"""The distribution of a level that drifts from round to round, given estimates with known errors.

y_t = m_t + s_t + e_t with e_t of known variance; m is a random walk whose variance grows by `drift` a day; s is a weekly season
of sum zero, or absent.  m on the first day and the season have flat priors [DurbinKoopman2012].  With V = diag(errors^2) +
drift K, K_ij the days from the first round to the earlier of i and j, and Z the columns of the level and the season,

    b = (Z'V^{-1}Z)^{-1} Z'V^{-1} y,    E(m_t + s_t | y) = z_t'b + drift k_t'V^{-1}(y - Z b),

and the likelihood is the restricted one, of the contrasts that do not depend on b.  The state-space recursions give the same
numbers in linear time; the closed form has no special case for the flat priors, and rounds are hundreds at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from dpcore.estimation import constants


@dataclass(frozen=True, eq=False)
class LocalLevel:
    """days: (T,), increasing.  values: (T,).  errors: (T,), standard errors, above 0.  drift: variance a day, at least 0."""

    days: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    drift: float
    has_season: bool = False

    @cached_property
    def log_likelihood(self) -> float:
        """The restricted log-likelihood, up to a constant that depends on `has_season` only."""
        return float(self.profile_log_likelihood - np.log(np.diagonal(self._inner[0])).sum())

    @cached_property
    def profile_log_likelihood(self) -> float:
        """The log-likelihood at the best level and season, up to a constant."""
        determinant = np.log(np.diagonal(self._factor[0])).sum()
        return float(-determinant - self._residual @ scipy.linalg.cho_solve(self._factor, self._residual) / 2)

    def at(self, days: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of level and season on days (n,), on the first one or later, each (n,)."""
        shared = self.drift * self._common(np.asarray(days, dtype=np.float64))
        weights = scipy.linalg.cho_solve(self._factor, shared.T)
        columns = self._columns(days)
        free = columns - weights.T @ self._matrix
        mean = columns @ self._coefficients + weights.T @ self._residual
        own = self.drift * (np.asarray(days) - self.days[0])
        spread = np.einsum("np,np->n", free, scipy.linalg.cho_solve(self._inner, free.T).T)
        return mean, own - np.einsum("nt,tn->n", shared, weights) + spread

    def _common(self, days: np.ndarray) -> np.ndarray:
        """Days that the walks up to `days` and to each round have in common, (n, T)."""
        return np.asarray(np.minimum.outer(days, self.days) - self.days[0])

    def _columns(self, days: np.ndarray) -> np.ndarray:
        """The columns of level and season, (n, 1) or (n, 7)."""
        if not self.has_season:
            return np.ones((len(days), 1))
        places = np.asarray(days, dtype=np.int64) % constants.WEEK
        season = np.eye(constants.WEEK)[places, : constants.WEEK - 1] - (places == constants.WEEK - 1)[:, None]
        return np.column_stack([np.ones(len(days)), season])

    @cached_property
    def _matrix(self) -> np.ndarray:
        return self._columns(self.days)

    @cached_property
    def _factor(self) -> tuple[np.ndarray, bool]:
        covariance = np.diag(self.errors**2) + self.drift * self._common(self.days)
        return scipy.linalg.cho_factor(covariance, lower=True)

    @cached_property
    def _inner(self) -> tuple[np.ndarray, bool]:
        weighted = scipy.linalg.cho_solve(self._factor, self._matrix)
        return scipy.linalg.cho_factor(self._matrix.T @ weighted, lower=True)

    @cached_property
    def _coefficients(self) -> np.ndarray:
        weighted = scipy.linalg.cho_solve(self._factor, self.values)
        return np.asarray(scipy.linalg.cho_solve(self._inner, self._matrix.T @ weighted))

    @cached_property
    def _residual(self) -> np.ndarray:
        return np.asarray(self.values - self._matrix @ self._coefficients)
