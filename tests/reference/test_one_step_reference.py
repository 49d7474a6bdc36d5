"""One-step corrections against constrained least squares, and how a log-spline moves with its parameters, by differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import BSpline

from dpcore.bases import bspline
from dpcore.densities import ExponentialSpline
from dpcore.estimators.likelihood import Averages, Counts, group_counts
from dpcore.estimators.log_spline import Posterior
from dpcore.functionals import parse
from dpcore.mechanisms.observation import FiniteChannel, Wave

LOWER, UPPER, LEVEL, INPUTS, N = -1.0, 3.0, 3, 64, 300_000
WIDTH = UPPER - LOWER
K = 19  # B-splines of the correction, cubic on sixteen pieces
ATOMS = [(0.0, 0.0), (0.1, 0.0), (0.0, 0.2), (0.1, 0.2)]
CHANNEL = FiniteChannel(
    levels=(
        Wave(inputs=INPUTS, cells=32, shift=1, half_width=3, circular=False, weight_in=9, weight_out=1),
        Wave(inputs=INPUTS, cells=32, shift=0, half_width=2, circular=True, weight_in=9, weight_out=1),
    ),
    level_law=np.array([0.7, 0.3]),
)
MATRIX = np.concatenate(CHANNEL.matrices)
X = np.linspace(LOWER, UPPER, 30)[1:-1]


def _density(atoms: tuple[float, float]) -> ExponentialSpline:
    theta = np.random.default_rng(1).normal(size=bspline.size(3, LEVEL)) * 0.5
    return ExponentialSpline(LOWER, UPPER, 3, LEVEL, theta, atoms)


def _cells(density: ExponentialSpline) -> np.ndarray:
    edges = np.linspace(LOWER, UPPER, INPUTS + 1)
    law = np.diff(density.cdf(edges))
    law[-1] = 1 - density.cdf(edges[-2])
    law[0] = density.cdf(edges[1])
    return law


def _posterior(atoms: tuple[float, float], kind: str) -> Posterior:
    """A fit that is off: the reports come from a law with a bump that the density lacks."""
    density, rng = _density(atoms), np.random.default_rng(2)
    law = _cells(density)
    true = law * (1 + 0.1 * np.sin(np.linspace(0, 9, INPUTS)))
    true /= true.sum()
    if kind == "counts":
        parts = [
            rng.multinomial(round(N * share), p / p.sum()) for share, p in zip((0.7, 0.3), _parts(true), strict=True)
        ]
        likelihood: Counts | Averages = Counts(CHANNEL, np.concatenate(parts))
    else:
        features = np.cos(np.pi * np.arange(1, 31)[:, None] * (np.arange(INPUTS) + 0.5) / INPUTS) * 100
        likelihood = Averages(features, features @ true + rng.standard_normal(30), float(N))
    size = len(density.coefficients) + sum(atom > 0 for atom in atoms)
    root = rng.normal(size=(size, size)) * (0.015 if kind == "counts" else 0.01)
    return Posterior(likelihood, density, likelihood.expected(law), root @ root.T)


def _parts(law: np.ndarray) -> tuple[np.ndarray, ...]:
    return CHANNEL.split(CHANNEL.probabilities(law))


def _moved(density: ExponentialSpline, parameter: int, by: float) -> ExponentialSpline:
    """One parameter moved: the coefficients first, then the atoms there are."""
    if parameter < len(density.coefficients):
        theta = density.coefficients.copy()
        theta[parameter] += by
        return replace(density, coefficients=theta)
    atoms = list(density.atoms)
    atoms[[end for end in (0, 1) if atoms[end] > 0][parameter - len(density.coefficients)]] += by
    return replace(density, atoms=tuple(atoms))


def _differences(posterior: Posterior, of, step: float = 1e-5) -> np.ndarray:
    """d of(density) by parameter, (n, D)."""
    columns = [
        (of(_moved(posterior.density, k, step)) - of(_moved(posterior.density, k, -step))) / (2 * step)
        for k in range(len(posterior.covariance))
    ]
    return np.stack(columns, axis=1)


def _least_squares(posterior: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """The correction's coefficients and their covariance, by Lagrange's conditions of mass zero."""
    knots = np.concatenate([np.zeros(3), np.linspace(0, 1, 17), np.ones(3)])
    edges = np.linspace(0, 1, INPUTS + 1)
    masses = np.stack([np.diff(BSpline(knots, unit, 3).antiderivative()(edges)) for unit in np.eye(K)], axis=1)
    ends = [end for end in (0, 1) if posterior.density.atoms[end] > 0]
    seen = np.hstack([masses, *[np.eye(INPUTS)[:, [(0, INPUTS - 1)[end]]] for end in ends]])
    mass = seen.sum(axis=0)
    likelihood = posterior.likelihood
    if isinstance(likelihood, Counts):
        levels = CHANNEL.split(likelihood.counts)
        reports = np.concatenate([np.full(len(part), part.sum()) for part in levels])
        A, W = MATRIX @ seen, reports / posterior.expected
        residual = likelihood.counts / reports - posterior.expected
    else:
        A, W = likelihood.features @ seen, np.ones(len(likelihood.values))
        residual = likelihood.values - posterior.expected
    size = len(mass)
    system = np.block([[(A.T * W) @ A, mass[:, None]], [mass[None, :], np.zeros((1, 1))]])
    inverse = np.linalg.inv(system)[:size, :size]
    return inverse @ (A.T @ (W * residual)), inverse


def _on_span(posterior: Posterior, weight, of_law: bool) -> np.ndarray:
    """int w B_k and w at the atoms, by a fine midpoint rule; `weight` takes x in the attribute's units."""
    u = (np.arange(160_000) + 0.5) / 160_000
    x = LOWER + WIDTH * u
    smooth = bspline.evaluate(u, 3, 4).T @ weight(x) / len(u)
    ends = [(LOWER, UPPER)[end] for end in (0, 1) if posterior.density.atoms[end] > 0]
    return np.concatenate([smooth, [float(weight(np.array([end]))[0]) if of_law else 0.0 for end in ends]])


