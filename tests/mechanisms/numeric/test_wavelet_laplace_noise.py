"""The closed form of the integrated noise against thousands of simulated aggregates."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.laboratory.theory.noise_energy import noise_energy
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.calibration.allocation import ALLOCATIONS
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from tests.helpers.statistical import mean_agrees

RUNS = 1000  # the least for a normal limit: half a standard deviation of one run, less than what is planted, takes 472


def cell_law(cells: int) -> np.ndarray:
    x = (np.arange(cells) + 0.5) / cells
    density = x * (1 - x) ** 4 + 0.02
    return np.asarray(density / density.sum())


def integrated_square_errors(mechanism: WaveletLaplace, n: int, law: np.ndarray, level: int) -> np.ndarray:
    """int (f_hat - E f_hat)^2 of each run, in coefficients: e' G^{-1} e, block by block; shape (RUNS,)."""
    model, random = mechanism.model(), seeded([n, level])
    people = np.random.default_rng(n)
    blocks = range(level - mechanism.basis.coarsest_level + 1)
    inverses = [np.linalg.inv(mechanism.basis.gram(block)) for block in blocks]
    truths = [law @ model.tables[block] * model.units[block] for block in blocks]
    errors = np.empty(RUNS)
    for run in range(RUNS):
        coefficients = model.coefficients(mechanism.simulate(people.multinomial(n, law), random))
        parts = (
            (coefficients[b] - truth) @ inverse @ (coefficients[b] - truth)
            for b, truth, inverse in zip(blocks, truths, inverses, strict=True)
        )
        errors[run] = sum(parts)
    return errors


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1", "12"])  # at 12 the clients' own spread is a large part
@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_mean_squared_noise_is_the_closed_form(allocation: str, epsilon: str) -> None:
    mechanism = WaveletLaplace.design(Budget.parse(epsilon), degree=2, finest_level=4, allocation=allocation, cells=256)
    n, level, law = 2000, 5, cell_law(256)
    errors = integrated_square_errors(mechanism, n, law, level)
    stated = noise_energy(mechanism.model(), n, level, law)
    assert mean_agrees(errors, stated)
    for wrong in (0.7, 1.3):  # a scale off by 30 % moves the energy of the noise by its square
        noise = noise_energy(mechanism.model(), n, level)
        off = stated + (wrong**2 - 1) * noise
        if noise > 0.3 * stated:
            assert not mean_agrees(errors, off)
    if allocation == "sample" and epsilon == "12":
        # leaving the clients' own spread out would be seen
        assert not mean_agrees(errors, noise_energy(mechanism.model(), n, level))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "allocation"), [("bior1.5", "sample"), ("bior2.4", "sample"), ("bior3.5", "split")])
def test_a_filter_bank_keeps_the_closed_form_at_every_level(name: str, allocation: str) -> None:
    """The slow way: the spline that all blocks make, and its least squares in V_level, aggregate by aggregate."""
    mechanism = WaveletLaplace.design(Budget.parse("6"), basis=name, finest_level=4, allocation=allocation, cells=256)
    model, basis, law, n, top = mechanism.model(), mechanism.basis, cell_law(256), 3000, 5
    synthesis = np.hstack([basis.synthesis(block, top) for block in range(basis.blocks)])
    truth = synthesis @ np.concatenate(
        [law @ table * unit for table, unit in zip(model.tables, model.units, strict=True)]
    )
    random, people = seeded(3), np.random.default_rng(n)
    drawn = [model.coefficients(mechanism.simulate(people.multinomial(n, law), random)) for _ in range(RUNS)]
    errors = synthesis @ np.array([np.concatenate(z) for z in drawn]).T - truth[:, None]
    refine = np.eye(len(truth))
    for level in range(top, basis.coarsest_level - 1, -1):
        if level < top:
            refine = refine @ bspline.refinement(basis.degree, level)
        products = refine.T @ bspline.gram(basis.degree, top) @ errors
        squares = np.sum(products * np.linalg.solve(bspline.gram(basis.degree, level), products), axis=0)
        stated = noise_energy(mechanism.model(), n, level, law)
        assert mean_agrees(squares, stated)
        assert not mean_agrees(squares, stated * 1.3**2)
        assert not mean_agrees(squares, stated * 0.7**2)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_every_degree_keeps_the_closed_form_at_every_level(degree: int) -> None:
    mechanism = WaveletLaplace.design(Budget.parse("1"), degree=degree, finest_level=4, cells=256)
    law = cell_law(256)
    for level in (mechanism.basis.coarsest_level, 5):
        errors = integrated_square_errors(mechanism, 3000, law, level)
        stated = noise_energy(mechanism.model(), 3000, level, law)
        # Two coefficients of degree 0 spread by 3 % over the runs, so each level is judged by its own standard error.
        assert mean_agrees(errors, stated)
        assert not mean_agrees(errors, stated * 1.3**2)
        assert not mean_agrees(errors, stated * 0.7**2)
