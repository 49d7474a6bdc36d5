"""Level rules against brute force: norms by quadrature, quantiles by simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy

from dpcore.errors import EmptyWindow, NotEstimable, SchemeError
from dpcore.estimation.density import resolution_levels
from dpcore.estimation.density.densities import Spline
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.density.projection import distances, thresholds
from dpcore.estimation.diagnostics.chi_square_mixture import ChiSquareMixture, error_law
from dpcore.estimation.estimators import Lepski, Undersmoothed
from dpcore.laboratory.theory.level_rules import PaperLepski, PaperUndersmoothed
from tests.helpers.cases import every_value_once
from tests.helpers.estimate_cases import SMOOTH, draw, mechanism

GRID = (np.arange(1 << 14) + 0.5) / (1 << 14)


def _ladder(degree: int, n: int = 2_000_000, seed: int = 1, name: str = "bimodal"):
    of = mechanism(degree)
    statistics = draw(of, SMOOTH[name], n, seed).statistics["x"]
    return resolution_levels.build(InnerProducts.from_statistics(of.model(), statistics), 1.0)


def _values(rungs, level: int, order: int = 0) -> np.ndarray:
    return Spline(0.0, 1.0, rungs.basis.degree, level, rungs.coefficients(level)).derivative(order)(GRID)


def test_distances_are_those_of_the_functions(subtests):
    for degree in [0, 2]:
        with subtests.test(degree=degree):
            rungs = _ladder(degree)
            table = distances(rungs.energies)
            for i, j in enumerate(rungs.levels):
                for k, l in enumerate(rungs.levels):
                    slow = np.sqrt(np.mean((_values(rungs, l) - _values(rungs, j)) ** 2)) if l > j else 0.0
                    assert table[i, k] == pytest.approx(slow, rel=1e-4)


def test_thresholds_are_quantiles_of_simulated_noise():
    rungs = _ladder(1)
    table, rng = thresholds(rungs.spectra), np.random.default_rng(0)
    root = np.linalg.cholesky(rungs.covariance + 1e-18 * np.eye(len(rungs.covariance)))
    draws = rng.standard_normal((40_000, len(root))) @ root.T
    ends = np.cumsum([0] + [len(z) for z in rungs.inner_products])
    squares = []
    for b in range(1, len(ends) - 1):
        z = draws[:, ends[b] : ends[b + 1]]
        squares.append(np.sum(z * np.linalg.solve(rungs.basis.gram(b), z.T).T, axis=1))
    for j in range(len(rungs.levels) - 1):
        for l in range(j + 1, len(rungs.levels)):
            probability = 0.05 * 4.0 ** -(l - j)
            exceeded = np.mean(np.sqrt(sum(squares[j:l])) > table[j, l])
            sd = np.sqrt(probability / 40_000)
            assert abs(exceeded - probability) < 5 * sd + 0.05 * probability


@pytest.mark.parametrize(("degree", "seed"), every_value_once([0, 1, 2], range(4)))
def test_lepski_is_the_first_level_nobody_contradicts(degree, seed):
    rungs = _ladder(degree, 500_000, seed)
    table = thresholds(rungs.spectra)
    chosen, rows = Lepski().select(rungs)
    for i, j in enumerate(rungs.levels):
        norms = [np.sqrt(np.mean((_values(rungs, l) - _values(rungs, j)) ** 2)) for l in rungs.levels[i + 1 :]]
        if all(norm <= q for norm, q in zip(norms, table[i, i + 1 :], strict=True)):
            assert chosen == j
            break
    assert sum(row.selected for row in rows) == 1


def test_the_papers_rule_is_its_formula():
    rungs, a = _ladder(2), 1.5

    def holds(j: int, tau: float) -> bool:
        for l in range(j + 1, rungs.levels[-1] + 1):
            for q in (0, 1):
                difference = (_values(rungs, l, q) - _values(rungs, j, q)) ** 2
                bound = tau / 2_000_000 * 2.0 ** (2 * l * q) * (2.0**l + 2.0 ** (2 * l) * l ** (2 * a) / 1.0)
                if max(np.mean(difference), np.max(difference)) > bound:
                    return False
        return True

    chosen = []
    for tau in (1.0, 10.0, 100.0, 1000.0, 1e6):
        slow = next(j for j in rungs.levels if holds(j, tau))
        chosen.append(PaperLepski(tau).select(rungs)[0])
        assert chosen[-1] == slow
    assert chosen[0] > chosen[-1] == rungs.levels[0]  # the constant rules the answer, which is why it is calibrated
    with pytest.raises(SchemeError):
        PaperLepski(0)


def test_a_larger_constant_never_chooses_a_finer_level():
    rungs = _ladder(1, 300_000)
    levels = [Lepski(constant).select(rungs)[0] for constant in (0.3, 0.7, 1.0, 2.0, 20.0)]
    assert levels == sorted(levels, reverse=True)
    assert levels[-1] == rungs.levels[0] < levels[0]


def test_the_undersmoothed_level_is_its_formula(subtests):
    """epsilon = 1: the floor j0; the cap 2^(19.9/4); the cap 2^(16.6/4); the finest level; ceil(19.9/8) + 1."""
    for degree, n, level in [(1, 10**3, 2), (1, 10**6, 4), (0, 10**5, 4), (0, 10**9, 5), (2, 10**6, 4)]:
        with subtests.test(degree=degree, n=n, level=level):
            assert Undersmoothed().select(_ladder(degree, n))[0] == level


def test_the_literal_window_is_empty_until_9e19_and_says_both_ends():
    rule = PaperUndersmoothed(a=1.5, p=4)
    for size, is_empty in ((1e6, True), (0.8e20, True), (0.9e20, False)):
        lowest, highest = rule.window(size, 1.0)
        assert lowest == pytest.approx(size ** (1 / 8))
        assert highest == pytest.approx(min(size ** (1 / 4), size ** (1 / 3)) / np.log(size) ** 1.5)
        assert (lowest > highest) == is_empty
    with pytest.raises(
        EmptyWindow, match=r"at least 5\.623 .* at most 0\.6158 .* 1e\+06 reports of epsilon 1, a = 1.5, p = 4"
    ):
        rule.select(_ladder(1, 10**6))
    assert issubclass(EmptyWindow, NotEstimable)


def test_the_literal_window_where_it_is_not_empty():
    """(n ^ N)^{1/2p} with little privacy: 1e6 reports of epsilon 1e9 leave the sampling end, n^{1/3} / log n^1.01 = 7.0."""
    rule = PaperUndersmoothed(a=1.01, p=10)
    assert rule.window(1e6, 1e9) == pytest.approx((10**0.3, 100 / np.log(1e6) ** 1.01))
    rungs = replace(_ladder(1, 10**6), epsilon=1e9)
    assert rule.select(rungs)[0] == rungs.levels[0] == 2  # 2^1 is enough, the basis begins at 2
    for wrong in ({"a": 1.0, "p": 4}, {"a": 1.5, "p": 0}, {"a": 1.5, "p": 4, "order": 4}):
        with pytest.raises(SchemeError):
            PaperUndersmoothed(**wrong)


def test_one_weight_is_a_chi_square(subtests):
    for k in [2, 5, 40]:
        with subtests.test(k=k):
            law = ChiSquareMixture(np.full(k, 0.7))
            for probability in (1e-4, 0.025, 0.5, 0.9875, 1 - 1e-6):
                assert law.quantile(probability) == pytest.approx(
                    0.7 * scipy.stats.chi2.ppf(probability, k), rel=0.12 / k
                )
                assert law.tail(0.7 * scipy.stats.chi2.isf(probability, k)) == pytest.approx(probability, rel=0.09 / k)


def test_quantiles_and_tails_are_inverse_and_agree_with_simulation():
    weights, shifts = np.array([1.0, 0.5, 0.2, -0.3]), np.array([0.5, 2.0, 0.0, 1.0])
    law = ChiSquareMixture(weights, shifts, linear=0.7, constant=-3.0)
    rng = np.random.default_rng(1)
    draws = -3 + ((rng.standard_normal((400_000, 4)) + shifts) ** 2) @ weights + 0.7 * rng.standard_normal(400_000)
    assert law.mean == pytest.approx(draws.mean(), abs=0.02)
    assert law.variance == pytest.approx(draws.var(), rel=0.02)
    for probability in (0.001, 0.025, 0.5, 0.975, 0.999):
        x = law.quantile(probability)
        assert 1 - law.tail(x) == pytest.approx(probability, rel=1e-6)
        assert np.mean(draws <= x) == pytest.approx(probability, abs=0.004, rel=0.1)


def test_the_law_of_a_quadratic_error_has_its_moments_and_quantiles():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(6, 6))
    S, t, Q = root @ root.T, rng.normal(size=6), np.diag(rng.normal(size=6))
    law = error_law(t, Q, S)
    x = rng.standard_normal((200_000, 6)) @ root.T
    draws = x @ t + np.einsum("ni,ij,nj->n", x, Q, x) - np.trace(Q @ S)
    assert law.mean == pytest.approx(0, abs=1e-9 * np.sqrt(law.variance))
    assert law.variance == pytest.approx(t @ S @ t + 2 * np.trace(Q @ S @ Q @ S))
    for probability in (0.025, 0.975):
        assert np.mean(draws <= law.quantile(probability)) == pytest.approx(probability, abs=0.006)


def test_directions_in_which_a_quadratic_is_straight_have_a_normal_error():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(4, 4))
    S, t = root @ root.T, rng.normal(size=4)
    for bent in (1, 3):
        axes = rng.normal(size=(bent, 4))
        Q = axes.T @ axes
        law = error_law(t, Q, S)
        assert np.count_nonzero(law.weights) == bent
        assert law.mean == pytest.approx(0, abs=1e-9 * np.sqrt(law.variance))
        assert law.variance == pytest.approx(t @ S @ t + 2 * np.trace(Q @ S @ Q @ S))
    nothing = error_law(t, 1e-12 * np.eye(4), S)
    assert nothing.quantile(0.975) == pytest.approx(1.96 * np.sqrt(t @ S @ t), rel=1e-4)
    assert nothing.tail(1.96 * np.sqrt(t @ S @ t)) == pytest.approx(0.025, rel=1e-3)