WEIGHTS = {
    "mean": (lambda density: lambda x: x, True),
    "cdf(0.3)": (lambda density: lambda x: (x <= 0.3) * 1.0, True),
    "integrated_square(0)": (lambda density: lambda x: 2 * density.pdf(x), False),
    "entropy": (lambda density: lambda x: -np.log(density.pdf(x)) - 1, False),
}
CURVATURES = {  # half the second derivative, a weight of h^2
    "integrated_square(0)": lambda density, x: np.ones(len(x)),
    "entropy": lambda density, x: -0.5 / density.pdf(x),
}


@pytest.mark.parametrize("kind", ["counts", "averages"])
@pytest.mark.parametrize("atoms", ATOMS)
@pytest.mark.parametrize("text", WEIGHTS)
def test_a_corrected_value_is_plug_in_and_least_squares_and_curvature(kind, atoms, text):
    posterior = _posterior(atoms, kind)
    density, functional = posterior.density, parse(text)
    found = posterior.estimate(functional, 0.95)
    assert not found.is_refused
    correction, covariance = _least_squares(posterior)
    weight, of_law = WEIGHTS[text]
    t = _on_span(posterior, weight(density), of_law)
    debias = second = 0.0
    if text in CURVATURES:
        middles = LOWER + WIDTH * (np.arange(4000) + 0.5) / 4000
        moves = _differences(posterior, lambda moved: moved.pdf(middles))
        v = CURVATURES[text](density, middles) * WIDTH / 4000
        QV = (moves.T * v) @ moves @ posterior.covariance
        debias, second = np.trace(QV), np.sqrt(2 * np.trace(QV @ QV))
        assert abs(debias) > 0.02 * found.standard_error  # or a wrong sign would not be seen
    scale = found.standard_error
    assert found.plug_in == pytest.approx(functional.value(density))
    assert abs(t @ correction) > 0.1 * scale
    assert found.value == pytest.approx(functional.value(density) + t @ correction + debias, abs=1e-3 * scale)
    assert scale == pytest.approx(np.hypot(np.sqrt(t @ covariance @ t), second), rel=1e-3)
    half = stats.norm.ppf(0.975) * scale
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))


