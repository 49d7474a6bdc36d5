"""Bands of a log-spline where the density all but vanishes: the posterior of its logarithm alone covered .53 and .68 here."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.laboratory.studies.contestants import contestants
from dpcore.laboratory.studies.targets.densities import target


@pytest.mark.nightly("a study")
@pytest.mark.parametrize("name", ["beta_10_10", "expenditure"])
def test_bands_hold_the_truth_in_the_tails_and_stay_near_the_density(name: str) -> None:
    ours = next(each for each in contestants() if each.name == "dyadic_wave")
    truth, x = target(name), (np.arange(400) + 0.5) / 400
    density = truth.pdf(x)
    held, highest = [], []
    for repetition in range(12):
        low, high = ours.estimate(truth, 100_000, 1.0, (8, repetition)).band(x)
        held.append((low <= density) & (density <= high))
        highest.append(high.max())
    tail = density < 0.05
    assert np.mean(held) > 0.85
    assert np.mean(np.array(held)[:, tail]) > 0.9
    assert max(highest) < 1.5 * density.max()  # at the end of expenditure it was sixty times as high
