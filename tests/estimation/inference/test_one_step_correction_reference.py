"""One-step corrections against constrained least squares, and how a log-spline moves with its parameters, by differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy
from scipy.interpolate import BSpline

from dpcore.estimation.density.densities import ExponentialSpline
from dpcore.estimation.density.likelihood import Averages, Counts, group_counts
from dpcore.estimation.density.log_spline import LogSplineInference
from dpcore.estimation.density.log_spline_posterior import Posterior
from dpcore.estimation.inference.one_step_correction import OneStep
from dpcore.functionals import parse
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.mechanisms.wave_level import Wave
from tests.helpers.cases import every_value_once

LOWER, UPPER, LEVEL, INPUTS, N = -1.0, 3.0, 3, 64, 300_000
WIDTH = UPPER - LOWER
UNSEEN = 0.1  # of the variance, that a span may leave unseen
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


def _inference(posterior: Posterior, *priors: Posterior) -> LogSplineInference:
    return LogSplineInference(OneStep(posterior, priors, posterior.density))


def _cubic(level: int) -> list[BSpline]:
    pieces = 1 << level
    knots = np.concatenate([np.zeros(3), np.linspace(0, 1, pieces + 1), np.ones(3)])
    return [BSpline(knots, unit, 3) for unit in np.eye(pieces + 3)]


def _least_squares(posterior: Posterior, level: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The correction's coefficients, their covariance and what solves for them, by Lagrange's conditions of mass zero."""
    edges = np.linspace(0, 1, INPUTS + 1)
    masses = np.stack([np.diff(spline.antiderivative()(edges)) for spline in _cubic(level)], axis=1)
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
    solve = inverse @ (A.T * W)
    return solve @ residual, inverse, solve


def _expected(posterior: Posterior) -> np.ndarray:
    """d of what is expected by parameter, (S, D)."""
    if isinstance(posterior.likelihood, Counts):
        return _differences(posterior, lambda density: MATRIX @ _cells(density))
    features = posterior.likelihood.features
    return _differences(posterior, lambda density: features @ _cells(density))


MIDDLES = LOWER + WIDTH * (np.arange(8000) + 0.5) / 8000
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


def _twin(posterior: Posterior, text: str, level: int) -> tuple[float, float, float, float]:
    """The correction, its first-order error, what the span leaves unseen, and the second-order terms: mean and deviation."""
    correction, covariance, solve = _least_squares(posterior, level)
    weight, of_law = WEIGHTS[text]
    w = weight(posterior.density)
    splines = np.stack([spline((MIDDLES - LOWER) / WIDTH) / WIDTH for spline in _cubic(level)], axis=1)
    moves = _differences(posterior, lambda density: density.pdf(MIDDLES))
    ends = [end for end in (0, 1) if posterior.density.atoms[end] > 0]
    at_ends = [float(w(np.array([(LOWER, UPPER)[end]]))[0]) * of_law for end in ends]
    step = WIDTH / len(MIDDLES)
    t = np.concatenate([w(MIDDLES) @ splines * step, at_ends])
    along = w(MIDDLES) @ moves * step
    along[len(along) - len(ends) :] += at_ends
    reach = solve @ _expected(posterior)
    unseen = along - t @ reach
    V = posterior.covariance
    mean = second = 0.0
    if text in CURVATURES:
        v = CURVATURES[text](posterior.density, MIDDLES) * step
        QV = (moves.T * v) @ moves @ V
        crossed = (moves.T * v) @ np.hstack([splines, np.zeros((len(MIDDLES), len(ends)))])
        mean = np.trace(QV) - 2 * np.trace(V @ reach.T @ crossed.T)
        second = np.sqrt(2 * np.trace(QV @ QV))
    return t @ correction + mean, t @ covariance @ t, unseen @ V @ unseen, second


def _within(density: ExponentialSpline, x: float) -> float:
    """How much the share at or below x may vary with what its cell does, the cell's mass held."""
    cell, part = divmod((x - LOWER) / WIDTH * INPUTS, 1)
    a, b = (LOWER + WIDTH * (cell + k) / INPUTS for k in (0, 1))
    return _bend(density) * float(density.cdf(b) - density.cdf(a)) * np.sqrt(part * (1 - part) / 2)


def _bend(density: ExponentialSpline) -> float:
    """Eight times the share of the fullest cell, atoms left out."""
    law = _cells(density)
    law[[0, -1]] -= density.atoms
    return min(1.0, 8 * law.max())


