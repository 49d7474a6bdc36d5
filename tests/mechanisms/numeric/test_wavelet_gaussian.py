"""Wavelet coefficients with discrete Gaussian noise: (epsilon, delta), audited and estimated like the Laplace one."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore.audit import audit_mechanism, audit_scheme
from dpcore.audit.enumeration.additive_noise import largest_square
from dpcore.errors import CalibrationError, SchemeError
from dpcore.estimation.estimators import Fixed
from dpcore.laboratory.central.truncated_mean import approximate_delta
from dpcore.laboratory.definitions import gaussian_delta
from dpcore.mechanisms.calibration.sensitivity import squared_sensitivity
from dpcore.mechanisms.noise import discrete_gaussian
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.concentrated import approximate_epsilon, largest_rho
from tests.helpers.statistical import law_agrees, variance_agrees

RAW = dp.Projection(level_rule=Fixed(2))  # without a fit of a log-spline beside it
DELTA = Fraction(1, 10**6)
TEXT = """
name = "relaxed"
clients = 100_000
[attributes.x]
type = "numeric"
lower = 0
upper = 1
degree = 1
finest_level = 3
cells = 128
noise = "discrete_gaussian"
delta = 1e-6
epsilon = 1
"""


@pytest.fixture(scope="module")
def scheme() -> dp.Scheme:
    return dp.Scheme.from_toml(TEXT)


@pytest.fixture(scope="module")
def mechanism(scheme: dp.Scheme) -> WaveletLaplace:
    return scheme.attributes["x"].mechanism


def test_the_scheme_says_delta_and_reads_back(scheme: dp.Scheme, mechanism: WaveletLaplace) -> None:
    assert scheme.delta == mechanism.delta == DELTA
    again = dp.Scheme.from_toml(scheme.canonical)
    assert again.digest == scheme.digest
    assert again.attributes["x"].mechanism.noise == "discrete_gaussian"
    assert "delta = 1e-06" in mechanism.certificate().text
    assert mechanism.certificate().holds
    assert dp.Scheme.from_toml(TEXT.replace('noise = "discrete_gaussian"\ndelta = 1e-6\n', "")).delta == 0


def test_the_sensitivity_is_that_of_all_pairs(mechanism: WaveletLaplace) -> None:
    for table, square in zip(mechanism.tables, mechanism.sensitivity, strict=True):
        apart = table[:, None, :] - table[None, :, :]
        assert square == int((apart**2).sum(axis=2).max()) == largest_square(table)[0] == squared_sensitivity(table)


def test_the_audit_finds_what_is_kept_and_a_smaller_scale_out(scheme: dp.Scheme, mechanism: WaveletLaplace) -> None:
    found = audit_scheme(scheme)
    assert found.holds
    assert float(found.loss) == pytest.approx(1, abs=1e-3)
    assert "delta = 1e-06" in found.attributes[0].finding.how
    smaller = tuple(s - s // 50 for s in mechanism.noise_scales)
    with pytest.raises(CalibrationError, match="give a loss of"):
        replace(mechanism, noise_scales=smaller)
    planted = replace(mechanism)
    object.__setattr__(planted, "noise_scales", smaller)
    assert float(audit_mechanism(planted).loss) > 1
    parameters = dict(mechanism.parameters()) | {"sensitivity": [1] * len(smaller)}
    with pytest.raises(CalibrationError, match="sensitivity"):
        WaveletLaplace.from_parameters(mechanism.budget, parameters)


def test_every_block_has_the_noise_that_its_own_pairs_need(mechanism: WaveletLaplace) -> None:
    squares = [int(np.max(np.sum((table[:, None] - table) ** 2, axis=2))) for table in mechanism.tables]
    rhos = [Fraction(square, 2 * s**2) for square, s in zip(squares, mechanism.noise_scales, strict=True)]
    assert mechanism.certificate().kept == approximate_epsilon(max(rhos), DELTA)
    for block in range(len(rhos)):
        scales = list(mechanism.noise_scales)
        scales[block] = scales[block] * 997 // 1000
        with pytest.raises(CalibrationError, match="exceed epsilon"):
            replace(mechanism, noise_scales=tuple(scales))


def test_squares_that_doubles_do_not_hold_are_refused() -> None:
    assert squared_sensitivity(np.array([[0], [1 << 24]])) == 1 << 48
    with pytest.raises(CalibrationError, match="53 bits"):
        squared_sensitivity(np.array([[0], [1 << 26]]))


def test_the_epsilon_of_a_concentration_is_safe_and_near_the_gaussian_one() -> None:
    for epsilon, delta in ((0.3, 1e-9), (1.0, 1e-6), (4.0, 1e-4)):
        rho = largest_rho(Fraction(epsilon), Fraction(delta))
        assert approximate_epsilon(rho, Fraction(delta)) <= epsilon
        mu = math.sqrt(2 * float(rho))
        assert delta / 30 < gaussian_delta(epsilon, mu) <= delta  # what the continuous noise needs, exactly
        assert approximate_delta(mu, 1.0, epsilon) == pytest.approx(delta, rel=1e-2)
    with pytest.raises(SchemeError):
        largest_rho(Fraction(1), Fraction(1, 2))


def test_the_smallest_deltas_and_the_largest_noise_have_an_epsilon() -> None:
    for delta in (Fraction(1, 10**28), Fraction(1, 10**40), Fraction(1, 10**100)):
        rho = largest_rho(Fraction(1), delta)
        assert Fraction(99, 100) < approximate_epsilon(rho, delta) <= 1
        assert float(rho) == pytest.approx(1 / (4 * math.log(1 / delta)), rel=0.1)
    assert 0 <= approximate_epsilon(Fraction(1, 10**8), Fraction(1, 1000)) < Fraction(1, 1000)


def test_a_shifted_discrete_gaussian_keeps_epsilon_and_delta_by_enumeration() -> None:
    """One coefficient, shifted by its whole sensitivity: delta summed over all outcomes, exactly as defined."""
    shift, delta = 40, 1e-4
    rho = largest_rho(Fraction(1), Fraction(delta))
    s = math.isqrt(math.ceil(Fraction(shift**2) / (2 * rho)) - 1) + 1
    y = np.arange(-10 * s, 10 * s)
    law = discrete_gaussian.pmf(y, s)
    other = discrete_gaussian.pmf(y - shift, s)
    lost = np.maximum(law - math.e * other, 0.0).sum()
    assert delta / 30 < lost <= delta
    halved = s // 2
    law, other = discrete_gaussian.pmf(y, halved), discrete_gaussian.pmf(y - shift, halved)
    assert np.maximum(law - math.e * other, 0.0).sum() > 10 * delta


def test_reports_and_simulation_have_the_same_law(mechanism: WaveletLaplace) -> None:
    n = 4000
    values = np.arange(n) % mechanism.inputs
    reports = mechanism.privatize(values, dp.seeded(3))
    assert mechanism.accepts(reports).all()
    deep = mechanism.privatize(np.zeros(n, dtype=np.int64), dp.seeded(4), levels=np.full(n, 1, dtype=np.uint8))
    noise = deep.values.reshape(n, -1) - mechanism.tables[1][0]
    s = mechanism.noise_scales[1]
    assert variance_agrees(noise.ravel(), s**2)
    assert not variance_agrees(noise.ravel(), 1.3 * s**2)
    edges = scipy.stats.norm.ppf(np.linspace(0, 1, 17)) * s
    assert law_agrees(np.histogram(noise, edges)[0], np.full(16, 1 / 16))
    sums = np.concatenate([discrete_gaussian.simulate_sums(n, 50, 40, dp.seeded((5, r))) for r in range(30)])
    assert variance_agrees(sums, n * 2500.0)
    few = discrete_gaussian.simulate_sums(2, 3, 2000, dp.seeded(6))
    assert variance_agrees(few, 2 * 9.0)


def test_it_aggregates_and_estimates_like_the_laplace_one(scheme: dp.Scheme) -> None:
    x = dp.seeded(9).generator().beta(2, 4, 20_000)
    batch = dp.privatize(scheme, {"x": x}, dp.seeded(1))
    aggregate = dp.aggregate(scheme, batch)
    simulated = dp.simulate(scheme, {"x": x}, dp.seeded(2))
    for each in (aggregate, simulated):
        mean = dp.estimate(each, "x", estimator=RAW).functional(dp.functionals.Mean())
        assert abs(mean.value - 1 / 3) < 5 * mean.standard_error


def test_what_does_not_go_together_is_refused() -> None:
    for old, new, said in (
        ("delta = 1e-6\n", "", "give delta"),
        ("delta = 1e-6", "delta = 0.5", "delta"),
        ('noise = "discrete_gaussian"', 'noise = "discrete_laplace"', "Laplace noise keeps epsilon"),
        ('noise = "discrete_gaussian"', 'noise = "gaussian"', "noise must be one of"),
        ("degree = 1", 'degree = 1\nallocation = "split"', 'goes with allocation = "sample"'),
        ("degree = 1\nfinest_level = 3\n", 'mechanism = "dyadic_wave"\n', "needs mechanism"),
    ):
        with pytest.raises(SchemeError, match=said):
            dp.Scheme.from_toml(TEXT.replace(old, new))
