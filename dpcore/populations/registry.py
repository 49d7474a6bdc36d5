"""Simulated respondents by scheme: the households of `consumer_expenditure`, and those of every other scheme.

The households are like those of the Consumer Expenditure survey: five attributes, urban and rural ones different.  The
attributes and their codes are those of the CE sample that teachers of statistical privacy use [HuOverview].  The numbers are
ours and represent no real households.  They have the survey's broad shape: right-skewed incomes, most households without
children, about ten thousand dollars spent in a quarter.  The rural share is 0.22, well above the survey's, so that rural
estimates have people to rest on.  Within urban and within rural households attributes are independent, unlike real ones: given
the place, income and expenditure are unrelated here.  All Beta shapes are whole and at least three: densities are polynomials,
strictly inside the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from dpcore.errors import SchemeError
from dpcore.populations.base import Population, Respondents
from dpcore.populations.default_population import default_population
from dpcore.populations.dialect import Dialect
from dpcore.populations.distributions import Beta, CategoricalLaw, NumericLaw
from dpcore.populations.resampled import Resampled
from dpcore.protocol.scheme import Scheme

INCOME_UPPER = 250_000.0  # USD in the past 12 months, before taxes
EXPENDITURE_UPPER = 50_000.0  # USD in the last quarter

_RACES = ("white", "black", "native american", "asian", "pacific islander", "multi-race")
_KIDS = ("0", "1", "2", "3", "4", "5+")


def consumer_expenditure() -> Population:
    """Return the people of the scheme `consumer_expenditure`.

    Attributes: urban_rural (urban .78, rural .22), race (6 categories), kids_count ("0" to "5+"),
    income (USD a year, in [0, 250000]) and expenditure (USD a quarter, in [0, 50000]).

    >>> rural = consumer_expenditure().truth("income", "rural")
    >>> round(float(rural.quantile(0.5)))
    45083

    References: the attributes and codes are those of the sample in [HuOverview].
    """
    return Population(
        name="consumer_expenditure",
        group="urban_rural",
        weights={"urban": 0.78, "rural": 0.22},
        laws={
            "race": {
                "urban": CategoricalLaw(_RACES, (0.790, 0.120, 0.006, 0.060, 0.006, 0.018)),
                "rural": CategoricalLaw(_RACES, (0.900, 0.060, 0.015, 0.010, 0.003, 0.012)),
            },
            "kids_count": {
                "urban": CategoricalLaw(_KIDS, (0.700, 0.130, 0.110, 0.043, 0.012, 0.005)),
                "rural": CategoricalLaw(_KIDS, (0.740, 0.105, 0.095, 0.040, 0.013, 0.007)),
            },
            "income": {
                "urban": _betas(INCOME_UPPER, (0.55, 3, 12), (0.35, 4, 8), (0.10, 8, 6)),
                "rural": _betas(INCOME_UPPER, (0.75, 3, 15), (0.25, 4, 9)),
            },
            "expenditure": {
                "urban": _betas(EXPENDITURE_UPPER, (0.70, 4, 18), (0.30, 5, 12)),
                "rural": _betas(EXPENDITURE_UPPER, (0.80, 4, 20), (0.20, 5, 14)),
            },
        },
    )


def _betas(upper: float, *parts: tuple[float, int, int]) -> NumericLaw:
    """A mixture of Beta laws (weight, a, b) on [0, upper]."""
    return NumericLaw(0.0, upper, tuple((weight, Beta(a, b, 0.0, upper)) for weight, a, b in parts))


_BY_SCHEME: Mapping[str, Callable[[], Population]] = MappingProxyType({"consumer_expenditure": consumer_expenditure})
NAMES = tuple(_BY_SCHEME)


def respondents_of(scheme: Scheme, like: Path | None = None, dialect: Dialect = Dialect()) -> Respondents:
    """Return the simulated respondents of a scheme.

    like: a file of records they are drawn from, in the format of `dialect`.  Without one they are those that the scheme's
    `simulate` states, else those of its name where they have all that it asks, else default ones.
    Raises SchemeError or InvalidRecord.
    """
    if like is not None:
        return Resampled(scheme, like, dialect)
    if scheme.simulate:
        return default_population(scheme)
    asked = {question.name for attribute in scheme.reported.values() for question in attribute.questions}
    if scheme.name in _BY_SCHEME and asked <= set(by_scheme(scheme.name).attributes):
        return by_scheme(scheme.name)
    return default_population(scheme)


def by_scheme(name: str) -> Population:
    """Return the simulated people of the scheme with that name.

    Raises SchemeError where there are none: `respondents_of` has default ones then.
    """
    if name not in _BY_SCHEME:
        raise SchemeError(
            f"scheme {name!r} has no simulated people (only {', '.join(NAMES)}); pass real ones with --records FILE"
        )
    return _BY_SCHEME[name]()
