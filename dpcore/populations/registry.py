"""Which simulated people answer which scheme."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from dpcore.errors import SchemeError
from dpcore.populations.base import Population
from dpcore.populations.consumer_expenditure import consumer_expenditure

_BY_SCHEME: Mapping[str, Callable[[], Population]] = MappingProxyType({"consumer_expenditure": consumer_expenditure})
NAMES = tuple(_BY_SCHEME)


def by_scheme(name: str) -> Population:
    """Return the simulated people of the scheme with that name.

    Raises SchemeError where there are none: such a scheme is for real records.
    """
    if name not in _BY_SCHEME:
        raise SchemeError(
            f"scheme {name!r} has no simulated people (only {', '.join(NAMES)}); pass real ones with --records FILE"
        )
    return _BY_SCHEME[name]()
