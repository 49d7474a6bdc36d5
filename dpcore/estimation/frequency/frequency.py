"""Frequencies of categories: unbiased, with their exact covariance, and their projection on the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError, check_one_of
from dpcore.estimation.consistency import project_cumulative, project_simplex
from dpcore.estimation.estimator import Estimator
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate, Spread
from dpcore.estimation.frequency.frequent_texts import text_shares
from dpcore.estimation.frequency.option_shares import SHARES, option_shares
from dpcore.estimation.frequency.proportion_intervals import Intervals, NormalIntervals, ScoreIntervals, UnionInterval
from dpcore.estimation.frequency.text_estimate import TEXTS
from dpcore.estimation.functional_estimate import check_confidence
from dpcore.estimation.joint.conditioning import left_inverse
from dpcore.mechanisms.categorical.hashed_sums import HashedSums
from dpcore.mechanisms.categorical.option_sets import SetSums
from dpcore.mechanisms.observation_model import FiniteChannel, ScoreSums

_PROJECTIONS = {"simplex": project_simplex, "isotonic": project_cumulative}


@dataclass(frozen=True)
class Frequency(Estimator):
    """Unbiased frequencies from the statistics of a frequency oracle, and their projection on the simplex.

    From score sums s over n reports: raw = (s / n - other_mean) / (true_mean - other_mean); for k-ary randomized response
    (m - q) / (p - q) with m the reported proportions [Warner1965].  The covariance is exact, at the projected frequencies.
    Intervals invert the score test, one category at a time [Wilson1927].  From the counts of any other finite channel: its
    inverse, and n Cov(raw) = H (diag(m) - m m') H'.

    confidence: of the intervals, strictly between 0 and 1.
    consistency: 'simplex', the nearest frequencies ("norm-sub"), or 'isotonic', for ordered categories: those whose cumulative
    frequencies are the nearest nondecreasing ones.
    Of a set, the shares of its options (`option_shares`); of texts, those of the frequent ones (`frequent_texts`).
    """

    confidence: float = 0.95
    consistency: str = "simplex"
    name = "frequency"
    titles = MappingProxyType({"frequency": "", SHARES: "", TEXTS: ""})

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        check_one_of(tuple(_PROJECTIONS), consistency=self.consistency)

    def estimate(self, aggregate: Any, attribute: str, given: str | None = None) -> FrequencyEstimate:
        """Return the attribute's frequencies.

        Raises NotEstimable without reports, SchemeError for an attribute without categories, or with `given`.
        """
        described = aggregate.scheme.attributes[attribute]
        model = described.mechanism.model()
        if given is not None:
            raise SchemeError(
                f"frequencies of {attribute} given {given} are not kept; pairs are of a numeric and a categorical attribute"
            )
        statistics, n = aggregate.statistics[attribute], aggregate.reports(attribute)
        if n == 0:
            raise NotEstimable(f"{attribute} has no report; collect some first")
        if isinstance(model, SetSums):
            return option_shares(described, statistics, n, self.confidence)
        if isinstance(model, HashedSums):
            return text_shares(described, statistics, n, self.confidence)
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
