"""Simulated respondents for any scheme: the distributions that a dry run assumes where a scheme names no others.

Categories have unequal shares, the i-th in proportion to 1 / i; one in ten gives no answer where `missing` is a category.
Numbers have the density of Beta(3, 6) between their bounds, skewed to the right, and Beta(3, 5) or Beta(3, 4) in other groups.
Groups are the categories of the first label or, without labels, of the first categorical attribute; within a group all else is
independent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.populations.base import Population
from dpcore.populations.distributions import Beta, CategoricalLaw, Law, NumericLaw
from dpcore.protocol.attribute import MISSING

if TYPE_CHECKING:
    from dpcore.protocol.attribute import Attribute
    from dpcore.protocol.scheme import Scheme

_NONRESPONSE = 0.1
_SHAPES = ((3, 6), (3, 5), (3, 4))  # of the groups' densities, in turn
_EVERYBODY = "(respondents)"  # the group of schemes without categories; no attribute has this name


def default_population(scheme: Scheme) -> Population:
    """Return simulated respondents who answer everything that a scheme asks."""
    asked = [question for attribute in scheme.reported.values() for question in attribute.questions]
    groups = [one for one in asked if one.name in scheme.labels] + [one for one in asked if not one.reads_numbers]
    name, shares = _EVERYBODY, {"": 1.0}
    if groups:
        name, shares = groups[0].name, dict(zip(groups[0].categories, _shares(groups[0]), strict=True))
    return Population(
        name=scheme.name,
        group=name,
        weights=shares,
        laws={
            one.name: {group: _law(one, place) for place, group in enumerate(shares)}
            for one in asked
            if one.name != name
        },
    )


def _law(attribute: Attribute, group: int) -> Law:
    if not attribute.reads_numbers:
        return CategoricalLaw(attribute.categories, tuple(_shares(attribute)))
    if attribute.bins is None:
        lower, upper = float(attribute.lower), float(attribute.upper)
    else:  # ranges are open at both ends: as far beyond the edges as these are apart
        first, last = float(attribute.bins[0]), float(attribute.bins[-1])
        reach = (last - first) or 1.0
        lower, upper = first - reach, last + reach
    return NumericLaw(lower, upper, ((1.0, Beta(*_SHAPES[group % len(_SHAPES)], lower, upper)),))


def _shares(attribute: Attribute) -> list[float]:
    """The shares of an attribute's categories, in their order."""
    answers = [category for category in attribute.categories if category != MISSING or attribute.missing != "category"]
    total = sum(1 / place for place in range(1, len(answers) + 1))
    spread = (1 - _NONRESPONSE) if len(answers) < len(attribute.categories) else 1.0
    shares = {category: spread / place / total for place, category in enumerate(answers, 1)}
    return [shares.get(category, _NONRESPONSE) for category in attribute.categories]
