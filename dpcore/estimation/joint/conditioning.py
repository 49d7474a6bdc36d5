"""Pairs: a numeric attribute's reports by the same clients' reported category of another, and the groups inferred from them.

A group is the clients whose true category is c.  Row w of the inverse of the categorical attribute's channel makes sums over
reported categories unbiased for the group: w' tables for its statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation import constants
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.functionals.group import Group


@dataclass(frozen=True, eq=False)
class Pair:
    """The statistics of a pair in an aggregate.

    attribute, condition: names of the numeric and of the categorical one.  categories: of the latter.
    tables: (k, S), statistics by reported category.  response: (k, k), R, probabilities of the reported (rows) given the true
    one.
    """

    attribute: str
    condition: str
    categories: tuple[str, ...]
    tables: np.ndarray
    response: np.ndarray

    @classmethod
    def from_aggregate(cls, aggregate: Any, attribute: str, condition: str) -> Pair:
        """Return the pair; raises SchemeError if the aggregate lacks it, or if reports do not name one category each."""
        if (attribute, condition) not in aggregate.pairs:
            declared = ", ".join(f"{numeric} given {other}" for numeric, other in aggregate.pairs) or "none"
            raise SchemeError(
                f"{attribute} given {condition} is not in the aggregate; add the pair to the scheme (it has: {declared})"
            )
        other = aggregate.scheme.attributes[condition]
        if not other.mechanism.declared.names_one:
            raise SchemeError(f"groups need reports of one category each; {condition} has {other.mechanism.name}")
        return cls(
            attribute,
            condition,
            tuple(other.categories),
            aggregate.pairs[attribute, condition],
            other.mechanism.model().response(),
        )

    @cached_property
    def inverse(self) -> np.ndarray:
        """R^{-1}, (k, k): a row for each category."""
        return left_inverse(self.response)

    def by_category(self, estimate: Callable[[int, Group], DensityEstimate]) -> dict[str, DensityEstimate]:
        """Return category -> estimate(its index, the group), without the categories with too few reports.

        Raises NotEstimable if all have too few.
        """
        estimates = {}
        for place, category in enumerate(self.categories):
            try:
                estimates[category] = estimate(place, Group(self.condition, category))
            except NotEstimable:
                continue  # too few reports for this group
        if not estimates:
            raise NotEstimable(f"no group of {self.condition} has enough reports of {self.attribute}; collect more")
        return estimates


def left_inverse(matrix: np.ndarray) -> np.ndarray:
    """Return H with H @ matrix = 1, shape (k, outputs); raises NotEstimable if the channel does not identify its inputs."""
    outputs, inputs = matrix.shape
    if np.linalg.matrix_rank(matrix) < inputs:
        raise NotEstimable("the channel has the same outputs for some categories: their frequencies are not identified")
    if outputs == inputs:
        return np.asarray(np.linalg.inv(matrix))
    weighted = matrix / np.maximum(matrix.mean(axis=1), constants.TINY)[:, None]
    return np.asarray(np.linalg.solve(matrix.T @ weighted, weighted.T))
