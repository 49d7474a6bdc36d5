"""The population that a plan assumes: its expected aggregate, and lower bounds on the error of any mechanism.

In the expected aggregate every count and sum equals its rounded mean, without randomness.  Its estimates have the standard
errors that a round with so many clients will have, which the planner uses.  The lower bounds are for a functional in the
assumed population, or for a density near uniform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcore.estimation.diagnostics.efficiency import curve_ratio, least_error, least_variance
from dpcore.functionals import parse
from dpcore.functionals.base import FunctionDensity
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.populations.default_population import default_population
from dpcore.populations.registry import NAMES, by_scheme
from dpcore.privacy.budget import Budget
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import category_law, cell_law
from dpcore.rounds.planning.aims import DENSITY, FREQUENCY

_CELLS = 1 << 10


@dataclass(frozen=True)
class Assumed:
    """Numeric values with density .3 + .7 Beta(2, 4) over the bounds; all categories equally frequent.

    Errors under local privacy depend little on the distribution, because the noise dominates.
    """

    name: str = "assumed values: 30 % uniform and 70 % Beta(2, 4) over the bounds, categories equally common"
    weights: Mapping[str, float] = field(default_factory=lambda: {"all": 1.0})

    def cell_probabilities(
        self, attribute: str, lower: float, upper: float, cells: int, condition: str | None = None
    ) -> np.ndarray:
        """Return the probabilities of equal cells of the bounds, shape (cells,)."""
        x = np.linspace(0, 1, cells + 1)
        return np.diff(0.3 * x + 0.7 * (1 - (1 + 4 * x) * (1 - x) ** 4))

    def range_probabilities(self, attribute: str, edges: Sequence[float], condition: str | None = None) -> np.ndarray:
        """Return equal probabilities, shape (k + 1,)."""
        return self.probabilities(attribute, ["", *map(str, edges)])

    def probabilities(self, attribute: str, categories: Sequence[str], condition: str | None = None) -> np.ndarray:
        """Return equal probabilities, shape (k,)."""
        return np.full(len(categories), 1 / len(categories))


def population_of(scheme: Scheme) -> Any:
    """Return the population that the scheme states or that has its name, otherwise the assumed one."""
    if scheme.simulate:
        return default_population(scheme)
    return by_scheme(scheme.name) if scheme.name in NAMES else Assumed()


def expected_aggregate(scheme: Scheme, people: Any, clients: int) -> Aggregate:
    """Return the expected aggregate of so many reports of every attribute; pairs are empty.

    people: a population, as for `simulate`.
    """
    zero = Aggregate.zero(scheme)
    statistics = {
        name: expected_statistics(attribute.mechanism, cell_law(attribute, people), clients)
        for name, attribute in scheme.attributes.items()
    }
    return Aggregate(scheme, clients, statistics, dict(zero.pairs), dict.fromkeys(scheme.attributes, clients))


def expected_statistics(mechanism: Mechanism, law: np.ndarray, n: int) -> np.ndarray:
    """Return the rounded means of the statistics of n reports, shape (S,), int64; law: (inputs,)."""
    return np.rint(mechanism.model().expected_statistics(law, n)).astype(np.int64)


def lower_bound(attribute: Any, quantity: str, people: Any, budget: Budget, reports: int) -> float | None:
    """Return the lower bound on the error, in the quantity's unit; None if unknown."""
    if attribute.is_open:
        return None
    share, ratio = FREQUENCY.match(quantity), math.exp(float(budget))
    if attribute.has_density:
        if share is not None or quantity == DENSITY:
            return None
        return least_error(parse(quantity), _density(attribute, people), ratio, reports)
    law = category_law(attribute, people)
    if share is not None:
        values = attribute.has_category(share[1])
    else:
        functional = parse(quantity)
        if not functional.is_linear:
            return None
        numbers, places = np.unique(attribute.numbers(functional), return_inverse=True)  # of sets, few
        law = np.bincount(places, law)
        values = functional.expand_probabilities(law, numbers)[1]
    return math.sqrt(least_variance(values, law, ratio) / reports)


def density_ratio(attribute: Any, quantity: str, reports: int) -> float | None:
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
