"""The estimator interface: an aggregate and an attribute in, an estimate with its uncertainty out.

There is no fit and no state: the same aggregate gives the same estimate, and choices (a level rule) are fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import check_confidence
from dpcore.estimation.joint.conditioning import Pair
from dpcore.functionals.group import Group


class Estimator(ABC):
    """Estimates one attribute from an aggregate.

    A new one is a file of this folder; a mechanism's declaration names it.
    `name` is its name in tables.  titles: each name in schemes -> its description for readers.
    sums_to_one: whether the shares of all categories sum to one.  is_selected: whether reports select the categories.
    """

    name: ClassVar[str]
    titles: ClassVar[Mapping[str, str]] = MappingProxyType({})
    sums_to_one: ClassVar[bool] = True
    is_selected: ClassVar[bool] = False

    @classmethod
    def from_attribute(cls, attribute: Any) -> Self:
        """Return the estimator of an attribute whose scheme names it, by one of `titles`."""
        return cls()

    def degree(self, mechanism: Any) -> int | None:
        """Return the degree of a density's polynomials, which functionals require; None without a density."""
        return None

    def visible_share(self, mechanism: Any, reports: int) -> float | None:
        """Return the share from which a category is found; None unless reports select the categories."""
        return None

    @abstractmethod
    def estimate(self, aggregate: Any, attribute: str, given: str | None = None) -> Any:
        """Return the attribute's estimate; with `given`, a paired categorical attribute, {category: estimate}.

        Raises NotEstimable with too few reports, SchemeError if the scheme does not support the request.
        """


@dataclass(frozen=True)
class FrequencyEstimator(Estimator):
    """An estimator of shares of categories."""

    confidence: float = 0.95

    def __post_init__(self) -> None:
        check_confidence(self.confidence)

    def estimate(self, aggregate: Any, attribute: str, given: str | None = None) -> FrequencyEstimate:
        if given is not None:
            raise SchemeError(
                f"frequencies of {attribute} given {given} are not kept; pairs are of a numeric and a categorical attribute"
            )
        statistics, n = aggregate.statistics[attribute], aggregate.reports(attribute)
        if n == 0:
            raise NotEstimable(f"{attribute} has no report; collect some first")
        return self._of_everyone(aggregate.scheme.attributes[attribute], statistics, n)

    @abstractmethod
    def _of_everyone(self, described: Any, statistics: np.ndarray, n: int) -> FrequencyEstimate:
        """Shares of all clients, from the statistics (S,) of n > 0 reports."""


class DensityEstimator(Estimator):
    """An estimator of numeric attributes.  `needs` describes the mechanisms that it supports, for error messages."""

    needs: ClassVar[str]

    def estimate(
        self, aggregate: Any, attribute: str, given: str | None = None
    ) -> DensityEstimate | dict[str, DensityEstimate]:
        """Return the attribute's density; with `given`, {category: density}, without categories with too few reports.

        Raises NotEstimable with too few reports, SchemeError for a mechanism that this estimator does not support or a pair
        that the scheme does not contain.
        """
        described = aggregate.scheme.attributes[attribute]
        model = described.mechanism.model()
        if not self._reads(model):
            raise SchemeError(f"{self.needs}; {attribute} has {described.mechanism.name}")
        if aggregate.reports(attribute) == 0:
            raise NotEstimable(f"attribute {attribute!r}: no reports yet; collect reports before estimating")
        if given is None:
            return self._of_everyone(described, model, aggregate.statistics[attribute])
        pair = Pair.from_aggregate(aggregate, attribute, given)
        return pair.by_category(self._of_groups(described, model, pair))

    @abstractmethod
    def _reads(self, model: Any) -> bool:
        """Whether this estimator supports a mechanism's model."""

    @abstractmethod
    def _of_everyone(self, described: Any, model: Any, statistics: np.ndarray) -> DensityEstimate:
        """Density of all clients; described: the attribute in the scheme.  statistics: (S,)."""

    @abstractmethod
    def _of_groups(self, described: Any, model: Any, pair: Pair) -> Callable[[int, Group], DensityEstimate]:
        """A function that estimates the group at an index of the pair's categories."""
