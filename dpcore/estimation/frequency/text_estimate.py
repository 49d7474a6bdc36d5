"""The estimate of open answers: the texts found to be frequent, and their shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore._random import Source
from dpcore.errors import SchemeError
from dpcore.estimation.frequency.frequency_estimate import SeparateShares
from dpcore.estimation.frequency.proportion_intervals import NormalIntervals, binomial_limits
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.mechanisms.observation_model import ScoreSums

TEXTS = "texts"  # the estimator of open answers, in schemes and tables


@dataclass(frozen=True, eq=False)
class SelectedIntervals(NormalIntervals):
    """Intervals of texts that were selected among candidates.

    candidates: their number.  model, n: of the buckets' supports, and the reports that they come from.
    """

    candidates: int
    model: ScoreSums
    n: int

    def simultaneous(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """Return limits within [0, 1], shapes (k,), that cover the shares of all candidates together (Bonferroni).

        They contain the binomial limits, because few reports support a text if epsilon is large.
        """
        error = (1 - confidence) / self.candidates
        low, high = (np.clip(end, 0.0, 1.0) for end in self(normal_quantile(1 - error)))
        below, above = binomial_limits(self.model, self.raw, self.n, error / 2)
        return np.minimum(low, below), np.maximum(high, above)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TextEstimate(SeparateShares):
    """The shares of the reported texts, (k,), the largest first; their sum is below one.

    categories: the texts.  values: `raw` within [0, 1].  low, high: simultaneous, because the texts were selected.
    visible: for a text of full length.
    """

    one = "one text of {}"

    def _limits(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        return self.simultaneous(confidence)

    def draw(self, n: int, random: Source) -> np.ndarray:
        """Raise SchemeError: the shares of the reported texts are no distribution."""
        raise SchemeError(f"{self.attribute}: texts cannot be drawn, because only frequent ones are known")
