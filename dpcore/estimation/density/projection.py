"""The projection estimate of a density: the plug-in estimate through the dual, at a level that a rule chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from dpcore.estimation.density import resolution_levels
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.density.level_rule import Fixed, Lepski, LevelRule, Undersmoothed
from dpcore.estimation.estimator import DensityEstimator
from dpcore.estimation.inference import distribution_free
from dpcore.estimation.inference.delta_method import DeltaMethod
from dpcore.estimation.joint.conditioning import Pair
from dpcore.functionals.group import Group
from dpcore.mechanisms.observation_model import NoisyFeatures


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
