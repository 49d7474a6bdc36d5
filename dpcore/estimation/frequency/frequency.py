"""Frequencies of categories: unbiased, with their exact covariance, and their projection on the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError, check_one_of
from dpcore.estimation.consistency import project_cumulative, project_simplex
from dpcore.estimation.estimator import FrequencyEstimator
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate, Spread
from dpcore.estimation.frequency.proportion_intervals import Intervals, NormalIntervals, ScoreIntervals, UnionInterval
from dpcore.estimation.joint.conditioning import left_inverse
from dpcore.estimation.registry import by_name
from dpcore.mechanisms.observation_model import FiniteChannel, ScoreSums

_PROJECTIONS = {"simplex": project_simplex, "isotonic": project_cumulative}


@dataclass(frozen=True)
class Frequency(FrequencyEstimator):
    """Unbiased frequencies from the statistics of a frequency oracle, and their projection on the simplex.

    From score sums s over n reports: raw = (s / n - other_mean) / (true_mean - other_mean); for k-ary randomized response
    (m - q) / (p - q) with m the reported proportions [Warner1965].  The covariance is exact, at the projected frequencies.
    Intervals invert the score test, one category at a time [Wilson1927].  From the counts of any other finite channel: its
    inverse, and n Cov(raw) = H (diag(m) - m m') H'.

    confidence: of the intervals, strictly between 0 and 1.
    consistency: 'simplex', the nearest frequencies ("norm-sub"), or 'isotonic', for ordered categories: those whose cumulative
    frequencies are the nearest nondecreasing ones.
    An attribute whose own estimator is another of shares is left to that, with this confidence.
    """

    consistency: str = "simplex"
    name = "frequency"
    titles = MappingProxyType({"frequency": ""})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of(tuple(_PROJECTIONS), consistency=self.consistency)

    def _of_everyone(self, described: Any, statistics: np.ndarray, n: int) -> FrequencyEstimate:
        declared = by_name().get(described.estimator, type(self))
        if issubclass(declared, FrequencyEstimator) and not isinstance(self, declared):
            return declared(self.confidence)._of_everyone(described, statistics, n)
        attribute, model = described.name, described.mechanism.model()
        project = _PROJECTIONS[self.consistency]
        intervals: Intervals
        union_interval: UnionInterval | None = None
        if isinstance(model, ScoreSums):
            if model.contrast <= 0:
                raise NotEstimable(f"{attribute} is answered alike whatever is true; raise its epsilon")
            raw = model.frequencies(statistics, n)
            values = project(raw)
            spread = Spread(*model.covariance(values, n))
            intervals = ScoreIntervals(model, raw, n)
            union_interval = partial(model.union_interval, n=n)
        elif isinstance(model, FiniteChannel) and len(model.matrices) == 1:
            raw, spread = invert(model.matrices[0], statistics)
            values = project(raw)
            intervals = NormalIntervals(raw, np.sqrt(np.maximum(spread.variances, 0.0)))
        else:
            raise SchemeError(
                f"frequency needs score sums or a finite channel of one level; {attribute} has {described.mechanism.name}"
            )
        return FrequencyEstimate(
            attribute=attribute,
            categories=tuple(described.categories),
            values=values,
            raw=raw,
            spread=spread,
            intervals=intervals,
            union_interval=union_interval,
            confidence=self.confidence,
            n=n,
            numbers=described.values,
            estimator=self.name,
        )


def invert(matrix: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, Spread]:
    """Return unbiased frequencies, (k,), and their covariance from counts (outputs,) of a channel (outputs, k).

    The inverse is that of a square channel; otherwise weighted least squares, whose weights suit equal frequencies.
    """
    n = float(np.sum(counts))
    inverse = left_inverse(matrix)
    raw = inverse @ (counts / n)
    shares = matrix @ project_simplex(raw)
    weights = (np.diag(shares) - np.outer(shares, shares)) / n
    return raw, Spread(np.zeros(len(raw)), inverse.T, weights)