@pytest.mark.parametrize("kind", ["counts", "averages"])
@pytest.mark.parametrize("atoms", ATOMS)
@pytest.mark.parametrize("t", [0.3, 0.6])
def test_a_quantile_is_where_the_corrected_distribution_function_is(kind, atoms, t):
    posterior = _posterior(atoms, kind)
    found = posterior.estimate(parse(f"quantile({t})"), 0.95)
    knots = np.concatenate([np.zeros(3), np.linspace(0, 1, 17), np.ones(3)])
    x = np.linspace(LOWER, UPPER, 4097)
    u = (x - LOWER) / WIDTH
    below = np.stack([BSpline(knots, unit, 3).antiderivative()(u) for unit in np.eye(K)], axis=1)
    steps = [(u >= end)[:, None] * 1.0 for end in (0, 1) if atoms[end] > 0]
    below = np.hstack([below, *steps])
    correction, covariance = _least_squares(posterior)
    cdf = posterior.density.cdf(x) + below @ correction
    half = stats.norm.ppf(0.975) * np.sqrt(np.maximum(np.einsum("nk,kl,nl->n", below, covariance, below), 0))
    inside = x[np.abs(cdf - t) <= half]
    assert (found.low, found.high) == pytest.approx((inside[0], inside[-1]), abs=3 * WIDTH / 4096)
    assert found.value == pytest.approx(x[np.argmin(np.abs(cdf - t))], abs=3 * WIDTH / 4096)


@pytest.mark.parametrize("atoms", ATOMS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_densities_move_with_their_parameters_as_differences_say(atoms, order):
    posterior = _posterior(atoms, "counts")
    slow = _differences(posterior, lambda density: density.derivative(order)(X))
    fast = posterior._features(X, order)
    size = np.abs(slow).max()
    # A third of the features is each B-spline's mean under f, for which a thousand midpoints stand.
    assert fast == pytest.approx(slow, abs=2e-5 * size)
    if order == 0:
        logs = _differences(posterior, lambda density: np.log(density.pdf(X)))
        assert posterior._log_features(X) == pytest.approx(logs, abs=2e-5 * np.abs(logs).max())


@pytest.mark.parametrize("atoms", ATOMS)
def test_a_distribution_functions_band_is_its_own_standard_error(atoms):
    posterior = _posterior(atoms, "counts")
    low, high = posterior.cdf_band(X, 2.0)
    moves = _differences(posterior, lambda density: density.cdf(X))
    errors = np.sqrt(np.einsum("nk,kl,nl->n", moves, posterior.covariance, moves))
    assert high - posterior.density.cdf(X) == pytest.approx(2 * errors, rel=2e-3)
    assert posterior.density.cdf(X) - low == pytest.approx(2 * errors, rel=2e-3)
    assert np.ptp(posterior.cdf_band(np.array([UPPER]), 2.0)) == pytest.approx(0.0, abs=1e-12)
    first = np.ptp(posterior.cdf_band(np.array([LOWER]), 2.0))
    assert (first > 0) == (atoms[0] > 0)  # at the lower bound all that can err is its atom
    if atoms[0] > 0:
        own = posterior.covariance[len(posterior.density.coefficients)][len(posterior.density.coefficients)]
        assert first == pytest.approx(4 * np.sqrt(own))


def test_where_a_density_is_sure_its_band_is_that_of_its_logarithm():
    posterior = _posterior((0.1, 0.2), "counts")
    posterior = replace(posterior, covariance=1e-2 * posterior.covariance)
    moves = _differences(posterior, lambda density: np.log(density.pdf(X)))
    errors = np.sqrt(np.einsum("nk,kl,nl->n", moves, posterior.covariance, moves))
    low, high = posterior.density_band(X, 1.5)
    f = posterior.density.pdf(X)
    assert np.log(f / low) == pytest.approx(1.5 * errors, rel=1e-3)
    assert np.log(high / f) == pytest.approx(1.5 * errors, rel=1e-3)


def test_a_group_of_everybody_told_without_error_has_the_information_of_counts():
    """At the observed shares, multinomial: diag(n / p) in all directions of mass zero."""
    rng = np.random.default_rng(3)
    law = stats.beta.pdf((np.arange(INPUTS) + 0.5) / INPUTS, 2, 3)
    counts = np.concatenate([rng.multinomial(N, p / p.sum()) for p in _parts(law / law.sum())])
    group = group_counts(CHANNEL, counts[None, :], np.array([1.0]))
    direct = Counts(CHANNEL, counts)
    directions = rng.normal(size=(INPUTS, 6))
    directions -= directions.mean(axis=0)
    shares = counts / direct.reports
    seen = MATRIX @ directions
    assert group.n == direct.n
    left = group.features @ directions
    assert left.T @ left == pytest.approx((seen.T * direct.weights(shares)) @ seen, rel=1e-6)
