"""Lower bounds on the error of any mechanism: for a functional in the assumed population, or for a density near uniform."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcore.estimation.diagnostics.efficiency import curve_ratio, least_error, least_variance
from dpcore.functionals import parse
from dpcore.functionals.base import FunctionDensity
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.privacy.budget import Budget
from dpcore.protocol.simulation import category_law, has_category, numbers_of
from dpcore.rounds.planning.aims import DENSITY, FREQUENCY

_CELLS = 1 << 10


def limit(attribute: Any, quantity: str, people: Any, budget: Budget, reports: int) -> float | None:
    """Return the lower bound on the error, in the quantity's unit; None if unknown."""
    if attribute.texts is not None:
        return None
    share, ratio = FREQUENCY.match(quantity), math.exp(float(budget))
    if attribute.has_density:
        if share is not None or quantity == DENSITY:
            return None
        return least_error(parse(quantity), _density(attribute, people), ratio, reports)
    law = category_law(attribute, people)
    if share is not None:
        values = has_category(attribute, share[1])
    else:
        functional = parse(quantity)
        if not functional.is_linear:
            return None
        numbers, places = np.unique(numbers_of(attribute, functional), return_inverse=True)  # of sets, few
        law = np.bincount(places, law)
        values = functional.expand_probabilities(law, numbers)[1]
    return math.sqrt(least_variance(values, law, ratio) / reports)


def of_curve(attribute: Any, quantity: str, reports: int) -> float | None:
    """Return the ratio of a density's error to the lower bound for any mechanism near the uniform density; None if unknown."""
    if quantity != DENSITY or attribute.missing == "category":
        return None
    model = attribute.mechanism.model()
    return curve_ratio(model, math.exp(float(attribute.budget)), reports) if isinstance(model, FiniteChannel) else None


def _density(attribute: Any, people: Any) -> FunctionDensity:
    """The population's density, constant within a cell."""
    lower, upper = float(attribute.lower), float(attribute.upper)
    heights = np.asarray(people.cell_probabilities(attribute.name, lower, upper, _CELLS)) * _CELLS / (upper - lower)
    edges = np.linspace(lower, upper, _CELLS + 1)

    def pdf(x: np.ndarray) -> np.ndarray:
        return np.asarray(heights[np.clip(np.searchsorted(edges, x, side="right") - 1, 0, _CELLS - 1)])

    return FunctionDensity(lower, upper, pdf, tuple(edges))
