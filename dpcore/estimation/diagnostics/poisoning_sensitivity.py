"""How far malicious clients can move an estimate: a bound by their fraction beta of all reports, for any reports.

Write an estimate as c + sum_l g_l' m_l, m_l the average contribution of reports of public level l to the statistics.  One
report z of level l, drawn by a share pi_l of honest clients, has the influence U(z) = g_l' (z - m_l) / pi_l, and

    | estimate - estimate from the honest clients alone | <= beta / (1 - beta) max_z | U(z) |,

m_l observed, malicious reports included: with beta_l their share of level l, the honest mean is off by beta_l / (1 - beta_l)
(z - m_l), and their numbers add up to beta.  Around the honest clients' own means it is beta max | U |.  The bound is exact if
g is
constant: for unprojected frequencies, and for linear functionals at a fixed level.  Otherwise g is the estimate's first
derivative. pi_l is that of the public distribution, less three standard errors, not the observed share, which malicious clients
can raise.
Source: [Cao2021] for the attacks; the bound is the gross-error sensitivity of [Hampel1974].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.joint.conditioning import Pair, left_inverse
from dpcore.mechanisms import Mechanism, Reports
from dpcore.mechanisms.observation_model import FiniteChannel, NoisyFeatures, ScoreSums
from dpcore.mechanisms.reports import starts_of


@dataclass(frozen=True, eq=False)
class Averaged:
    """The effect of one report on the averages that an attribute's estimates use.

    statistics: (S,) of the round, or their unbiased sums for a group.  reports: (L,) of each level, likewise.
    law: (L,), distribution of honest clients' levels.  n: reports of the whole round.  clients: planned, for the range of
    reports.
    factor: largest weight of a report in the group, relative to all clients: 1, or max |w| n / size.
    reading: the weights of the average reports in the arguments of `sensitivity`: one number, or (k, S).
    """

    mechanism: Mechanism
    statistics: np.ndarray
    reports: np.ndarray
    law: np.ndarray
    n: int
    clients: int
    factor: float = 1.0
    reading: float | np.ndarray = 1.0

    @property
    def is_constant(self) -> bool:
        """The effect of a report does not depend on others."""
        return True

    def sensitivity(self, weights: np.ndarray) -> float:
        """Return max |U| of a functional with these weights, (S,) or (k,)."""
        weights = read_through(weights, self.reading)
        return float(max(np.max(self.furthest(sign * weights)[1]) for sign in (1.0, -1.0)))

    def reread(self, reading: np.ndarray) -> Averaged:
        """Return it for functionals of other averages, whose weights of the average reports are (k, S)."""
        return replace(self, reading=reading)

    def sensitivities(self, weights: np.ndarray) -> np.ndarray:
        """Return max |U| of several functionals of densities, (n,); weights: (n, S)."""
        weights = np.where(self.mechanism.labels().statistic == "reports", 0.0, weights)
        level, model = self._levels, self.mechanism.model()
        starts = np.flatnonzero(np.diff(level, prepend=-1))
        if isinstance(model, FiniteChannel):  # a report is one cell
            most, least = (extremum.reduceat(weights, starts, axis=1) for extremum in (np.maximum, np.minimum))
        else:  # every integer of a report has the limit of honest noise
            ones = self.mechanism.furthest(np.ones(len(level)), self.clients)
            ends = np.sum(
                [np.abs(self.mechanism.statistics(one)) for one in _single_reports(self.mechanism, ones)], axis=0
            )
            most = self._summed(np.abs(weights) * ends)
            least = -most
        means = self._summed(weights * self.means)
        return np.asarray(np.max(np.maximum(most - means, means - least) / self._honest, axis=1) * self.factor)

    def _summed(self, weights: np.ndarray) -> np.ndarray:
        """The sums of weights (n, S) over each level's statistics, (n, L)."""
        return weights @ (self._levels[:, None] == np.arange(len(self.law)))

    def furthest(self, weights: np.ndarray) -> tuple[Reports, np.ndarray]:
        """Return per level the report of the largest U, and that U, (L,); weights: (S,), of the average reports."""
        weights = np.where(self.mechanism.labels().statistic == "reports", 0.0, weights)
        reports = self.mechanism.furthest(weights, self.clients)
        added = np.array([weights @ self.mechanism.statistics(one) for one in _single_reports(self.mechanism, reports)])
        means = np.bincount(self._levels, weights * self.means, minlength=len(self.law))
        return reports, (added - means) / self._honest * self.factor

    @cached_property
    def means(self) -> np.ndarray:
        """The average reports of the levels, (S,); zero where there is none."""
        reports = self.reports[self._levels]
        return np.where(reports > 0, self.statistics / np.where(reports > 0, reports, 1.0), 0.0)

    @cached_property
    def _levels(self) -> np.ndarray:
        """The level that each statistic is of, (S,)."""
        labels = self.mechanism.labels()
        return labels.level if len(self.law) > 1 else np.zeros(len(labels.level), dtype=np.int64)

    @cached_property
    def _honest(self) -> np.ndarray:
        """Lower bound of the share of honest reports of each level, (L,)."""
        spread = constants.CLEAR_ERRORS * np.sqrt(self.law * (1 - self.law) / max(self.n, 1))
        return np.maximum(self.law - spread, (1 - constants.MAX_SHARE) * self.law)


