"""Simulated respondents for any scheme, for dry runs: the distributions that it states, and defaults for the rest.

By default categories have unequal shares, the i-th in proportion to 1 / i; one in ten gives no answer where `missing` is a
category.  The i-th option of a set is chosen with probability 1 / (1 + i), independently of the others but for the limit.
Numbers have the density of Beta(3, 6) between their bounds, skewed to the right, and Beta(3, 5) or Beta(3, 4) in other groups.
Groups are the categories of the first label or, without labels, of the first categorical attribute; within a group all else is
independent but for the correlations that are stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcore.errors import SchemeError
from dpcore.populations import stated_distributions
from dpcore.populations.base import Population
from dpcore.populations.distributions import Beta, CategoricalLaw, Law, NumericLaw
from dpcore.protocol.attribute import MISSING

if TYPE_CHECKING:
    from dpcore.protocol.attribute import Attribute
    from dpcore.protocol.scheme import Scheme

_NONRESPONSE = 0.1
_SHAPES = ((3, 6), (3, 5), (3, 4))  # of the groups' densities, in turn
_EVERYBODY = "(respondents)"  # the group of schemes without categories; no attribute has this name
_CORRELATIONS = "correlations"


def default_population(scheme: Scheme) -> Population:
    """Return simulated respondents who answer everything that a scheme asks, distributed as its `simulate` states.

    Raises SchemeError, which names the key, where that states no distribution.
    """
    asked = {one.name: one for attribute in scheme.reported.values() for one in attribute.sides or (attribute,)}
    tables = {name: table for name, table in scheme.simulate.items() if name != _CORRELATIONS}
    for name, table in tables.items():
        if name not in asked or not isinstance(table, Mapping):
            raise SchemeError(f"simulate.{name} must be a table of one of {', '.join(asked)}, got {name!r}")
    groups = [one for one in asked.values() if one.name in scheme.labels]
    groups += [one for one in asked.values() if not one.reads_numbers and one.at_most is None and one.texts is None]
    name, shares = _EVERYBODY, {"": 1.0}
    if groups:
        name = groups[0].name
        law = _law(groups[0], tables.get(name, {}), 0)
        assert isinstance(law, CategoricalLaw)
        shares = dict(zip(law.categories, law.probabilities, strict=True))
    others = {key: one for key, one in asked.items() if key != name}
    return Population(
        name=scheme.name,
        group=name,
        weights=shares,
        laws={
            key: _of_all_categories(
                {
                    group: _law(one, _within(tables.get(key, {}), key, group, shares), place)
                    for place, group in enumerate(shares)
                }
            )
            for key, one in others.items()
        },
        nonresponse={
            key: share
            for key, one in others.items()
            if one.reads_numbers and (share := stated_distributions.nonresponse(one, tables.get(key, {}), _NONRESPONSE))
        },
        correlations=_correlations(scheme.simulate.get(_CORRELATIONS, [])),
    )


def _within(table: Mapping[str, Any], name: str, group: str, groups: Mapping[str, float]) -> Mapping[str, Any]:
    """The table of an attribute within a group."""
    by = table.get("by", {})
    if (
        not isinstance(by, Mapping)
        or not set(by) <= set(groups)
        or not all(isinstance(own, Mapping) for own in by.values())
    ):
        raise SchemeError(f"simulate.{name}.by must have tables of groups: {', '.join(groups)}")
    own = by.get(group, {})
    return {key: value for key, value in table.items() if key == "missing" or (key != "by" and not own)} | own


def _law(attribute: Attribute, table: Mapping[str, Any], group: int) -> Law:
    lower, upper = _range(attribute) if attribute.reads_numbers else (0.0, 1.0)
    stated = stated_distributions.law_of(attribute, table, lower, upper)
    if attribute.reads_numbers:
        return stated or NumericLaw(lower, upper, ((1.0, Beta(*_SHAPES[group % len(_SHAPES)], lower, upper)),))
    if attribute.at_most is not None:
        options = range(1, len(attribute.categories) + 1)
        return stated or stated_distributions.sets(attribute, [1 / (1 + place) for place in options])
    answers = stated_distributions.answers_of(attribute)
    silent = stated_distributions.nonresponse(attribute, table, _NONRESPONSE)
    total = sum(1 / place for place in range(1, len(answers) + 1))
    shares = {category: 1 / place / total for place, category in enumerate(answers, 1)}
    if isinstance(stated, CategoricalLaw):
        shares = dict(zip(stated.categories, stated.probabilities, strict=True))
    categories = attribute.categories or (*shares, *[MISSING] * (attribute.missing == "category"))
    return CategoricalLaw(
        categories, tuple((1 - silent) * shares[one] if one in shares else silent for one in categories)
    )


def _of_all_categories(laws: dict[str, Law]) -> dict[str, Law]:
    """The laws of groups, where those of texts also list the texts of the other groups, which nobody has."""
    listed = [law for law in laws.values() if isinstance(law, CategoricalLaw)]
    names = tuple(dict.fromkeys(name for law in listed for name in law.categories))
    if not listed or all(law.categories == names for law in listed):
        return laws
    shares = (dict(zip(law.categories, law.probabilities, strict=True)) for law in listed)
    return {
        group: CategoricalLaw(names, tuple(own.get(name, 0.0) for name in names))
        for group, own in zip(laws, shares, strict=True)
    }


def _range(attribute: Attribute) -> tuple[float, float]:
    """The bounds of a number; ranges are open at both ends: as far beyond the edges as these are apart."""
    if attribute.bins is None:
        return float(attribute.lower), float(attribute.upper)
    first, last = float(attribute.bins[0]), float(attribute.bins[-1])
    reach = (last - first) or 1.0
    return first - reach, last + reach


def _correlations(entries: Any) -> dict[tuple[str, str], float]:
    try:
        return {(str(first), str(second)): float(value) for first, second, value in entries}
    except (TypeError, ValueError):
        raise SchemeError(
            f'simulate.{_CORRELATIONS} must be a list such as [["income", "age", 0.4]], got {entries!r}'
        ) from None
