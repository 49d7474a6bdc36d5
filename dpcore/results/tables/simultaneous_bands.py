"""Curves with simultaneous bands, under the conditions that a scheme names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from dpcore.errors import NotEstimable
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.functional_estimate import BIAS_AWARE, DISTRIBUTION_FREE
from dpcore.pipeline import Round


def simultaneous_bands(round_: Round, points: int) -> Iterator[pd.DataFrame]:
    """Yield rows of `densities` on so many points: bands under the assumed smoothness, and distribution-free bands."""
    attributes = round_.aggregate.scheme.attributes
    named: list[tuple[str, str, dict[str, Any]]] = [
        *((name, BIAS_AWARE, {"second_derivative": float(attributes[name].assume or 0)}) for name in round_.assumed),
        *((name, DISTRIBUTION_FREE, {"distribution_free": True}) for name in round_.any_law),
    ]
    for name, estimator, laws in named:
        estimate = round_.estimates[name]
        assert isinstance(estimate, DensityEstimate)  # schemes have these keys for densities only
        try:
            yield estimate.to_frame(points, **laws).assign(attribute=name, estimator=estimator, given="")
        except NotEstimable:
            continue  # the functionals have the reason
