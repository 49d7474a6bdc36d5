"""The population that a plan assumes for a scheme without a simulated population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcore.populations.default_population import default_population
from dpcore.populations.registry import NAMES, by_scheme
from dpcore.protocol.scheme import Scheme


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
