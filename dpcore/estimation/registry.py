"""Every estimator by its names in schemes, and whether they can estimate what a scheme's attributes ask for.

The estimators are collected from the files of four packages.  Also here: an attribute's estimates under declared assumptions.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from dpcore.errors import SchemeError, check_within
from dpcore.estimation.diagnostics.evidence import Evidence
from dpcore.estimation.estimator import Estimator
from dpcore.estimation.functional_estimate import FunctionalEstimate
from dpcore.functionals import parse

PACKAGES = ("density", "discrete", "frequency", "joint")  # whose files may hold an estimator


@cache
def by_name() -> dict[str, type[Estimator]]:
    """Return name -> the estimator with that name in its `titles`."""
    estimators: dict[str, type[Estimator]] = {}
    for folder in PACKAGES:
        package = import_module(f"{__package__}.{folder}")
        for module in iter_modules(package.__path__):
            for kind in vars(import_module(f"{package.__name__}.{module.name}")).values():
                if isinstance(kind, type) and issubclass(kind, Estimator):
                    estimators |= dict.fromkeys(kind.titles, kind)
    return estimators


def names_where(**traits: bool) -> list[str]:
    """Return the names of the estimators with these traits, such as is_selected=True."""
    return [name for name, kind in by_name().items() if all(getattr(kind, key) == traits[key] for key in traits)]


def named(attribute: Any) -> Estimator:
    """Return the estimator that the scheme names for an attribute, with the scheme's options."""
    return by_name()[attribute.estimator].from_attribute(attribute)


def check_estimates(scheme: Any) -> None:
    """Raise SchemeError if an attribute's level or functionals do not fit its type, bounds or basis, or for a regression.

    Call it before anyone reports: a later change of the scheme would lose the reports.
    """
    for name, attribute in scheme.attributes.items():
        try:
            _check_attribute(attribute)
        except SchemeError as error:
            raise SchemeError(f"attributes.{name}: {error}") from None
    for name, regression in scheme.regressions.items():
        from dpcore.estimation.regression.regression import declared  # takes 20 ms, and few schemes have regressions

        try:
            declared(scheme, regression.formula, regression.reference)
        except SchemeError as error:
            raise SchemeError(f"regressions.{name}: {error}") from None


def _check_attribute(attribute: Any) -> None:
    basis = getattr(attribute.mechanism, "basis", None)
    if attribute.level is not None and basis is not None:
        check_within(basis.coarsest_level, basis.finest_level + 1, level=attribute.level)
    asked = []
    degree = named(attribute).degree(attribute.mechanism) if attribute.functionals else None
    for text in attribute.functionals:
        functional = parse(text)
        reason = attribute.refusal(functional, degree)
        if reason is not None:
            raise SchemeError(f"functionals: {text!r}: {reason}")
        asked.append(str(functional))
    if len(set(asked)) != len(asked):
        raise SchemeError(f"functionals must differ, got {', '.join(asked)}")


def assuming(attribute: Any, density: Any) -> tuple[tuple[FunctionalEstimate, ...], Evidence]:
    """Return an attribute's functionals under its declared bound, and the test of the bound."""
    bound = float(attribute.assume)
    results = (density.functional(parse(text), second_derivative=bound) for text in attribute.functionals)
    return tuple(results), density.assumption(bound)


def whatever_the_law(attribute: Any, density: Any) -> tuple[FunctionalEstimate, ...]:
    """Return an attribute's functionals with intervals valid for every distribution."""
    return tuple(density.functional(parse(text), distribution_free=True) for text in attribute.functionals)
