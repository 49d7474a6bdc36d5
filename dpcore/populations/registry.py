"""Which simulated people answer which scheme."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from dpcore.errors import SchemeError
from dpcore.populations.base import Population, Respondents
from dpcore.populations.consumer_expenditure import consumer_expenditure
from dpcore.populations.default_population import default_population
from dpcore.populations.dialect import Dialect
from dpcore.populations.resampled import Resampled
from dpcore.protocol.scheme import Scheme

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
