"""EM and EMS through prefix sums against dense matrices, one iteration after another as the paper writes them."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.estimation.density.expectation_maximization import maximize
from dpcore.mechanisms import DyadicWave, SquareWave
from dpcore.mechanisms.numeric.wave import WaveMechanism
from dpcore.privacy.budget import Budget

WAVES = [
    SquareWave.design(Budget.parse("1"), cells=64),
    SquareWave.design(Budget.parse("4"), cells=32),
    DyadicWave.design(Budget.parse("2"), cells=16, levels=3),
]


def slow(matrix: np.ndarray, counts: np.ndarray, smoothing: bool, iterations: int) -> np.ndarray:
    """matrix (outputs, inputs): columns sum to the number of levels, whose clients are not told apart here either."""
    outputs, inputs = matrix.shape
    kernel = np.zeros((inputs, inputs))
    for c in range(inputs):
        for neighbour, weight in ((c - 1, 1), (c, 2), (c + 1, 1)):
            if 0 <= neighbour < inputs:
                kernel[c, neighbour] = weight
        kernel[c] /= kernel[c].sum()
    f = np.ones(inputs) / inputs
    for _ in range(iterations):
        shared = np.zeros(inputs)
        for z in range(outputs):
            posterior = matrix[z] * f
            shared += counts[z] * posterior / posterior.sum()
        f = shared / shared.sum()
        if smoothing:
            f = kernel @ f
            f /= f.sum()
    return f


def counts_of(mechanism: WaveMechanism, n: int, seed: int) -> np.ndarray:
    people = seeded(seed).generator().multinomial(n, law_of(mechanism.inputs))
    return mechanism.simulate(people, seeded(seed + 1))


def law_of(inputs: int) -> np.ndarray:
    x = (np.arange(inputs) + 0.5) / inputs
    law = x * (1 - x) ** 4 + 0.02
    return law / law.sum()


def test_prefix_sums_give_what_dense_matrices_give(subtests: pytest.Subtests) -> None:
    for smoothing in [True, False]:
        for mechanism in WAVES:
            with subtests.test(smoothing=smoothing, mechanism=mechanism):
                counts = counts_of(mechanism, 40_000, 1)
                dense = np.vstack(mechanism.model().matrices)
                fits = []
                for iterations in (1, 2, 40):
                    fast = maximize(mechanism.model(), counts, smoothing, tolerance=0, iterations=iterations)
                    fits.append(slow(dense, counts, smoothing, iterations))
                    np.testing.assert_allclose(fast, fits[-1], rtol=1e-9, atol=1e-12)
                assert np.abs(fits[-1] - fits[0]).max() > 1e-4  # there was something to agree on


def test_the_joint_fit_is_that_of_the_channel_of_pairs() -> None:
    """A cell and a category are one hidden thing, a reported cell and category one seen thing: a Kronecker product."""
    mechanism, response = WAVES[2], np.array([[0.7, 0.2], [0.3, 0.8]])
    people = seeded(3).generator().multinomial(5000, law_of(mechanism.inputs) * 0.6)
    others = seeded(4).generator().multinomial(3000, law_of(mechanism.inputs)[::-1].copy())
    said = [seeded(5 + i).generator().binomial(group, response[0, i]) for i, group in enumerate((people, others))]
    first = said[0] + said[1]
    counts = np.stack(
        [mechanism.simulate(first, seeded(7)), mechanism.simulate(people + others - first, seeded(8))], axis=1
    )
    dense = np.kron(np.vstack(mechanism.model().matrices), response)
    fast = maximize(mechanism.model(), counts, False, response=response, tolerance=0, iterations=30)
    np.testing.assert_allclose(fast.ravel(), slow(dense, counts.ravel(), False, 30), rtol=1e-9, atol=1e-12)
    assert fast.sum(axis=0)[0] == pytest.approx(5 / 8, abs=0.06)
