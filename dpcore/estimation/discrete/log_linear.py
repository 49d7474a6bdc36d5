"""Distribution of a numeric attribute with declared support points: a log-linear model with a one-step correction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation import constants
from dpcore.estimation.coherent_cdf import rising
from dpcore.estimation.discrete.log_linear_average import Average, average
from dpcore.estimation.discrete.log_linear_family import Belief, Family, slope
from dpcore.estimation.estimator import Estimator
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate, Spread
from dpcore.estimation.frequency.proportion_intervals import NormalIntervals
from dpcore.estimation.functional_estimate import check_confidence
from dpcore.mechanisms.fisher_information import SeenThrough
from dpcore.mechanisms.observation_model import FiniteChannel, ScoreSums


@dataclass(frozen=True)
class LogLinear(Estimator):
    """Distribution on support points whose logarithm is smooth, heaped, or free, averaged by evidence (`average`).

    values: the average distribution, its distribution function corrected where raw differs significantly (`coherent_cdf`).
    raw: values + G (c - F values), G = (F + C^-1)^-1, one correction step under a prior C so wide that the remaining bias is
    small beside the noise: the logarithm of each probability has standard deviation 2, and each probability that of a
    distribution drawn uniformly from all, 1/k.  Without the second part, points without reports keep a small mass each, which
    biases means.  The covariance of raw is halfway between that of the noise, GFG, and G, which contains the bias of the wide
    prior.

    confidence: of the intervals, strictly between 0 and 1.
    """

    confidence: float = 0.95
    name = "log_linear"
    titles = MappingProxyType({"log_linear": "estimated by a log-linear model"})

    def __post_init__(self) -> None:
        check_confidence(self.confidence)

    def estimate(self, aggregate: Any, attribute: str, given: str | None = None) -> FrequencyEstimate:
        """Return the distribution on the attribute's points, with the nonresponse rate if nonresponse is an answer.

        Raises NotEstimable without reports, SchemeError for an attribute without points, or with `given`.
        """
        described = aggregate.scheme.attributes[attribute]
        if described.points is None:
            raise SchemeError(f"{attribute}: log_linear needs an attribute with support points; declare step or values")
        if given is not None:
            raise SchemeError(f"{attribute} given {given}: log_linear has no estimates for groups; leave given out")
        n, statistics = aggregate.reports(attribute), aggregate.statistics[attribute]
        if n == 0:
            raise NotEstimable(f"{attribute} has no report; collect some first")
        model = described.mechanism.model()
        if not isinstance(model, FiniteChannel | ScoreSums):
            raise SchemeError(
                f"log_linear reads counts of cells and score sums; {attribute} has {described.mechanism.name}"
            )
        seen = SeenThrough(model, described.cells)
        points = np.array([float(point) for point in described.points])
        rounded = None if described.heaps is None else tuple(map(float, described.heaps))
        family = Family(points, is_silent=len(described.categories) > len(points), rounded=rounded)
        averaged = average(family, partial(seen.observed, statistics, n))
        law = averaged.law
        information = seen.observed(statistics, n, law)
        gain = _gain(family, averaged, information.matrix)
        reached = gain @ information.matrix
        covariance = (reached @ gain + gain) / 2
        raw = law + gain @ information.score(law)
        spread = Spread(np.zeros(len(law)), np.eye(len(law)), covariance)
        errors = np.sqrt(np.maximum(np.diagonal(covariance.cumsum(axis=0).cumsum(axis=1)), 0.0))
        below = rising(np.cumsum(law), np.cumsum(raw), errors)
        return FrequencyEstimate(
            attribute=attribute,
            categories=tuple(described.categories),
            values=np.diff(np.append(below[:-1], 1.0), prepend=0.0),
            raw=raw,
            spread=spread,
            intervals=NormalIntervals(raw, np.sqrt(np.maximum(spread.variances, 0.0))),
            reading=gain @ information.reading,
            confidence=self.confidence,
            n=n,
            numbers=described.values,
            estimator=self.name,
            beliefs=tuple(averaged.beliefs),
        )


def _gain(family: Family, averaged: Average, information: np.ndarray) -> np.ndarray:
    """Return G, (k, k): the change of the distribution per unit of score, under the wide prior."""
    k = len(averaged.law)
    uniform = (np.eye(k) - averaged.law[:, None]) / k  # the derivative of p / sum p by each p, times 1 / k
    wide = family.columns(Belief(order=1, roughness=1.0, heaps=1.0, free=constants.NULL_SPREAD))
    moved = np.hstack([slope(wide, averaged.law), constants.LIKELY_ERRORS * averaged.apart.T, uniform])
    left = np.eye(moved.shape[1]) + moved.T @ information @ moved
    return np.asarray(moved @ np.linalg.solve(left, moved.T))
