"""Rates and lower bounds: exponents, constants, and that what is bounded is never below its bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpcore.errors import SchemeError
from dpcore.laboratory.central.truncated_mean import ApproximateMean, KullbackLeiblerMean, SmoothMean, risk_bound
from dpcore.laboratory.theory import barber_duchi, rates
from dpcore.laboratory.theory import lower_bounds as bounds
from dpcore.laboratory.theory import two_points as floor
from dpcore.laboratory.theory.two_points import Release
from dpcore.privacy.budget import Budget


def slope(f, n: float = 1e10, step: float = 1e6) -> float:
    return -math.log(f(n * step) / f(n)) / math.log(step)


def test_the_tables_of_wasserman_and_zhou() -> None:
    l2, ks = zip(rates.smoothed_histogram(2), rates.perturbed_histogram(2), rates.lipschitz_minimax(2), strict=True)
    assert [rate.exponent for rate in l2] == [Fraction(2, 7), Fraction(1, 2), Fraction(1, 2)]
    assert [rate.exponent for rate in ks] == [Fraction(1, 4), Fraction(1, 2), Fraction(1, 2)]
    assert rates.perturbed_histogram(1)[1].exponent == Fraction(2, 3)  # the smaller of both, min
    assert rates.exponential_mechanism().exponent == Fraction(1, 3)
    assert rates.series_exponential(2).exponent == Fraction(2, 5)
    assert rates.series_perturbed(2).exponent == Fraction(4, 5)
    assert rates.smoothed_histogram()[1](10**4) == pytest.approx(math.sqrt(math.log(10**4)) * 10 ** (-8 / 7))


def test_the_rates_of_szabo_and_their_elbow() -> None:
    assert rates.density(2, 1).exponent == Fraction(1, 3)
    assert rates.density_adaptive(2, 1).exponent == Fraction(1, 6)
    assert rates.atomic(3, 1).exponent == Fraction(1, 4)
    assert rates.smooth().exponent == Fraction(1, 2)
    for p in (1, 2, 3):  # at the elbow both terms are equal
        private, direct = rates.density(p).terms
        n = 10**6
        assert private(n, rates.elbow(n, p)) == pytest.approx(direct(n))
        assert rates.density(p)(n, 2 * rates.elbow(n, p)) == pytest.approx(rates.direct_density(p)(n))
    assert rates.density(1, a=Fraction(3, 2))(1e6, 0.1) == pytest.approx((1e6 * 0.01 * math.log(1e6) ** -3.0) ** -0.5)


def test_interaction_moves_the_elbow_of_the_integrated_square() -> None:
    assert rates.integrated_square(Fraction(3, 4)).exponent == Fraction(1, 2)
    assert rates.integrated_square(Fraction(1, 2)).exponent == Fraction(2, 5)
    assert rates.integrated_square(Fraction(1, 2), interactive=True).exponent == Fraction(1, 2)
    assert rates.integrated_square(Fraction(1, 4), interactive=True).exponent == Fraction(1, 3)
    assert rates.direct_integrated_square(Fraction(1, 4)).exponent == Fraction(1, 2)


def test_contraction_bounds_every_private_report_and_is_below_the_printed_one() -> None:
    random = np.random.default_rng(11)
    for epsilon in (0.2, 1.0, 2.0):
        for _ in range(300):
            low = random.random(6) + 0.1
            q = low * np.exp(epsilon * random.integers(0, 2, (5, 6)))
            q /= q.sum(axis=1, keepdims=True)
            true = np.log(q.max(axis=0) / q.min(axis=0)).max()
            p1, p2 = random.dirichlet(np.full(5, 0.5), 2)
            m1, m2 = p1 @ q, p2 @ q
            tv = np.abs(p1 - p2).sum() / 2
            both = float((m1 - m2) @ np.log(m1 / m2))
            assert both <= floor.contraction(true, tv) * (1 + 1e-9)
    assert floor.contraction(1.0, 0.3) < bounds.printed_contraction(1.0, 0.3)
    # it is attained to first order by two coins at a small epsilon
    p = math.exp(0.01) / (1 + math.exp(0.01))
    coins = (2 * p - 1) * math.log(p / (1 - p))
    assert coins > 0.49 * floor.contraction(0.01, 1.0)


def test_two_points_bound_the_best_guess_between_two_coins() -> None:
    """Of n coins the best test is known: the sum of its errors is 1 - TV, which every bound must stay above."""
    n, t = 20, 0.2
    heads = np.array([math.comb(n, k) for k in range(n + 1)], dtype=float)
    laws = [heads * q ** np.arange(n + 1) * (1 - q) ** np.arange(n, -1, -1) for q in ((1 + t) / 2, (1 - t) / 2)]
    exact = np.abs(laws[0] - laws[1]).sum() / 2
    chi = 2 * t * math.log((1 + t) / (1 - t))
    assert exact <= floor.Direct(n).variation(t, chi) <= 1
    assert bounds.le_cam(t, chi / 2, n) <= floor.two_points(t, exact)
    assert bounds.le_cam_private(t, t, n, 0.1) == pytest.approx(floor.two_points(t, -math.expm1(-n * 0.1 * t)))
    # reports of two coins, exactly: each says the truth with probability e / (1 + e)
    for epsilon in (0.3, 1.0, 2.0):
        keep = math.tanh(epsilon / 2)
        said = [
            heads * q ** np.arange(n + 1) * (1 - q) ** np.arange(n, -1, -1)
            for q in ((1 + keep * t) / 2, (1 - keep * t) / 2)
        ]
        assert np.abs(said[0] - said[1]).sum() / 2 <= floor.Local(n, epsilon).variation(t, chi)


@pytest.mark.slow
def test_bounds_fall_as_they_should() -> None:
    def mean(release: Release) -> float:
        return floor.mean_pair(release).bound

    local = [mean(floor.Local(n, 0.5)) for n in (10**4, 10**6)]
    assert local[0] / local[1] == pytest.approx(100, rel=0.05)
    assert mean(floor.Local(10**4, 8.0)) == pytest.approx(mean(floor.Direct(10**4)))
    assert mean(bounds.Central(10**3, 0.001)) > mean(floor.Direct(10**3))
    for p in (1, 2):
        found = [bounds.density(floor.Local(n, 0.5), p, 2.0).bound for n in (1e6, 1e8)]
        assert math.log(found[0] / found[1]) / math.log(100) == pytest.approx(
            float(rates.density(p).exponent), abs=0.05
        )
    for p, s in ((1, 0), (2, 0), (2, 1)):
        found = [bounds.derivative(floor.Local(n, 0.5), p, 20.0, s, 0.4).bound for n in (1e7, 1e10)]
        assert math.log(found[0] / found[1]) / math.log(1e3) == pytest.approx(
            float(rates.density(p, s).exponent), abs=0.06
        )
    central = [bounds.density(bounds.Central(n, 1e-3), 1, 2.0).bound for n in (1e6, 1e8)]
    assert math.log(central[0] / central[1]) / math.log(100) == pytest.approx(1.0, abs=0.1)  # (18), d = 1


def test_the_hard_densities_are_densities_of_their_class() -> None:
    hard = bounds.density(floor.Local(10**4, 1.0), 2, 30.0)
    signs = np.where(np.random.default_rng(1).random(hard.cells) < 0.5, 1, -1)
    x = np.linspace(0, 1, 20_001)
    f = hard.density(signs, x)
    assert f.min() >= 0
    assert np.trapezoid(f, x) == pytest.approx(1, abs=1e-6)
    assert np.abs(np.diff(f, 2)).max() / (x[1] - x[0]) ** 2 <= 30.0 * 1.01
    np.testing.assert_allclose(np.gradient(hard.distribution(signs, x), x)[1:-1], f[1:-1], atol=1e-4)
    point = bounds.derivative(floor.Local(10**4, 1.0), 2, 30.0, 1, 0.4)
    g = point.density(-1, x)
    assert g.min() >= 0
    assert np.gradient(g, x)[8000] == pytest.approx(point.truth(-1, 1, 0.4), rel=1e-3)
    np.testing.assert_allclose(np.gradient(point.distribution(-1, x), x)[1:-1], g[1:-1], atol=1e-4)


def test_bounds_of_unbiased_answers() -> None:
    for epsilon in (0.5, 0.31, 0.1, 0.013):
        n = 1000
        exact = bounds.continuous([k / n for k in range(1, n + 1)], epsilon)
        assert exact >= bounds.continuous_linear(1 / n, epsilon)
        assert exact >= 1 / (59.5 * n**2 * epsilon**2) * (1 - 1e-3)  # the least over the argument's range (erratum E2)
        assert 2 / (n * epsilon) ** 2 > exact  # the Laplace mechanism's variance
    u = np.linspace(0.5, 1, 1001)
    assert np.min(u**2 / 4 / (1 + np.exp(2 * u))) == pytest.approx(1 / 59.5, rel=1e-3)


def test_theorem_3_and_lemma_2_of_barber_and_duchi() -> None:
    """On a channel that is private exactly: randomized response of the majority vote of two packed laws."""
    n, p, epsilon = 3, 0.3, 0.7
    kept = math.exp(-epsilon * math.ceil(n * p))
    assert barber_duchi.packing_error(2, n, p, epsilon) == pytest.approx(kept / 2 / (1 + kept))
    assert barber_duchi.packing_error(2**30, n, p, epsilon) == pytest.approx(0.5, abs=1e-6)
    assert barber_duchi.packing_error(2, n, p, epsilon, 0.9) == 0
    # a sum of n coins of P(1) = p (law v) or 0 (law v'), + discrete Laplace of scale 1 / epsilon: exact marginals
    z = np.arange(-60, 64)
    noise = np.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(z[:, None] - np.arange(n + 1)))
    coins = np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
    under, other = noise @ coins, noise[:, 0]
    for cut in range(-5, 8):
        for event in (z > cut, z <= cut):
            assert other[event].sum() >= barber_duchi.marginal_probability(n, p, epsilon, 0.0, under[event].sum())
    assert np.abs(under - other).sum() / 2 <= bounds.Central(n, epsilon).variation(p, math.inf)
    tv = math.tanh(epsilon / 2)  # the total-variation privacy of that noise is at most this
    assert np.abs(under - other).sum() / 2 <= bounds.Diverging(n, tv).variation(p, math.inf)


def test_bounds_at_the_ends_of_their_ranges() -> None:
    n, epsilon, delta = 10**4, 0.5, 1e-6
    bounded, nearly = (barber_duchi.table_1(n, epsilon, delta, 3, 2.0, k) for k in (math.inf, 1e9))
    for definition, both in bounded.items():
        assert both == pytest.approx(nearly[definition], rel=1e-6)
        assert both[0] < 2.0**2
    assert barber_duchi.free_epsilon(n, 3, delta, math.inf) == pytest.approx(3 * n**-0.5)
    assert barber_duchi.free_epsilon(n, 3, 0.0, math.inf) == pytest.approx(3 * n**-0.5)
    for function in (
        lambda e: barber_duchi.packing_error(8, 100, 0.05, e, 1e-3),
        lambda e: barber_duchi.marginal_probability(100, 0.05, e, 1e-3, 0.9),
    ):
        assert function(0.0) == pytest.approx(function(1e-9), rel=1e-6)
    many = [barber_duchi.mean_packing(10**6, 1.0, 1e-9, d, 1.0, 2.0) for d in (1000, 1023, 1024, 5000)]
    assert many == sorted(many)
    with pytest.raises(SchemeError, match="epsilon"):
        bounds.continuous_linear(1.0, 0.0)


def test_propositions_of_barber_and_duchi_scale_as_their_table() -> None:
    n, alpha, r = 10**6, 0.01, 2.0
    for k in (2, 4):
        found = [barber_duchi.mean_two_points(bounds.Diverging(m, alpha), r, k) for m in (n, 10 * n)]
        assert math.log10(found[0] / found[1]) == pytest.approx(2 * (k - 1) / k, abs=0.02)
        printed = (r / 2) ** 2 * (1 / (2 * n * alpha)) ** (2 * (k - 1) / k)  # p = 1 / (2 n alpha)
        assert found[0] >= 0.99 * printed
    found = [barber_duchi.mean_packing(n, 0.01, 0.0, d, r, 4) for d in (50, 100)]
    assert math.log2(found[1] / found[0]) == pytest.approx(1.5, abs=0.2)  # d^{2 (k-1)/k}
    with_delta = barber_duchi.mean_packing(n, 0.01, 1e-4, 100, r, 4)
    assert 0 < with_delta < found[1]
    for m in (100, 10**5):
        two = barber_duchi.support_two_points(bounds.Diverging(m, 0.05))
        assert two >= barber_duchi.support(m, 0.05) * 0.99
    table = barber_duchi.table_1(n, 0.01, 1e-9, 10, r, 4)
    assert all(upper >= lower for upper, lower in table.values())
    assert table["approximate"][0] > table["total_variation"][0]
    assert barber_duchi.free_epsilon(n, 10, 1e-9, 2) == math.inf


@pytest.mark.parametrize("k", [2, 4, 8])
def test_upper_bounds_of_proposition_6_stay_within_their_constants_and_above_the_lower(k: int) -> None:
    n, epsilon, d, r, delta = 10**5, 0.1, 4, 1.0, 1e-8
    power, asked = (k - 1) / k, {"n": n, "moment": k, "bound": r}
    kl, smooth, approximate = (
        risk_bound(mechanism, **asked)
        for mechanism in (
            KullbackLeiblerMean.design(epsilon, **asked, dimension=d),
            SmoothMean.design(Budget.parse("0.1"), **asked, dimension=d),
            ApproximateMean.design(epsilon, delta, **asked, dimension=d),
        )
    )
    assert kl <= r**2 / n + 3 * r**2 * (d / (n**2 * epsilon)) ** power * 1.05  # the lattice costs up to 3 %
    assert smooth <= r**2 / n + 9 * r**2 * (d**2 / (n * epsilon) ** 2) ** power * 1.05
    assert barber_duchi.mean_packing(n, epsilon, 0.0, d, r, k) <= smooth
    assert barber_duchi.mean_packing(n, epsilon, delta, d, r, k) <= approximate
    assert barber_duchi.mean_two_points(bounds.Diverging(n, math.sqrt(epsilon / 2)), r, k) <= kl
