"""What an estimator is: an aggregate and an attribute in, an estimate with its uncertainty out.

There is no fit and no state: the same aggregate gives the same answer, and choices (a level rule) are fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.joint.conditioning import Pair
from dpcore.functionals.group import Group


class Estimator(ABC):
    """Turns an aggregate into the estimate of one attribute.

    A new one is a file of this folder, and its name among those that a mechanism declares it is read by.
    `name` is what tables call the estimator.  titles: each name that schemes know it by -> how people say that it was used.
    """

    name: ClassVar[str]
    titles: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @classmethod
    def from_attribute(cls, attribute: Any) -> Self:
        """Return the estimator of an attribute whose scheme names it, by one of `titles`."""
        return cls()

    def degree(self, mechanism: Any) -> int | None:
        """Return the degree of the polynomials that a density is made of, which functionals ask; None where it is not."""
        return None

    @abstractmethod
    def estimate(self, aggregate: Any, attribute: str, given: str | None = None) -> Any:
        """Return the attribute's estimate; with `given`, a paired categorical attribute, {category: estimate}.

        Raises NotEstimable where there are too few reports, SchemeError where the question does not fit the scheme.
        """


class DensityEstimator(Estimator):
    """One of numeric attributes.  `needs` says which mechanisms it reads, to people whose attribute has another."""

    needs: ClassVar[str]

    def estimate(
        self, aggregate: Any, attribute: str, given: str | None = None
    ) -> DensityEstimate | dict[str, DensityEstimate]:
        """Return the attribute's density; with `given`, {category: density}, without the categories too rare to tell.

        Raises NotEstimable where there are too few reports, SchemeError for a mechanism that this estimator does not read
        or a pair that the scheme does not keep.
        """
        described = aggregate.scheme.attributes[attribute]
        model = described.mechanism.model()
        if not self._reads(model):
            raise SchemeError(f"{self.needs}; {attribute} has {described.mechanism.name}")
        if aggregate.reports(attribute) == 0:
            raise NotEstimable(f"{attribute} has no report; collect some first")
        if given is None:
            return self._of_everyone(described, model, aggregate.statistics[attribute])
        pair = Pair.from_aggregate(aggregate, attribute, given)
        return pair.by_category(self._of_groups(described, model, pair))

    @abstractmethod
    def _reads(self, model: Any) -> bool:
        """Whether a mechanism's model is one that this estimator knows."""

    @abstractmethod
    def _of_everyone(self, described: Any, model: Any, statistics: np.ndarray) -> DensityEstimate:
        """The density of everyone; described: the attribute in the scheme.  statistics: (S,)."""

    @abstractmethod
    def _of_groups(self, described: Any, model: Any, pair: Pair) -> Callable[[int, Group], DensityEstimate]:
        """What estimates the group at a place of the pair's categories."""
