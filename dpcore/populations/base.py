"""Simulated people with a known truth: a mixture over one categorical attribute, the group.

Within a group all other attributes are independent, each with a known law.
So every probability, density and functional that an estimate should find is known exactly.
Numbers have densities and no atoms: a truth is of the people as they are, before a scheme clips them.
People come in blocks of 65,536, each with a stream of its own, so that they are the same people whatever the shards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from dpcore._random import Source
from dpcore.errors import SchemeError
from dpcore.functionals.group import Group
from dpcore.populations.distributions import CategoricalLaw, Law, NumericLaw, PointsLaw, mixture

if TYPE_CHECKING:
    from dpcore.protocol.attribute import Attribute

Condition = str | Mapping[str, float] | None
PEOPLE = 1 << 21  # the stream people are drawn from; attributes' reports have 0, 1, 2, ..., the drawn units 2^20


class Respondents(ABC):
    """Simulated respondents whose truth is known: the probabilities of input cells follow from their distributions."""

    @abstractmethod
    def truth(self, attribute: str, condition: Any = None) -> NumericLaw | PointsLaw:
        """Return the distribution of a numeric attribute among respondents who answer: continuous or discrete."""

    def cell_probabilities(
        self, attribute: str, lower: float, upper: float, cells: int, condition: str | None = None
    ) -> np.ndarray:
        """Return the probabilities, shape (cells,), of equal cells of [lower, upper]; they sum to one.

        Mass outside [lower, upper] belongs to the first or last cell, as clipping puts it.
        """
        if cells < 1 or not lower < upper:
            raise SchemeError(f"cells must be at least 1 and lower below upper, got {cells}, {lower}, {upper}")
        cumulated = self.truth(attribute, condition).below(np.linspace(lower, upper, cells + 1))
        cumulated[0], cumulated[-1] = 0.0, 1.0
        return np.diff(cumulated)

    def range_probabilities(self, attribute: str, edges: Sequence[float], condition: str | None = None) -> np.ndarray:
        """Return the probabilities, shape (k + 1,), of the ranges between k increasing edges."""
        return np.diff(self.truth(attribute, condition).below(np.asarray(edges)), prepend=0.0, append=1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Population(Respondents):
    """People whose truth is known.

    name: the scheme these people answer.
    group: the attribute whose categories have different laws; weights: its category -> probability, summing to one.
    laws: every other attribute -> group category -> law, all of one type; those of categories share them.
    nonresponse: numeric attribute -> share of respondents without an answer, in [0, 1]; answers have the attribute's law.
    correlations: pairs of numeric attributes -> correlation of the normal scores (a Gaussian copula) within a group.

    `condition` below is None (everybody), a category of the group attribute, 'ATTRIBUTE=CATEGORY' of any categorical
    attribute, or the shares that groups have, by their categories.
    Raises SchemeError where an attribute, a category or `condition` is unknown, or a law is of the other type.
    """

    name: str
    group: str
    weights: Mapping[str, float]
    laws: Mapping[str, Mapping[str, Law]]
    nonresponse: Mapping[str, float] = field(default_factory=dict)
    correlations: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        CategoricalLaw(tuple(self.weights), tuple(self.weights.values()))  # checks them
        if self.group in self.laws:
            raise SchemeError(
                f"{self.group}: the group attribute has weights instead of a distribution; remove its distribution"
            )
        for attribute, by_group in self.laws.items():
            if set(by_group) != set(self.weights):
                raise SchemeError(
                    f"laws of {attribute!r} must name the groups {', '.join(self.weights)}, got {', '.join(by_group)}"
                )
            if len({_domain(law) for law in by_group.values()}) != 1:
                raise SchemeError(f"laws of {attribute!r} must have one type, and the same categories, in all groups")
        _factor(self)  # refuses correlations that no distribution has

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of all attributes, the group first."""
        return (self.group, *self.laws)

    def records(self, n: int, random: Source) -> dict[str, np.ndarray]:
        """Return n people as columns, each of shape (n,): numbers in the attribute's units, categories as labels."""
        return {
            name: np.asarray(column.categories, dtype=object)[column.codes] if hasattr(column, "codes") else column
            for name, column in self._columns(n, random).items()
        }

    def _columns(self, n: int, random: Source) -> dict[str, Any]:
        """As `records`, but categories as pandas' Categorical, a small number each."""
        if n < 0:
            raise SchemeError(f"n must be at least 0, got {n}")
        generator = random.generator()
        groups = list(self.weights)
        which = generator.choice(len(groups), size=n, p=list(self.weights.values()))
        members = [np.flatnonzero(which == index) for index in range(len(groups))]
        columns: dict[str, Any] = {self.group: _categorical(which, groups)}
        names, factor = _factor(self)
        scores = dict(zip(names, scipy.special.ndtr(factor @ generator.standard_normal((len(names), n))), strict=True))
        for attribute, by_group in self.laws.items():
            law = by_group[groups[0]]
            column = np.empty(n, dtype=np.int64 if isinstance(law, CategoricalLaw) else np.float64)
            for group, people in zip(groups, members, strict=True):
                own = by_group[group]
                if attribute in scores and not isinstance(own, CategoricalLaw):
                    column[people] = own.quantile(scores[attribute][people])
                else:
                    column[people] = own.draw(people.size, generator)
            if attribute in self.nonresponse:
                column[generator.random(n) < self.nonresponse[attribute]] = np.nan
            columns[attribute] = _categorical(column, law.categories) if isinstance(law, CategoricalLaw) else column
        return columns

    @property
    def is_dependent(self) -> bool:
        """Whether attributes depend on each other within a group."""
        return bool(self.correlations)

    def records_block(self, block: int, size: int, random: Source) -> dict[str, Any]:
        """Return the `size` people of one block, columns of shape (size,): numbers, and categories as pandas' Categorical.

        block: 0, 1, 2, ...; size: BLOCK for all but the last.
        With one seeded source a block has the same people on every call, whatever was drawn before.
        """
        return self._columns(size, random.spawn(PEOPLE, block))

    def probabilities(self, attribute: str, categories: Sequence[str], condition: str | None = None) -> np.ndarray:
        """Return the probabilities of the categories, in their order, shape (k,).

        A category nobody has (such as "missing") gets 0; a category somebody has and the list lacks is a SchemeError.
        """
        true = self._category_probabilities(attribute, condition)
        listed = set(categories)
        lacking = [category for category, probability in true.items() if probability > 0 and category not in listed]
        if lacking:
            raise SchemeError(
                f"population {self.name!r} has people whose {attribute} is {', '.join(map(repr, lacking))}; "
                f"the scheme's categories are {', '.join(map(repr, categories))}"
            )
        return np.array([true.get(category, 0.0) for category in categories])

    def text_shares(self, attribute: Attribute, condition: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the texts of an attribute as input cells, (k,), and their shares, (k,)."""
        listed = self._category_probabilities(attribute.name, condition)
        cells, places = np.unique(attribute.encode(list(listed)), return_inverse=True)
        return cells, np.bincount(places, list(listed.values()))

    def truth(self, attribute: str, condition: Condition = None) -> NumericLaw | PointsLaw:
        """Return the distribution of a numeric attribute among respondents who answer: continuous or discrete."""
        by_group = self._laws(attribute)
        parts = []
        for group, share in self.shares(condition).items():
            law = by_group[group]
            if isinstance(law, CategoricalLaw):
                raise SchemeError(
                    f"{attribute!r} is categorical in population {self.name!r}; ask for its probabilities"
                )
            parts.append((share, law))
        return mixture(parts)

    def _laws(self, attribute: str) -> Mapping[str, Law]:
        if attribute == self.group:
            return {group: certain(group, tuple(self.weights)) for group in self.weights}
        if attribute not in self.laws:
            raise SchemeError(
                f"population {self.name!r} has no attribute {attribute!r}; it has {', '.join(self.attributes)}"
            )
        return self.laws[attribute]

    def _category_probabilities(self, attribute: str, condition: str | None) -> dict[str, float]:
        if condition is not None and condition not in self.weights and self._group(condition).attribute == attribute:
            self.shares(condition)  # refuses a category nobody has
            return {self._group(condition).category: 1.0}
        by_group = self._laws(attribute)
        total: dict[str, float] = {}
        for group, share in self.shares(condition).items():
            law = by_group[group]
            if not isinstance(law, CategoricalLaw):
                raise SchemeError(f"{attribute!r} is numeric in population {self.name!r}; ask for its truth")
            for category, probability in zip(law.categories, law.probabilities, strict=True):
                total[category] = total.get(category, 0.0) + share * probability
        return total

    def _group(self, text: str) -> Group:
        """The group that a text names; its attribute is one of the population's."""
        group = Group.parse(text) if "=" in text else None
        if group is None or group.attribute not in self.attributes or not group.category:
            raise SchemeError(
                f"condition must be one of {', '.join(self.weights)} or 'ATTRIBUTE=CATEGORY', got {text!r}"
            )
        return group

    def shares(self, condition: Condition = None) -> dict[str, float]:
        """Return the probabilities of the groups among those described by `condition` (Bayes)."""
        if condition is None or isinstance(condition, Mapping):
            return dict(condition or self.weights)
        if condition in self.weights:
            return {group: float(group == condition) for group in self.weights}
        asked, joint = self._group(condition), {}
        for group, law in self._laws(asked.attribute).items():
            if not isinstance(law, CategoricalLaw):
                raise SchemeError(f"condition must name a categorical attribute, got {condition!r}")
            likelihood = dict(zip(law.categories, law.probabilities, strict=True)).get(asked.category, 0.0)
            joint[group] = self.weights[group] * likelihood
        total = sum(joint.values())
        if total == 0:
            raise SchemeError(
                f"condition {condition!r}: its share of population {self.name!r} is 0; name another category"
            )
        return {group: share / total for group, share in joint.items()}


def _categorical(places: np.ndarray, categories: Sequence[str]) -> Any:
    import pandas as pd

    labels: Any = list(categories)
    return pd.Categorical.from_codes(places, labels)


def certain(category: str, categories: tuple[str, ...]) -> CategoricalLaw:
    """Return the distribution of respondents who all have one category."""
    return CategoricalLaw(categories, tuple(float(category == label) for label in categories))


def _domain(law: Law) -> tuple[Any, ...]:
    return law.categories if isinstance(law, CategoricalLaw) else (type(law).__name__,)


def _factor(population: Population) -> tuple[list[str], np.ndarray]:
    """The correlated attributes, and the Cholesky factor of their normal scores' correlations."""
    names = list(dict.fromkeys(name for pair in population.correlations for name in pair))
    laws = {name: next(iter(by_group.values())) for name, by_group in population.laws.items()}
    numeric = {name for name, law in laws.items() if not isinstance(law, CategoricalLaw)}
    matrix = np.eye(len(names))
    for (first, second), correlation in population.correlations.items():
        if first == second or not {first, second} <= numeric:
            raise SchemeError(f"correlations are of two numeric attributes, got {first} and {second}")
        place = names.index(first), names.index(second)
        matrix[place] = matrix[place[::-1]] = correlation
    try:
        return names, np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise SchemeError("correlations must be those of some distribution: below 1, and consistent") from None
