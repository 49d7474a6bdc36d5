"""The error below which no mechanism comes: for the number that is planned for, among the people that are planned with, or for
a density, among all that are near the uniform one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcore.estimation.diagnostics.density_efficiency import curve_ratio
from dpcore.estimation.diagnostics.efficiency import least_error, least_variance
from dpcore.functionals import parse
from dpcore.functionals.base import FunctionDensity
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.privacy.budget import Budget
from dpcore.protocol.simulation import category_law
from dpcore.rounds.planning.aims import DENSITY, FREQUENCY

_CELLS = 1 << 10


def limit(attribute: Any, quantity: str, people: Any, budget: Budget, reports: int) -> float | None:
    """Return it in the quantity's unit, from an attribute and a population; None where none is known."""
    share, ratio = FREQUENCY.match(quantity), math.exp(float(budget))
    if attribute.has_density:
        if share is not None or quantity == DENSITY:
            return None
        return least_error(parse(quantity), _density(attribute, people), ratio, reports)
    law = category_law(attribute, people)
    if share is not None:
        values = np.array([category == share[1] for category in attribute.categories], dtype=np.float64)
    else:
        functional = parse(quantity)
        if not functional.is_linear:
            return None
        values = functional.expand_probabilities(law, np.array(attribute.values, dtype=np.float64))[1]
    return math.sqrt(least_variance(values, law, ratio) / reports)


def of_curve(attribute: Any, quantity: str, reports: int) -> float | None:
    """Return a density's error over the least of any mechanism, near the uniform density; None where none is known."""
    if quantity != DENSITY or attribute.missing == "category":
        return None
    model = attribute.mechanism.model()
    return curve_ratio(model, math.exp(float(attribute.budget)), reports) if isinstance(model, FiniteChannel) else None


def _density(attribute: Any, people: Any) -> FunctionDensity:
    """The people's density, the same everywhere within a cell."""
    lower, upper = float(attribute.lower), float(attribute.upper)
    heights = np.asarray(people.cell_probabilities(attribute.name, lower, upper, _CELLS)) * _CELLS / (upper - lower)
    edges = np.linspace(lower, upper, _CELLS + 1)

    def pdf(x: np.ndarray) -> np.ndarray:
        return np.asarray(heights[np.clip(np.searchsorted(edges, x, side="right") - 1, 0, _CELLS - 1)])

    return FunctionDensity(lower, upper, pdf, tuple(edges))
