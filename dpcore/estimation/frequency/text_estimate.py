"""The estimate of open answers: the texts found to be frequent, and their shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore._random import Source
from dpcore.errors import SchemeError
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.frequency.proportion_intervals import NormalIntervals, binomial_limits
from dpcore.estimation.functional_estimate import FunctionalEstimate, check_confidence, estimated, normal_quantile
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
class TextEstimate(FrequencyEstimate):
    """The shares of the reported texts, (k,), the largest first; their sum is below one.

    categories: the texts.  values: `raw` within [0, 1].  low, high: simultaneous, because the texts were selected.
    visible: the share from which a text of full length is found with a probability of about 0.8.
    """

    visible: float

    @cached_property
    def _shown(self) -> tuple[np.ndarray, np.ndarray]:
        return self._moved(*self.simultaneous(self.confidence))

    def differs(self, confidence: float = 0.95) -> np.ndarray:
        """Return that no share differs from an equal one, (k,): the reported texts are not all."""
        return np.zeros(len(self.categories), dtype=bool)

    def draw(self, n: int, random: Source) -> np.ndarray:
        """Raise SchemeError: the shares of the reported texts are no distribution."""
        raise SchemeError(f"{self.attribute}: texts cannot be drawn, because only frequent ones are known")

    def share_of(self, categories: Sequence[str], confidence: float = 0.95) -> FunctionalEstimate:
        """Return the share of one reported text, with its simultaneous interval; raises SchemeError for any other."""
        if isinstance(categories, str) or len(set(categories)) != 1:
            raise SchemeError(f"share_of takes a list of one text of {self.attribute}")
        check_confidence(confidence)
        place = self._position(categories[0])
        low, high = (float(end[place]) for end in self._moved(*self.simultaneous(confidence)))
        value = float(self.values[place])
        interval = value, float(self.standard_errors[place]), low, high
        return estimated(f"share_of({categories[0]})", interval, confidence, value, "smooth")
