"""Frequencies of categories: the channel's inverse, and its exact covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimates import FrequencyEstimate, check_confidence, normal_quantile
from dpcore.estimators.base import Estimator
from dpcore.estimators.consistency import project_simplex
from dpcore.mechanisms.observation import FiniteChannel


@dataclass(frozen=True)
class Frequency(Estimator):
    """Unbiased frequencies from the counts of a finite channel, and their projection on the simplex.

    With M the channel (outputs, inputs), m the shares reported and H a left inverse of M, raw = H m and
    n Cov(raw) = H (diag(m) - m m') H', m taken at the projected frequencies.  H is the inverse of a square M; otherwise
    weighted least squares, whose weights suit equal frequencies.  For k-ary randomized response raw = (m - q) / (p - q) and
    n Var = m (1 - m) / (p - q)^2 [Warner1965].

    confidence: of the intervals, strictly between 0 and 1.
    """

    confidence: float = 0.95
    name = "frequency"

    def __post_init__(self) -> None:
        check_confidence(self.confidence)

    def estimate(self, aggregate: Any, attribute: str, given: str | None = None) -> FrequencyEstimate:
        """Return the attribute's frequencies.

        Raises NotEstimable without reports, SchemeError for an attribute without a finite channel of one level, or `given`.
        """
        described = aggregate.scheme.attributes[attribute]
        model = described.mechanism.model()
        if given is not None:
            raise SchemeError(
                f"frequencies of {attribute} given {given} are not kept; pairs are of a numeric and a categorical attribute"
            )
        if not isinstance(model, FiniteChannel) or len(model.matrices) != 1:
            raise SchemeError(
                f"frequency needs a finite channel of one level; {attribute} has {described.mechanism.name}"
            )
        counts = aggregate.statistics[attribute]
        n = int(counts.sum())
        if n == 0:
            raise NotEstimable(f"{attribute} has no report; collect some first")
        raw, covariance = invert(model.matrices[0], counts)
        values = project_simplex(raw)
        errors = np.sqrt(np.diag(covariance))
        half = normal_quantile(self.confidence) * errors
        return FrequencyEstimate(
            attribute=attribute,
            categories=tuple(described.categories),
            values=values,
            raw=raw,
            standard_errors=errors,
            low=np.minimum(np.clip(raw - half, 0.0, 1.0), values),
            high=np.maximum(np.clip(raw + half, 0.0, 1.0), values),
            confidence=self.confidence,
            covariance=covariance,
            n=n,
            numbers=described.values,
            estimator=self.name,
        )


def invert(matrix: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return unbiased frequencies, (k,), and their covariance, (k, k), from counts (outputs,) of a channel (outputs, k)."""
    n = float(np.sum(counts))
    inverse = left_inverse(matrix)
    raw = inverse @ (counts / n)
    shares = matrix @ project_simplex(raw)
    covariance = (inverse * shares) @ inverse.T - np.outer(inverse @ shares, inverse @ shares)
    return raw, covariance / n


def left_inverse(matrix: np.ndarray) -> np.ndarray:
    """Return H with H @ matrix = 1, shape (k, outputs); raises NotEstimable where the channel does not tell inputs apart."""
    outputs, inputs = matrix.shape
    if np.linalg.matrix_rank(matrix) < inputs:
        raise NotEstimable("the channel answers some categories alike, so that their frequencies cannot be told apart")
    if outputs == inputs:
        return np.asarray(np.linalg.inv(matrix))
    weighted = matrix / np.maximum(matrix.mean(axis=1), 1e-300)[:, None]
    return np.asarray(np.linalg.solve(matrix.T @ weighted, weighted.T))
