"""How far an estimate is from a target, the same numbers for every method.

Peers give cell probabilities, which are piecewise constant densities; ours give a density, a distribution function and
functionals of their own.  All are scored against the target's exact quantities, on a grid of 4,096 cells where a grid is
needed.

Metrics: `ise` int (f - g)^2 of the continuous parts; `w1` int |F - G|; `ks` sup |F - G|; absolute errors of the `mean`,
`entropy`, `integrated_square` (int f^2), `median` and `q90`, all of the density shown; `atom`, of the mass at the ends.
A target of atoms only has no density, and no metric of one.

No peer has an atom: its whole density is scored as continuous, and its distribution function up to the atom.
So that nobody wins by definition, two metrics look aside: `ise_known_atom` takes the true atom from a peer's last cell first,
`ks_away` looks only where no atom is within 1/32; a peer's `atom` is what its last cell has more than the one before.
Where a target has no atom they are `ise` and `ks` again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy

from dpcore.functionals import Entropy, IntegratedSquare, Mean
from dpcore.laboratory.studies.targets.densities import Target, target

GRID = 1 << 12
METRICS = (
    "ise",
    "ise_known_atom",
    "w1",
    "ks",
    "ks_away",
    "mean",
    "entropy",
    "integrated_square",
    "median",
    "q90",
    "atom",
)
_AWAY = 1 / 32
_EDGES = np.linspace(0.0, 1.0, GRID + 1)
CENTRES = (np.arange(GRID) + 0.5) / GRID


class Truth:
    """A target with what scores need of it, computed once."""

    def __init__(self, name: str) -> None:
        self.target: Target = target(name)
        self.cumulated = np.concatenate([[0.0], np.cumsum(self.target.cells(GRID))])
        self.away = np.ones(GRID + 1, dtype=bool)
        for place, _ in self.target.atoms if self.target.has_density else ():
            self.away &= np.abs(_EDGES - place) >= _AWAY

    @cached_property
    def density(self) -> np.ndarray:
        return self.target.pdf(CENTRES)

    @cached_property
    def quantiles(self) -> Mapping[str, tuple[float, float]]:
        """Metric -> (t, the quantile)."""
        return {metric: (t, self.target.quantile(t)) for metric, t in (("median", 0.5), ("q90", 0.9))}

    def distances(self, cumulated: np.ndarray) -> dict[str, np.ndarray]:
        """Return the metrics of distribution functions at the grid's edges, shape (repetitions, GRID + 1)."""
        difference = np.abs(cumulated - self.cumulated)
        return {
            "w1": (difference[:, 1:] + difference[:, :-1]).sum(axis=1) / (2 * GRID),
            "ks": difference.max(axis=1),
            "ks_away": difference[:, self.away].max(axis=1),
        }


@lru_cache(maxsize=32)
def truth(name: str) -> Truth:
    """Return the target of that name with what scores need."""
    return Truth(name)


def score_cells(truth: Truth, cells: np.ndarray) -> Mapping[str, np.ndarray]:
    """Return metric -> errors, shape (repetitions,), of cell probabilities, shape (repetitions, d), d a power of two."""
    law, d = truth.target, cells.shape[1]
    edges = np.linspace(0.0, 1.0, d + 1)
    cumulated = np.concatenate([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)], axis=1)
    errors = truth.distances(_refine(cumulated))
    errors["mean"] = np.abs(cells @ ((np.arange(d) + 0.5) / d) - law.mean)
    for metric, (t, quantile) in truth.quantiles.items():
        errors[metric] = np.abs(np.array([_invert(row, edges, t) for row in cumulated]) - quantile)
    if not law.has_density:
        return errors
    mass = np.diff(law.distribution(edges))
    errors["ise"] = errors["ise_known_atom"] = _ise(cells, mass, law.integrated_square)
    errors["entropy"] = np.abs(-scipy.special.xlogy(cells, cells * d).sum(axis=1) - law.entropy)
    errors["integrated_square"] = np.abs((cells**2).sum(axis=1) * d - law.integrated_square)
    if law.atoms:
        rest = np.maximum(cells[:, -1:] - law.atom_mass, 0.0)
        errors["ise_known_atom"] = _ise(np.concatenate([cells[:, :-1], rest], axis=1), mass, law.integrated_square)
        errors["atom"] = np.abs(np.maximum(cells[:, -1] - cells[:, -2], 0.0) - law.atom_mass)
    return errors


def score_estimate(truth: Truth, estimate: Any) -> Mapping[str, float]:
    """Return metric -> error of one `DensityEstimate` on [0, 1]; point values are those of the density shown."""
    law = truth.target
    errors = {name: float(value[0]) for name, value in truth.distances(estimate.cdf(_EDGES)[None, :]).items()}
    errors["mean"] = abs(Mean().value(estimate.density) - law.mean)
    for metric, (t, quantile) in truth.quantiles.items():
        errors[metric] = abs(float(estimate.quantile(t)) - quantile)
    if not law.has_density:
        return errors
    errors["ise"] = errors["ise_known_atom"] = float(((estimate(CENTRES) - truth.density) ** 2).mean())
    errors["entropy"] = abs(Entropy().value(estimate.density) - law.entropy)
    errors["integrated_square"] = abs(IntegratedSquare(0).value(estimate.density) - law.integrated_square)
    if law.atoms:
        true = dict(law.atoms)
        errors["atom"] = sum(
            abs(mass - true.get(end, 0.0)) for end, mass in zip((0.0, 1.0), estimate.atoms, strict=True)
        )
    return errors


def _ise(cells: np.ndarray, mass: np.ndarray, square: float) -> np.ndarray:
    """int (f - g)^2 for piecewise constant g, exactly: int f^2 - 2 int f g + int g^2."""
    d = cells.shape[1]
    return np.maximum(square - 2 * d * (cells @ mass) + d * (cells**2).sum(axis=1), 0.0)


def _refine(cumulated: np.ndarray) -> np.ndarray:
    """The distribution functions at the grid's edges, linear between cells' edges."""
    cells = np.diff(cumulated, axis=1)
    parts = GRID // cells.shape[1]
    fine = cumulated[:, :-1, None] + cells[:, :, None] * (np.arange(parts) / parts)
    return np.concatenate([fine.reshape(len(cells), GRID), cumulated[:, -1:]], axis=1)


def _invert(cumulated: np.ndarray, edges: np.ndarray, t: float) -> float:
    after = min(max(int(np.searchsorted(cumulated, t)), 1), len(edges) - 1)
    rise = cumulated[after] - cumulated[after - 1]
    share = (t - cumulated[after - 1]) / rise if rise > 0 else 0.5
    return float(edges[after - 1] + share * (edges[after] - edges[after - 1]))
