"""The log-spline's errors are what it says: coverage, standard errors, atoms, and what it must not smooth away."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise, product

import numpy as np
import pytest
import scipy
from scipy import stats

from dpcore._random import seeded
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.estimators import LogSpline
from dpcore.functionals import FunctionDensity, parse
from dpcore.laboratory.studies.targets import densities
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import simulate
from tests.helpers.cases import of_each_kind, some_by_day
from tests.helpers.statistical import MISSED_BY_DAY, draws_for_mean, mean_agrees, most_seen, runs_for_share

# The mean of squared scores, over the linear functionals of one fit, has a relative standard error of .73.
SEEN = abs(1 - 1 / 0.7**2) * 0.7**2 / 0.73  # by how much a standard error 30 % too small moves it, in its spreads
BY_DAY = draws_for_mean(SEEN, missed=0.1)  # 112 fits: a power of .9, and what is planted must be seen
AT_NIGHT = 2 * draws_for_mean(SEEN, missed=MISSED_BY_DAY)
ONE_ERROR = 0.32  # at both ends together, of a first look of one standard error
SMOOTH = ("beta_2_5", "bimodal")
TEXTS = (
    "mean",
    "variance",
    "quantile(0.5)",
    "quantile(0.9)",
    "cdf(0.3)",
    "probability(0.2, 0.6)",
    "integrated_square(0)",
    "entropy",
)
LINEAR = ("mean", "quantile(0.5)", "cdf(0.3)", "probability(0.2, 0.6)")  # whose errors are all but normal


def _aggregate(target: str, epsilon: float, n: int, seed: int, mechanism: str = "dyadic_wave") -> Aggregate:
    scheme = Scheme.from_toml(
        f'name = "law"\nclients = {n}\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = {epsilon}\n'
        f'mechanism = "{mechanism}"\n'
    )
    return simulate(scheme, densities.target(target), seeded([11, seed]), n)


def _estimate(target: str, epsilon: float, n: int, seed: int) -> DensityEstimate:
    return LogSpline().estimate(_aggregate(target, epsilon, n, seed), "x")


def _held(count: int, asked: int) -> bool:
    """Whether so many of so many intervals could be held at a true coverage of at least .88 (theory: .9 to 1)."""
    return count >= scipy.stats.binom.ppf(1e-4, asked, 0.88)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "repetitions"),
    some_by_day([*((name, AT_NIGHT) for name in SMOOTH), ("bimodal", BY_DAY)], ("bimodal", BY_DAY)),
)
def test_intervals_cover_and_standard_errors_are_the_spread(name, repetitions, record_property):
    target = densities.target(name)
    truth = FunctionDensity(0.0, 1.0, target.pdf)
    exact = {text: float(parse(text).value(truth)) for text in TEXTS}
    x = np.linspace(0, 1, 81)
    x = x[target.pdf(x) > 0.1 * target.pdf(x).max()]  # where it all but vanishes its logarithm is anyone's guess
    held, bands, scores, alarms = defaultdict(list), defaultdict(list), defaultdict(list), 0
    for seed in range(repetitions):
        estimate = _estimate(name, 1, 100_000, seed)
        alarms += sum(estimate.atoms) > 0
        for text in TEXTS:
            found = estimate.functional(parse(text))
            if found.is_refused:
                continue
            held[text].append(found.low <= exact[text] <= found.high)
            corrected = estimate.inference.estimate(parse(text), 0.95)  # what the standard error is of
            scores[text].append((corrected.value - exact[text]) / corrected.standard_error)
        for kind, (low, high), true in (
            ("band", estimate.band(x), target.pdf(x)),
            ("cdf_band", estimate.cdf_band(x), target.cdf(x)),
        ):
            bands[kind].append(np.mean((low <= true) & (true <= high)))
    coverage = {text: np.mean(each) for text, each in (held | bands).items()}
    record_property(name, ", ".join(f"{text} {value:.3f}" for text, value in coverage.items()))
    for text in TEXTS:
        assert len(held[text]) >= 0.9 * repetitions, f"{text} was refused too often"
        assert _held(sum(held[text]), len(held[text])), (name, text, coverage[text])
    for kind, shares in bands.items():
        assert np.mean(shares) + 4 * np.std(shares) / np.sqrt(repetitions) >= 0.88, (name, kind, coverage[kind])
    for text in LINEAR:
        spread = float(np.sqrt(np.mean(np.square(scores[text]))))
        assert 0.7 < spread < 1.35, (name, text, spread)
    squares = np.mean(np.square([scores[text] for text in LINEAR]), axis=0)
    record_property("squared scores", f"{np.mean(squares):.3f} +- {np.std(squares):.3f}")
    assert mean_agrees(squares, 1)
    assert not mean_agrees(squares / 0.7**2, 1)  # standard errors 30 % too small
    assert not mean_agrees(squares / 1.3**2, 1)
    assert alarms <= stats.binom.ppf(1 - 1e-4, repetitions, 0.06), (name, alarms)  # two one-sided errors of 2.3 %


@pytest.mark.nightly("a study")
def test_atoms_are_not_invented_on_the_uniform():
    """A first look of two standard errors at both ends errs in one fit in twenty, and gives it little."""
    fits = runs_for_share(0.06, ONE_ERROR, missed=1e-3)
    masses = np.array([max(_estimate("uniform", 1, 100_000, seed).atoms) for seed in range(fits)])
    assert np.sum(masses > 0) <= most_seen(fits, 0.06), np.sum(masses > 0)
    assert masses.max() < 0.03


@pytest.mark.slow
def test_clipped_values_are_found_as_an_atom():
    true = dict(densities.target("lognormal").atoms)[1.0]
    for seed in range(4):
        estimate = _estimate("lognormal", 4, 100_000, seed)
        left, right = estimate.atoms
        error = float(np.sqrt(estimate.covariance[-1, -1]))
        assert left < 0.01
        assert abs(right - true) < 4 * error < 0.6 * true
        assert right > 0.5 * true
        assert estimate.cdf(1.0) == 1.0
        mean = estimate.functional(parse("mean"))
        assert abs(mean.value - densities.target("lognormal").mean) < 5 * mean.standard_error


def test_five_narrow_peaks_are_not_smoothed_away():
    estimate = _estimate("claw", 4, 1_000_000, 1)
    x = np.linspace(0, 1, 2001)
    density = estimate(x)
    highest = np.flatnonzero((density[1:-1] > density[:-2]) & (density[1:-1] > density[2:])) + 1
    prominent = [i for i in highest if density[i] > 0.5 * density.max()]
    assert x[prominent] == pytest.approx([(i / 2 - 1 + 3) / 6 for i in range(5)], abs=0.01)
    valleys = [density[a:b].min() for a, b in pairwise(prominent)]
    true = densities.target("claw").pdf(x)
    assert max(valleys) < 0.75 * density[prominent].min()
    assert np.mean((density - true) ** 2) < 0.02 * np.mean(true**2)


@pytest.mark.parametrize(
    ("target", "mechanism"),
    of_each_kind(product(["beta_2_5", "bimodal"], ["dyadic_wave", "wavelet_laplace"]), ("bimodal", "dyadic_wave")),
)
def test_the_prior_decides_and_not_the_basis(target, mechanism):
    """Twice or half as many B-splines give nearly the same density."""
    aggregate = _aggregate(target, 1, 300_000, 2, mechanism)
    x = np.linspace(0, 1, 1001)
    five, six, seven = (LogSpline(level=level).estimate(aggregate, "x")(x) for level in (5, 6, 7))
    error = np.mean((six - densities.target(target).pdf(x)) ** 2)
    for other in (five, seven):
        assert np.mean((other - six) ** 2) < 0.1 * error
