"""The projection estimate of a density, through the dual, and the rules that choose its resolution level.

`Lepski` takes the coarsest level from which no finer one differs by more than its noise.  The distribution of the noise is
known, and thresholds are its quantiles.  The literal rules of the source, whose constants have no universal value, are in
`laboratory.theory.level_rules`.  Source: [Szabo2024]; the calibration is ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from dpcore.errors import NotEstimable, SchemeError, check_positive
from dpcore.estimation import constants
from dpcore.estimation.density import resolution_levels
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.density.resolution_levels import Ladder
from dpcore.estimation.diagnostics.chi_square_mixture import ChiSquareMixture
from dpcore.estimation.diagnostics.evidence import LevelRow
from dpcore.estimation.estimator import DensityEstimator
from dpcore.estimation.inference import distribution_free
from dpcore.estimation.inference.delta_method import DeltaMethod
from dpcore.estimation.joint.conditioning import Pair
from dpcore.functionals.group import Group
from dpcore.mechanisms.observation_model import NoisyFeatures


class LevelRule(ABC):
    """Chooses a level of a ladder.

    undersmoothing: number of levels by which the centre of bands is finer, if the data choose the level; functionals are then
    corrected.
    """

    undersmoothing: int = 0

    @abstractmethod
    def select(self, ladder: Ladder) -> tuple[int, tuple[LevelRow, ...]]:
        """Return the chosen level and the comparisons, one row per level; raises NotEstimable if it cannot."""


@dataclass(frozen=True)
class Fixed(LevelRule):
    """A fixed level j, coarsest_level <= j <= finest_level + 1."""

    level: int

    def select(self, ladder: Ladder) -> tuple[int, tuple[LevelRow, ...]]:
        basis = ladder.basis
        if not basis.coarsest_level <= self.level <= basis.finest_level + 1:
            raise SchemeError(
                f"level must lie between {basis.coarsest_level} and {basis.finest_level + 1} for this scheme, "
                f"got {self.level}"
            )
        if self.level not in ladder.levels:
            raise NotEstimable(
                f"level {self.level}: some of its blocks have no reports; choose one of {_listed(ladder.levels)}"
            )
        return self.level, tuple(LevelRow(j, None, None, j == self.level) for j in ladder.levels)


@dataclass(frozen=True)
class Undersmoothed(LevelRule):
    """A level that depends on n and epsilon alone, for smooth functionals: one finer than balances a curve with p = degree + 1.

    ceil(log2((n epsilon^2)^{1/(2p+2)})) + 1, at most floor(log2((n epsilon^2)^{1/4})), above which the noise of squares
    dominates, and within the levels that have reports.  Lepski's level is too coarse for functionals whose linear bias must
    vanish faster than their noise; this level overfits the curve on purpose.
    """

    def select(self, ladder: Ladder) -> tuple[int, tuple[LevelRow, ...]]:
        size = np.log2(ladder.n * ladder.epsilon**2)
        wanted = int(np.ceil(size / (2 * (ladder.basis.degree + 1) + 2))) + 1
        level = min(max(min(wanted, int(np.floor(size / 4))), ladder.levels[0]), ladder.levels[-1])
        return level, tuple(LevelRow(j, None, None, j == level) for j in ladder.levels)


@dataclass(frozen=True)
class Lepski(LevelRule):
    """The smallest j such that ||f^l - f^j|| <= constant * q_jl for every l > j, norms in L2.

    q_jl is the 1 - .05 * 4^{-(l - j)} quantile of the norm of the noise of f^l - f^j, a weighted sum of chi-squares with known
    weights.  A level that describes the density is rejected with probability at most .05 (1/4 + 1/16 + ...) = 1/60.

    constant: > 0; 1 is calibrated.
    """

    constant: float = 1.0
    undersmoothing = 1

    def __post_init__(self) -> None:
        check_positive(constant=self.constant)

    def select(self, ladder: Ladder) -> tuple[int, tuple[LevelRow, ...]]:
        return first_accepted(ladder, distances(ladder.energies), self.constant * thresholds(ladder.spectra))


def distances(energies: np.ndarray) -> np.ndarray:
    """Return ||f^l - f^j||, shape (..., L, L), zero for l <= j, from ||f^{j+1} - f^j||^2, shape (..., L - 1)."""
    total = np.concatenate([np.zeros((*energies.shape[:-1], 1)), np.cumsum(energies, axis=-1)], axis=-1)
    return np.sqrt(np.maximum(total[..., None, :] - total[..., :, None], 0.0))


def thresholds(spectra: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return q_jl, shape (L, L), from the eigenvalues of each block's noise; one where l <= j."""
    size = len(spectra) + 1
    table = np.ones((size, size))
    for j in range(size):
        for l in range(j + 1, size):
            law = ChiSquareMixture(np.concatenate(spectra[j:l]))
            # Errors are four times rarer per level of distance, as squared error grows fourfold per level
            table[j, l] = np.sqrt(law.quantile(1 - constants.SIGNIFICANCE * 4.0 ** -(l - j)))
    return table