def _single_reports(mechanism: Mechanism, reports: Reports) -> list[Reports]:
    """Reports one by one."""
    ends = starts_of(reports.level, mechanism.sizes)
    return [Reports(reports.level[i : i + 1], reports.values[ends[i] : ends[i + 1]]) for i in range(len(reports))]


def read_through(weights: np.ndarray, reading: float | np.ndarray) -> np.ndarray:
    """Return the weights of the average reports, (..., S), from weights of frequencies, (..., k).

    reading: the weights of the average reports in each frequency, (k, S), or one number for all.
    """
    return np.asarray(weights @ reading if isinstance(reading, np.ndarray) else weights * reading)


def exposed(estimate: Any, aggregate: Any, attribute: str) -> Any:
    """Return an estimate of all clients with its sensitivity to malicious ones."""
    scheme = aggregate.scheme
    mechanism = scheme.attributes[attribute].mechanism
    model = mechanism.model()
    exposure = averaged(mechanism, aggregate.statistics[attribute], aggregate.reports(attribute), scheme.clients)
    if not isinstance(estimate, FrequencyEstimate):
        return replace(estimate, exposure=exposure)
    if estimate.reading is not None:
        exposure = exposure.reread(estimate.reading)
        return replace(estimate, exposure=exposure)
    if isinstance(
        model, ScoreSums
    ):  # a report supports a category or does not, and every category has reports of both kinds
        contrast = float(model.contrast)
        sensitivities = np.maximum(1 - exposure.means, exposure.means) / contrast
        return replace(estimate, sensitivities=sensitivities, exposure=replace(exposure, reading=1 / contrast))
    if not isinstance(model, FiniteChannel):
        return estimate  # has its own sensitivities
    exposure = replace(exposure, reading=left_inverse(model.matrices[0]))
    sensitivities = np.array([exposure.sensitivity(row) for row in np.eye(mechanism.inputs)])
    return replace(estimate, sensitivities=sensitivities, exposure=exposure)


def exposed_groups(
    estimates: dict[str, DensityEstimate], aggregate: Any, attribute: str, by: str
) -> dict[str, DensityEstimate]:
    """Return the estimates of a pair's groups, by category, with their sensitivity."""
    scheme, pair = aggregate.scheme, Pair.from_aggregate(aggregate, attribute, by)
    mechanism, rows = scheme.attributes[attribute].mechanism, dict(zip(pair.categories, pair.inverse, strict=True))
    return {
        category: replace(estimate, exposure=group_averaged(mechanism, pair.tables, rows[category], scheme.clients))
        for category, estimate in estimates.items()
    }


def averaged(mechanism: Mechanism, statistics: np.ndarray, n: int, clients: int) -> Averaged:
    """Return the effect of one report on the averages of all clients; statistics (S,) of n > 0 reports."""
    reports, law = _by_level(mechanism, statistics, float(n))
    return Averaged(mechanism, statistics, reports, law, n, clients)


def group_averaged(mechanism: Mechanism, tables: np.ndarray, inverse: np.ndarray, clients: int) -> Averaged:
    """Return it for the clients whose true category is one given.

    tables: (k, S), by reported category.  inverse: (k,), the row w of R^{-1} with which w' tables is unbiased for the group.
    """
    by_table = [_by_level(mechanism, table, 0.0) for table in tables]  # numeric attributes count their own reports
    counted, law = np.array([counts for counts, _ in by_table]), by_table[0][1]
    n, reports = float(counted.sum()), inverse @ counted
    factor = float(np.abs(inverse).max()) * n / max(float(reports.sum()), constants.TINY)
    return Averaged(mechanism, inverse @ tables, reports, law, round(n), clients, factor)


def _by_level(mechanism: Mechanism, statistics: np.ndarray, n: float) -> tuple[np.ndarray, np.ndarray]:
    """Number of reports of each level, and the distribution of levels, both (L,)."""
    model = mechanism.model()
    if isinstance(model, FiniteChannel):
        return model.reports(statistics).astype(np.float64), np.asarray(model.level_law)
    if isinstance(model, NoisyFeatures):
        reports = model.split(statistics)[0].astype(np.float64)
        return (reports[:1], np.ones(1)) if model.block_law is None else (reports, np.asarray(model.block_law))
    return np.array([n]), np.ones(1)