@pytest.mark.parametrize(("kind", "atoms", "text"), every_value_once(["counts", "averages"], ATOMS, WEIGHTS))
def test_a_corrected_value_is_plug_in_and_least_squares_and_curvature(kind, atoms, text):
    posterior, functional = _posterior(atoms, kind), parse(text)
    found = _inference(posterior).estimate(functional, 0.95)
    assert not found.is_refused
    if text == "mean":  # joined with the unbiased estimate, of which `test_unbiased_moments` is
        smooth = _inference(posterior).corrected._tried(functional, 0.95)[1]
        found = replace(found, value=smooth.value, standard_error=smooth.error, low=smooth.low, high=smooth.high)
    for level in (4, 5):
        moved, first, unseen, second = _twin(posterior, text, level)
        if unseen <= UNSEEN * (first + unseen):
            break
    scale = found.standard_error
    assert found.plug_in == pytest.approx(functional.value(posterior.density))
    assert found.value == pytest.approx(found.plug_in + moved, abs=1e-3 * scale)
    within = _within(posterior.density, 0.3) if text == "cdf(0.3)" else 0.0
    assert scale == pytest.approx(np.sqrt(first + unseen + second**2 + within**2), rel=1e-3)
    half = scipy.stats.norm.ppf(0.975) * scale
    rest = 0.1 * scale if second else 1e-9  # with a second derivative low and high are quantiles of a skew law
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=rest)


@pytest.mark.parametrize("kind", ["counts", "averages"])
def test_with_a_span_that_sees_everything_the_second_order_term_changes_its_sign(kind):
    """T is taken at f, whose noise is the correction's own: see the module."""
    posterior = _posterior((0.0, 0.0), kind)
    middles = LOWER + WIDTH * (np.arange(4000) + 0.5) / 4000
    moves = _differences(posterior, lambda density: density.pdf(middles))
    trace = np.trace(moves.T @ moves @ posterior.covariance) * WIDTH / 4000
    with_, _, _, _ = _twin(posterior, "integrated_square(0)", 4)
    correction, _, _ = _least_squares(posterior)
    splines = np.stack([spline((middles - LOWER) / WIDTH) / WIDTH for spline in _cubic(4)], axis=1)
    first = 2 * posterior.density.pdf(middles) @ splines @ correction * WIDTH / 4000
    assert with_ - first == pytest.approx(-trace, rel=0.1)


def test_a_point_takes_the_intervals_of_all_priors_beside_its_own():
    posterior = _posterior((0.0, 0.0), "counts")
    other = replace(_moved_all(posterior, 0.4), covariance=4 * posterior.covariance)
    functional = parse("derivative(0, 0.5)")
    own, both = (_inference(posterior, *priors).estimate(functional, 0.95) for priors in ((), (other,)))
    correction, covariance, solve = _least_squares(posterior)
    at = np.array([spline((0.5 - LOWER) / WIDTH) / WIDTH for spline in _cubic(4)])
    moves = _differences(posterior, lambda density: density.pdf(np.array([0.5])))[0]
    unseen = moves - at @ (solve @ _expected(posterior))
    half_cell = WIDTH / INPUTS / 2
    slope = _bend(posterior.density) * float(
        np.diff(posterior.density.pdf(np.array([0.5 - half_cell, 0.5 + half_cell])))[0]
    )
    error = np.sqrt(at @ covariance @ at + unseen @ posterior.covariance @ unseen + slope**2 / 12)
    z, f = scipy.stats.norm.ppf(0.975), float(posterior.density.pdf(0.5))
    assert (own.value, own.standard_error) == pytest.approx((f + at @ correction, error), rel=1e-3)
    assert own.low <= min(own.value - z * error, f)
    assert own.high >= max(own.value + z * error, f)
    moved = _differences(other, lambda density: density.pdf(np.array([0.5])))[0]
    half, there = z * np.sqrt(moved @ other.covariance @ moved), float(other.density.pdf(0.5))
    assert both.value == own.value
    within = z * slope / 12**0.5
    assert there - half < own.low
    assert both.low == pytest.approx(max(own.value - np.hypot(own.value - there + half, within), 0.0), rel=1e-4)
    assert there + half < own.value  # far below: there is nothing to widen
    assert both.high == pytest.approx(own.high)


def _moved_all(posterior: Posterior, by: float) -> Posterior:
    theta = posterior.density.coefficients + by * np.cos(np.arange(len(posterior.density.coefficients)))
    return Posterior(
        posterior.likelihood, replace(posterior.density, coefficients=theta), posterior.expected, posterior.covariance
    )


