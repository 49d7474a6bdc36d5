"""The study of values on points: errors beside oracles that know the values and peers at their best, and intervals.

Errors are Wasserstein-1 distances as shares of the range; intervals are of numbers that people ask of counts and incomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpcore._random import seeded
from dpcore.functionals import Cdf, Functional, Mean, Probability, Quantile
from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.peers import catalogue, histogram
from dpcore.laboratory.studies.runner import Cell, seed
from dpcore.laboratory.studies.targets.discrete_distributions import PointLaw, point_laws
from dpcore.mechanisms import RandomizedResponse, SubsetSelection, UnaryEncoding
from dpcore.pipeline import estimate
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import simulate

OURS, ORACLE = "auto", "oracle:"
CHUNK = 25
_ORACLES = (SubsetSelection, UnaryEncoding, RandomizedResponse)
_SHARES = (0.25, 0.5, 0.9)  # at or below the values whose shares are asked


def asked(law: PointLaw) -> dict[str, Functional]:
    """Return what intervals are asked of, by what they are called in rows: cdf at values that people report, and others."""
    places = np.minimum(np.searchsorted(np.cumsum(law.probabilities), np.array(_SHARES) - 1e-9), len(law.points) - 2)
    values = law.points[places].tolist()
    shares = {f"cdf({share:g})": Cdf(value) for share, value in zip(_SHARES, values, strict=True)}
    middle = (
        Probability(values[0], values[2]) if values[0] < values[2] else Probability(values[0], values[0] + law.step)
    )
    return {
        **shares,
        "probability": middle,
        "quantile(0.5)": Quantile(0.5),
        "quantile(0.9)": Quantile(0.9),
        "mean": Mean(),
    }


def measure(method: str, cell: Cell, chunk: int, upto: int) -> pd.DataFrame:
    """Return sums of a chunk's rounds: of ours Wasserstein errors, who held, lengths, and refusals; of others errors."""
    law, repetitions = point_laws()[cell.target], range(chunk * CHUNK, upto)
    if method != OURS:
        return _rivals(law, cell, chunk, repetitions)
    scheme = Scheme.from_toml(law.scheme(cell.epsilon, cell.clients))
    sums: dict[str, float] = {}

    def add(metric: str, value: float) -> None:
        sums[metric] = sums.get(metric, 0.0) + value

    for repetition in repetitions:
        generator = seeded(seed(cell, OURS, repetition)).generator()
        people = generator.multinomial(cell.clients, law.probabilities)
        records = {"x": np.repeat(law.points, people)}
        fitted = estimate(simulate(scheme, records, seeded(seed(cell, "reports", repetition))), "x")
        error = law.wasserstein(fitted.values)
        add("w1", error)
        add("w1_square", error**2)
        for name, functional in asked(law).items():
            result = fitted.functional(functional)
            truth = functional.of_probabilities(law.probabilities, law.points)
            add(f"refused:{name}", result.is_refused)
            add(f"held:{name}", not result.is_refused and result.low <= truth + 1e-12 and truth - 1e-12 <= result.high)
            add(f"length:{name}", 0.0 if result.is_refused else result.high - result.low)
    return runner.rows(method, cell, chunk, len(repetitions), sums)


def _rivals(law: PointLaw, cell: Cell, chunk: int, repetitions: range) -> pd.DataFrame:
    """Oracles that know the values, each with the nearest proper frequencies, and every setting of the peers."""
    target, frames = law.target(), []
    for name, errors in (*_oracles(law, cell, repetitions), *_peers(law, target, cell, repetitions)):
        sums = {"w1": float(np.sum(errors)), "w1_square": float(np.sum(np.square(errors)))}
        frames.append(runner.rows(name, cell, chunk, len(repetitions), sums))
    return pd.concat(frames, ignore_index=True)


def _oracles(law: PointLaw, cell: Cell, repetitions: range) -> Iterator[tuple[str, list[float]]]:
    for kind in _ORACLES:
        mechanism = kind.design(Budget.parse(repr(cell.epsilon)), categories=len(law.points))
        errors = []
        for repetition in repetitions:
            random = seeded(seed(cell, kind.name, repetition))
            people = random.generator().multinomial(cell.clients, law.probabilities)
            raw = mechanism.model().frequencies(mechanism.simulate(people, random), cell.clients)
            errors.append(law.wasserstein(histogram.norm_sub(raw[None])[0]))
        yield ORACLE + kind.name, errors


def _peers(law: PointLaw, target: Any, cell: Cell, repetitions: range) -> Iterator[tuple[str, list[float]]]:
    for peer in catalogue.peers():
        seeds = [
            seed(cell, peer.settings[0].method + peer.settings[0].parameters, repetition) for repetition in repetitions
        ]
        for setting, estimates in zip(
            peer.settings, peer.estimates(target, cell.clients, cell.epsilon, seeds), strict=True
        ):
            yield f"{setting.method} {setting.parameters}", [law.wasserstein_of_cells(cells) for cells in estimates]
