"""Linear regression of a mean on labels: weighted least squares on the distribution-free means of the cells.

The mean m_c of cell c is a sum of its reports with weights whose mean is known for every distribution of the values
(`distribution_free_weights`), with a variance v_c.  The model m_c = x_c'b is fitted with the weights 1 / v_c, which are
efficient if it holds [Aitken1935].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.density.likelihood import Counts, Likelihood
from dpcore.estimation.inference.distribution_free_weights import DistributionFreeWeights, Weighed
from dpcore.estimation.regression.categorical_outcome import UNDETERMINED
from dpcore.mechanisms.observation_model import FiniteChannel, NoisyFeatures, ScoreSums


@dataclass(frozen=True, eq=False)
class Means:
    """Unbiased means of C cells: values, (C,), and their variances, (C,)."""

    values: np.ndarray
    variances: np.ndarray


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A fitted model: coefficients (1, p), covariance (p, p), and squared distance of means and model in standard errors."""

    coefficients: np.ndarray
    covariance: np.ndarray
    distance: float


def means(attribute: Any, statistics: np.ndarray, n: np.ndarray) -> Means:
    """Return the means of a numeric attribute by cell; statistics: (C, S), n: (C,), reports, above 0."""
    model = attribute.mechanism.model()
    if isinstance(model, ScoreSums):
        rows = [_of_scores(attribute, model, row, int(count)) for row, count in zip(statistics, n, strict=True)]
    else:
        rows = list(_of_likelihoods(attribute, model, statistics))
    values, variances = zip(*rows, strict=True)
    return Means(np.array(values), np.array(variances))


def _of_scores(attribute: Any, model: ScoreSums, statistics: np.ndarray, n: int) -> tuple[float, float]:
    numbers = np.array([float(point) for point in attribute.points])
    frequencies = model.frequencies(statistics, n)
    own, shared, weights = model.covariance(frequencies, n)
    along = shared @ numbers
    return float(frequencies @ numbers), float(own @ numbers**2 + along @ weights @ along)


def _of_likelihoods(
    attribute: Any, model: FiniteChannel | NoisyFeatures, statistics: np.ndarray
) -> Iterator[tuple[float, float]]:
    """The mean and variance of each cell; cells of a channel with reports of the same levels share the weights of their sum."""
    alike = [
        tuple(model.reports(row) > 0) if isinstance(model, FiniteChannel) else cell
        for cell, row in enumerate(statistics)
    ]
    shared: dict[Any, Weighed] = {}
    for row, key in zip(statistics, alike, strict=True):
        own = DistributionFreeWeights(_likelihood(model, row))
        if key not in shared:
            together = statistics[[other == key for other in alike]].sum(axis=0)
            everyone = DistributionFreeWeights(_likelihood(model, together))
            shared[key] = everyone.weigh(_numbers(attribute, everyone.inputs)[None])
        weighed = shared[key]
        yield float(own.values(weighed)[0]), float(own.deviations(weighed, own.observed)[0] ** 2)


def _likelihood(model: FiniteChannel | NoisyFeatures, statistics: np.ndarray) -> Likelihood:
    if isinstance(model, FiniteChannel):
        return Counts(model, statistics)
    return InnerProducts.from_statistics(model, statistics).averages()


def _numbers(attribute: Any, inputs: int) -> np.ndarray:
    """The value of each input cell, (inputs,): its middle, or the nearest support point."""
    if attribute.points is None:
        lower, width = float(attribute.lower), float(attribute.upper - attribute.lower)
        return lower + width * (np.arange(inputs) + 0.5) / inputs
    points, cells = np.array([float(point) for point in attribute.points]), attribute.cells
    return points[np.searchsorted((cells[1:] + cells[:-1]) / 2, np.arange(inputs), side="right")]


def fit(means: Means, matrix: np.ndarray, weights: np.ndarray) -> LinearFit:
    """Return the fitted model; matrix: (C, p), weights: (C,), ones without weights.

    Raises NotEstimable if the cells with reports do not determine the coefficients, or a cell's reports its variance.
    """
    if not np.all(means.variances > 0):
        raise NotEstimable("a combination of labels has too few reports for a standard error; collect more reports")
    precision = weights / means.variances
    information = matrix.T @ (precision[:, None] * matrix)
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise NotEstimable(UNDETERMINED)
    inverse = np.linalg.inv(information)
    coefficients = inverse @ (matrix.T @ (precision * means.values))
    meat = matrix.T @ ((precision * weights)[:, None] * matrix)
    left = means.values - matrix @ coefficients
    return LinearFit(coefficients[None], inverse @ meat @ inverse, float(precision @ left**2))
