"""What a scheme asks of its attributes: whether it can be estimated at all, and what is found under what it assumes."""

from __future__ import annotations

from typing import Any

from dpcore.errors import SchemeError, check_within
from dpcore.estimation.diagnostics.evidence import Evidence
from dpcore.estimation.functional_estimate import FunctionalEstimate
from dpcore.estimation.registry import named
from dpcore.functionals import parse


def check_estimates(scheme: Any) -> None:
    """Raise SchemeError where an attribute is asked for a level or a functional that its kind, bounds or basis rule out.

    To be called before anyone reports: found later, the reports would be lost with the scheme that has to change.
    """
    for name, attribute in scheme.attributes.items():
        try:
            _check_attribute(attribute)
        except SchemeError as error:
            raise SchemeError(f"attributes.{name}: {error}") from None


def _check_attribute(attribute: Any) -> None:
    basis = getattr(attribute.mechanism, "basis", None)
    if attribute.level is not None and basis is not None:
        check_within(basis.coarsest_level, basis.finest_level + 1, level=attribute.level)
    asked = []
    for text in attribute.functionals:
        functional = parse(text)
        reason = functional.refuses_probabilities()
        if attribute.has_density:
            bounds = float(attribute.lower), float(attribute.upper)
            reason = functional.refuses(*bounds, named(attribute).degree(attribute.mechanism))
        if reason is not None:
            raise SchemeError(f"functionals: {text!r}: {reason}")
        asked.append(str(functional))
    if len(set(asked)) != len(asked):
        raise SchemeError(f"functionals must differ, got {', '.join(asked)}")


def assuming(attribute: Any, density: Any) -> tuple[tuple[FunctionalEstimate, ...], Evidence]:
    """Return an attribute's functionals if its density is as smooth as is assumed, and whether reports contradict that."""
    bound = float(attribute.assume)
    results = (density.functional(parse(text), second_derivative=bound) for text in attribute.functionals)
    return tuple(results), density.assumption(bound)


def whatever_the_law(attribute: Any, density: Any) -> tuple[FunctionalEstimate, ...]:
    """Return an attribute's functionals with intervals that hold whatever the law of its values."""
    return tuple(density.functional(parse(text), distribution_free=True) for text in attribute.functionals)