def test_a_quantile_is_where_the_corrected_distribution_function_is(subtests):
    for kind, t in [("counts", 0.3), ("averages", 0.6)]:
        for atoms in ATOMS:
            with subtests.test(kind=kind, atoms=atoms, t=t):
                posterior = _posterior(atoms, kind)
                posterior = replace(posterior, covariance=1e-6 * posterior.covariance)  # nothing is left unseen
                found = _inference(posterior).estimate(parse(f"quantile({t})"), 0.95)
                x = np.linspace(LOWER, UPPER, 4097)
                u = (x - LOWER) / WIDTH
                below = np.stack([spline.antiderivative()(u) for spline in _cubic(4)], axis=1)
                steps = [(u >= end)[:, None] * 1.0 for end in (0, 1) if atoms[end] > 0]
                below = np.hstack([below, *steps])
                correction, covariance, _ = _least_squares(posterior)
                cdf = posterior.density.cdf(x) + below @ correction
                half = scipy.stats.norm.ppf(0.975) * np.sqrt(
                    np.maximum(np.einsum("nk,kl,nl->n", below, covariance, below), 0)
                )
                inside = x[np.abs(cdf - t) <= half]
                cell = scipy.stats.norm.ppf(0.975) * _bend(posterior.density) * WIDTH / INPUTS / np.sqrt(12)
                ends = (
                    found.value + sign * np.hypot(inside[end] - found.value, cell) for end, sign in ((0, -1), (-1, 1))
                )
                assert (found.low, found.high) == pytest.approx(tuple(ends), abs=3 * WIDTH / 4096)
                assert found.value == pytest.approx(x[np.argmin(np.abs(cdf - t))], abs=3 * WIDTH / 4096)


def test_densities_move_with_their_parameters_as_differences_say(subtests):
    for atoms in ATOMS:
        for order in [0, 1, 2]:
            with subtests.test(atoms=atoms, order=order):
                posterior = _posterior(atoms, "counts")
                slow = _differences(posterior, lambda density, order=order: density.derivative(order)(X))
                fast = posterior.features(X, order)
                size = np.abs(slow).max()
                # A third of the features is each B-spline's mean under f, for which a thousand midpoints stand.
                assert fast == pytest.approx(slow, abs=2e-5 * size)
                if order == 0:
                    logs = _differences(posterior, lambda density: np.log(density.pdf(X)))
                    assert posterior.log_features(X) == pytest.approx(logs, abs=2e-5 * np.abs(logs).max())


def test_a_distribution_functions_band_is_the_functionals_intervals(subtests):
    for atoms in ATOMS:
        with subtests.test(atoms=atoms):
            inference = _inference(_posterior(atoms, "counts"))
            x = X[::3]
            low, high = inference.cdf_band(x, scipy.stats.norm.ppf(0.975))
            found = [inference.estimate(parse(f"cdf({at!r})"), 0.95) for at in x.tolist()]
            assert low == pytest.approx([each.low for each in found], abs=1e-4)
            assert high == pytest.approx([each.high for each in found], abs=1e-4)
            assert np.ptp(inference.cdf_band(np.array([UPPER]), 2.0)) == pytest.approx(0.0, abs=1e-7)
            first = np.ptp(inference.cdf_band(np.array([LOWER]), 2.0))
            assert (first > 0) == (atoms[0] > 0)  # at the lower bound all that can err is its atom


def test_where_a_density_is_sure_its_band_is_that_of_its_logarithm():
    posterior = _posterior((0.1, 0.2), "counts")
    posterior = replace(posterior, covariance=1e-2 * posterior.covariance)
    moves = _differences(posterior, lambda density: np.log(density.pdf(X)))
    errors = np.sqrt(np.einsum("nk,kl,nl->n", moves, posterior.covariance, moves))
    low, high = _inference(posterior).density_band(X, 1.5)
    f = posterior.density.pdf(X)
    assert np.log(f / low) == pytest.approx(1.5 * errors, rel=1e-3)
    assert np.log(high / f) == pytest.approx(1.5 * errors, rel=1e-3)


def test_a_group_of_everybody_told_without_error_has_the_information_of_counts():
    """At the observed shares, multinomial: diag(n / p) in all directions of mass zero."""
    rng = np.random.default_rng(3)
    law = scipy.stats.beta.pdf((np.arange(INPUTS) + 0.5) / INPUTS, 2, 3)
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
