"""Our own methods: a scheme's lines for one attribute, and `dp.estimate` without an option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np

from dpcore import pipeline
from dpcore._random import seeded
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.laboratory.studies import metrics
from dpcore.laboratory.studies.method import Method, Setting
from dpcore.laboratory.studies.targets.densities import Target
from dpcore.mechanisms.calibration.wave_design import PURPOSES
from dpcore.protocol.scheme import Scheme

ATTRIBUTE = "x"
_CUBIC = 'mechanism = "wavelet_laplace"\nallocation = "sample"\ndegree = 3'


@dataclass(frozen=True)
class Contestant(Method):
    """A numeric attribute on [0, 1] as a scheme declares it; everything else is the defaults.

    lines: TOML, such as `mechanism = "wavelet_laplace"`; without `epsilon`.
    """

    name: str
    lines: str

    @property
    def settings(self) -> tuple[Setting, ...]:  # type: ignore[override]
        return (Setting(self.name),)

    def scheme(self, n: int, epsilon: float) -> Scheme:
        """Return the scheme for that many clients."""
        return _scheme(self.lines, n, epsilon)

    def errors(
        self, target: str, n: int, epsilon: float, seeds: Sequence[Sequence[int]]
    ) -> list[Mapping[str, np.ndarray]]:
        truth = metrics.truth(target)
        rows = [metrics.score_estimate(truth, self.estimate(truth.target, n, epsilon, seed)) for seed in seeds]
        return [{metric: np.array([row[metric] for row in rows]) for metric in rows[0]}]

    def estimate(self, target: Target, n: int, epsilon: float, seed: Sequence[int]) -> DensityEstimate:
        """Return one repetition's estimate."""
        aggregate = pipeline.simulate(self.scheme(n, epsilon), target, seeded(seed), n)
        return cast(DensityEstimate, pipeline.estimate(aggregate, ATTRIBUTE))


@lru_cache(maxsize=16)
def _scheme(lines: str, n: int, epsilon: float) -> Scheme:
    head = f'name = "accuracy"\nclients = {n}\n[attributes.{ATTRIBUTE}]\ntype = "numeric"\nlower = 0\nupper = 1\n'
    return Scheme.from_toml(f"{head}epsilon = {epsilon:g}\n{lines}\n")


def contestants() -> tuple[Contestant, ...]:
    """Return our methods; `dyadic_wave` is the one that the aims are about."""
    return (
        Contestant("dyadic_wave", 'mechanism = "dyadic_wave"'),
        *(
            Contestant(f"dyadic_wave_{purpose}", f'mechanism = "dyadic_wave"\npurpose = "{purpose}"')
            for purpose in PURPOSES
        ),
        Contestant("dyadic_wave_ems", 'mechanism = "dyadic_wave"\nestimator = "ems"'),
        Contestant("square_wave", 'mechanism = "square_wave"'),
        Contestant("wavelet_laplace", 'mechanism = "wavelet_laplace"'),
        Contestant("wavelet_laplace_undersmoothed", 'mechanism = "wavelet_laplace"\nlevel_rule = "undersmoothed"'),
        Contestant("wavelet_laplace_cubic", _CUBIC),
        Contestant("wavelet_laplace_cubic_log_spline", f'{_CUBIC}\nestimator = "log_spline"'),
    )