def accepted(statistic: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Return the index of the first level that no finer one rejects, shape (...), from (..., L, L) and (L, L)."""
    finer = np.triu(np.ones(threshold.shape, dtype=bool), 1)
    return np.asarray(np.argmin(np.any((statistic > threshold) & finer, axis=-1), axis=-1))


def first_accepted(ladder: Ladder, statistic: np.ndarray, threshold: np.ndarray) -> tuple[int, tuple[LevelRow, ...]]:
    """Return the first level that no finer one rejects, and per level the comparison closest to its threshold; both (L, L)."""
    chosen = ladder.levels[int(accepted(statistic, threshold))]
    rows = []
    for index, level in enumerate(ladder.levels):
        if level == ladder.levels[-1]:
            rows.append(LevelRow(level, None, None, level == chosen))
            continue
        ratios = statistic[index, index + 1 :] / threshold[index, index + 1 :]
        worst = index + 1 + int(np.argmax(ratios))
        pair = float(statistic[index, worst]), float(threshold[index, worst])
        rows.append(LevelRow(level, *pair, level == chosen))
    return chosen, tuple(rows)


def _listed(levels: range) -> str:
    return f"{levels[0]} to {levels[-1]}" if len(levels) > 1 else str(levels[0])


@dataclass(frozen=True)
class Projection(DensityEstimator):
    """Least squares in V_j: coefficients through the explicit dual, j chosen by `level_rule`.

    unit_mass: condition on mass one (see `resolution_levels`); False is the literal plug-in of the source.  The density shown
    is the nearest proper one; functionals are evaluated as in `delta_method`.
    """

    level_rule: LevelRule = field(default_factory=Lepski)
    unit_mass: bool = True
    name = "projection"
    titles = MappingProxyType({"projection": "estimated by projection"})
    needs = "projection needs a mechanism of noisy features"

    @classmethod
    def from_attribute(cls, attribute: Any) -> Self:
        if attribute.level is not None:
            return cls(Fixed(attribute.level))
        return cls(Undersmoothed() if attribute.level_rule == "undersmoothed" else Lepski())

    def degree(self, mechanism: Any) -> int | None:
        return getattr(mechanism.basis, "degree", None)

    def _reads(self, model: Any) -> bool:
        return isinstance(model, NoisyFeatures)

    def _of_everyone(self, described: Any, model: NoisyFeatures, statistics: np.ndarray) -> DensityEstimate:
        return self._estimate(described, InnerProducts.from_statistics(model, statistics), None)

    def _of_groups(self, described: Any, model: NoisyFeatures, pair: Pair) -> Callable[[int, Group], DensityEstimate]:
        def one(place: int, group: Group) -> DensityEstimate:
            return self._estimate(described, InnerProducts.of_group(model, pair.tables, pair.inverse[place]), group)

        return one

    def _estimate(self, described: Any, observed: InnerProducts, group: Group | None) -> DensityEstimate:
        lower, upper = float(described.lower), float(described.upper)
        rungs = resolution_levels.build(observed, float(described.budget), self.unit_mass)
        level, rows = self.level_rule.select(rungs)
        shown = rungs.rung(level, lower, upper)
        fine = min(level + self.level_rule.undersmoothing, rungs.levels[-1])
        finer = rungs.rung(fine, lower, upper) if fine > level else shown
        return DensityEstimate(
            attribute=described.name,
            unit=described.unit,
            density=shown.proper,
            covariance=shown.covariance,
            raw=shown.raw,
            n=round(float(np.asarray(rungs.n))),
            estimator=self.name,
            group=group,
            levels=rows,
            inference=DeltaMethod(
                shown,
                finer,
                likelihood=observed.averages,
                is_corrected=self.level_rule.undersmoothing > 0,
                is_linear=isinstance(self.level_rule, Fixed) and not self.unit_mass and group is None,
            ),
            any_law=cache(partial(distribution_free.from_likelihood, observed.averages, shown.proper)),
        )
