"""Functionals of a density, each with its influence function: `Mean()`, `Quantile(0.5)`, `IntegratedSquare(0)`, ...

Here: value, range, unit, description and influence function of each; the list (`KINDS`), and the parser of their names.
A new one is a file that declares it, and a line in `KINDS`.  Not here: estimated densities and intervals
(`estimation`).  May import errors; scipy only where a value is computed, so that schemes are read without it.

Modules:
    axis: the cells of one of two attributes
    base: the functional interface: value, influence, curvature
    distance: Wasserstein distances and Kullback-Leibler divergence
    group: a functional of one category's respondents
    integral: integrals of powers, of squared derivatives and of logarithms: entropy, Fisher information
    joint: functionals of two attributes: covariance, correlation, conditional means
    linear: moments, proportions and density values
    quantile: quantiles
    reference: reference distributions of distances
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from dpcore.errors import SchemeError
from dpcore.functionals.base import Curvature, Density, Expansion, Functional, FunctionDensity, Influence
from dpcore.functionals.distance import KullbackLeibler, Wasserstein
from dpcore.functionals.integral import Entropy, FisherInformation, IntegratedSquare, PowerIntegral
from dpcore.functionals.joint import (
    CellDifference,
    ConditionalMean,
    ConditionalProbability,
    ConditionalQuantile,
    Correlation,
    Covariance,
    Intercept,
    JointFunctional,
    RankCorrelation,
    Rectangle,
    Slope,
)
from dpcore.functionals.linear import Atom, Both, Cdf, CentralMoment, Derivative, Mean, Moment, Probability, Variance
from dpcore.functionals.quantile import Quantile
from dpcore.functionals.reference import REFERENCES, Reference

KINDS: tuple[type[Functional], ...] = (  # in the order in which tables and messages have them: what people ask first
    Mean,
    Quantile,
    Cdf,
    Probability,
    Atom,
    Variance,
    CentralMoment,
    Derivative,
    Entropy,
    FisherInformation,
    IntegratedSquare,
    KullbackLeibler,
    Moment,
    PowerIntegral,
    Wasserstein,
    Both,
)
NAMES = tuple(kind.name for kind in KINDS)
_TEXT = re.compile(r"^\s*([a-z_]+)\s*(?:\((.*)\))?\s*$")


def parse(text: str) -> Functional:
    """Return the functional that a scheme names, such as 'mean' or 'quantile(0.5)'.

    Raises SchemeError for an unknown name, a wrong number of arguments, or an argument out of range.

    >>> parse("probability(0, 10000)")
    Probability(a=0, b=10000)
    >>> str(parse("quantile(.5)"))
    'quantile(0.5)'
    >>> parse("wasserstein(1, uniform)")
    Wasserstein(p=1, reference='uniform')
    >>> parse("both(bus, train)")
    Both(one='bus', other='train')
    """
    match = _TEXT.match(text)
    kind = dict(zip(NAMES, KINDS, strict=True)).get(match[1]) if match else None
    if match is None or kind is None:
        raise SchemeError(f"a functional must be one of {', '.join(NAMES)}, such as 'quantile(0.5)'; got {text!r}")
    try:
        inside = (match[2] or "").strip()
        parts, wanted = inside.split(",") if inside else [], fields(kind)  # type: ignore[arg-type]
        return kind(*[_argument(field.name, part) for field, part in zip(wanted, parts, strict=True)])
    except (TypeError, ValueError):
        listed = ", ".join(getattr(kind, "__dataclass_fields__", {}))
        takes = f"({listed}), such as '{kind.example}'" if listed else "no arguments"
        hint = "; an option with a comma in its name needs another name" if kind is Both and len(parts) > 2 else ""
        raise SchemeError(f"{kind.name} takes {takes}; got {text!r}{hint}") from None


def _argument(field: str, text: str) -> Any:
    return text.strip() if field in ("reference", "one", "other") else _number(text)


def _number(text: str) -> float:
    value = float(text)
    if not abs(value) < float("inf"):
        raise ValueError
    return int(value) if value.is_integer() else value
