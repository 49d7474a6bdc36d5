"""The log-spline's parts against slow twins: differences, a general optimiser, sampled evidence, simulated groups."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy
from scipy.linalg import cho_solve

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.estimation.density import log_spline_fit, penalised_likelihood
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.density.likelihood import Averages, Counts, group_counts, whiten
from dpcore.estimation.density.log_spline_family import Family, prior_of
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.mechanisms.wave_level import Wave
from tests.helpers.cases import every_value_once
from tests.helpers.estimate_cases import SMOOTH, cell_law, draw, mechanism, noiseless
from tests.helpers.statistical import mean_agrees, variance_agrees

LEVEL, INPUTS, SIZE = 3, 32, 11
ENDS = [(False, False), (True, False), (False, True), (True, True)]
CHANNEL = FiniteChannel(
    levels=(
        Wave(inputs=INPUTS, cells=16, shift=1, half_width=2, circular=False, weight_in=3, weight_out=1),
        Wave(inputs=INPUTS, cells=16, shift=0, half_width=1, circular=True, weight_in=3, weight_out=1),
    ),
    level_law=np.array([0.7, 0.3]),
)


def _law(a: float, b: float, atoms: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
    law = np.diff(scipy.special.betainc(a, b, np.linspace(0, 1, INPUTS + 1))) * (1 - sum(atoms))
    law[0] += atoms[0]
    law[-1] += atoms[1]
    return law


def _counts(law: np.ndarray, n: int, seed: int) -> Counts:
    rng = np.random.default_rng(seed)
    parts = CHANNEL.split(CHANNEL.probabilities(law))
    reports = rng.multinomial(n, CHANNEL.level_law)
    drawn = [rng.multinomial(m, p / p.sum()) for m, p in zip(reports, parts, strict=True)]
    return Counts(CHANNEL, np.concatenate(drawn))


def _averages(law: np.ndarray, seed: int) -> Averages:
    rng = np.random.default_rng(seed)
    features = np.cos(np.pi * np.arange(1, 9)[:, None] * (np.arange(INPUTS) + 0.5) / INPUTS) * 60
    return Averages(features, features @ law + rng.standard_normal(8), 3600.0)


LIKELIHOODS = {
    "counts": lambda seed, atoms=(0.0, 0.0): _counts(_law(2, 3, atoms), 40_000, seed),
    "averages": lambda seed, atoms=(0.0, 0.0): _averages(_law(2, 3, atoms), seed),
}


def _point(family: Family, seed: int) -> np.ndarray:
    eta = np.random.default_rng(seed).normal(size=len(family.start)) * 0.5
    eta[len(eta) - family.atoms :] = [0.1, 0.2][: family.atoms]
    return eta


def _design(family: Family) -> np.ndarray:
    """The log density at the midpoints by the prior's coordinates, (points, K - 1)."""
    return _splines(family.points, int(np.log2(len(family.prior.axes) - constants.DEGREE))) @ family.prior.axes


@cache
def _splines(points: int, level: int) -> np.ndarray:
    return bspline.evaluate((np.arange(points) + 0.5) / points, constants.DEGREE, level)


def _value(family: Family, precision: np.ndarray, eta: np.ndarray) -> float:
    """The penalised log-likelihood, from its definition: cell masses of midpoints, and whole matrices."""
    smooth = family.smooth
    masses = np.exp(_design(family) @ eta[:smooth])
    masses *= (1 - eta[smooth:].sum()) / masses.sum()
    law, atoms = masses.reshape(INPUTS, -1).sum(axis=1), list(eta[smooth:])
    if family.ends[0]:
        law[0] += atoms.pop(0)
    if family.ends[1]:
        law[-1] += atoms.pop(0)
    likelihood = family.likelihood
    if isinstance(likelihood, Averages):
        fit = -0.5 * np.sum((likelihood.values - likelihood.features @ law) ** 2)
    else:
        shares = np.concatenate(CHANNEL.matrices) @ law
        fit = likelihood.counts @ np.log(shares) if np.all(shares > 0) else -1e9
    return float(fit - 0.5 * precision @ eta**2)


def _precision(family: Family, penalty: float) -> np.ndarray:
    return np.append(
        family.prior.precision(penalty), np.full(family.atoms, 3.0)
    )  # a uniform mass's mean square is a third


def test_the_prior_is_the_one_of_differences(subtests):
    for order in [1, 2, 3, 4]:
        with subtests.test(order=order):
            prior = prior_of(LEVEL, order)
            assert prior.axes.T @ prior.axes == pytest.approx(np.eye(SIZE - 1), abs=1e-12)
            assert prior.axes.sum(axis=0) == pytest.approx(np.zeros(SIZE - 1), abs=1e-12)
            assert np.sum(prior.roughness == 0) == order - 1
            eta = np.random.default_rng(order).normal(size=SIZE - 1)
            scale = (2**LEVEL / (2 * np.pi)) ** (2 * order) / 2**LEVEL
            assert prior.roughness @ eta**2 == pytest.approx(scale * np.sum(np.diff(prior.axes @ eta, order) ** 2))


def test_the_roughness_of_a_wave_does_not_depend_on_the_basis(subtests):
    """About k^(2 order) a^2 / 2 for amplitude a and frequency k."""
    for order in [1, 2, 3, 4]:
        for level in [5, 7]:
            with subtests.test(order=order, level=level):
                prior = prior_of(level, order)
                theta = 1.5 * np.sin(2 * np.pi * 3 * (np.arange(len(prior.axes)) - 1) / 2**level)
                rough = prior.roughness @ (prior.axes.T @ theta) ** 2
                assert rough == pytest.approx(3 ** (2 * order) * 1.5**2 / 2, rel=0.15)


def test_the_slope_is_the_derivative_of_what_is_expected(subtests):
    for kind in LIKELIHOODS:
        for ends in ENDS:
            with subtests.test(kind=kind, ends=ends):
                family = Family(LIKELIHOODS[kind](1), prior_of(LEVEL, 2), ends)
                eta, step = _point(family, 1), 1e-5
                slope = family.slope(family.law(eta))
                for k, along in enumerate(np.eye(len(eta)) * step):
                    above, below = (family.expected(family.law(eta + sign * along)) for sign in (1, -1))
                    assert (above - below) / (2 * step) == pytest.approx(slope[:, k], abs=1e-7 * np.abs(slope).max())


def test_score_and_weights_are_first_and_expected_second_derivative(subtests):
    for kind in LIKELIHOODS:
        for ends in ENDS:
            with subtests.test(kind=kind, ends=ends):
                family = Family(LIKELIHOODS[kind](2), prior_of(LEVEL, 2), ends)
                likelihood, eta, step = family.likelihood, _point(family, 2), 1e-5
                expected, slope = family.expected(family.law(eta)), family.slope(family.law(eta))
                gradient = slope.T @ likelihood.score(expected)
                nothing = np.zeros(len(eta))
                numeric = [
                    (_value(family, nothing, eta + along) - _value(family, nothing, eta - along)) / (2 * step)
                    for along in np.eye(len(eta)) * step
                ]
                assert numeric == pytest.approx(gradient, rel=1e-4, abs=1e-4 * np.abs(gradient).max())
                if isinstance(
                    likelihood, Counts
                ):  # information: the covariance of the score, the counts multinomial in each level
                    ends_of = np.cumsum([0] + [wave.outputs for wave in CHANNEL.levels])
                    covariance = np.zeros((len(expected),) * 2)
                    for start, stop in pairwise(ends_of):
                        p, n = expected[start:stop], likelihood.counts[start:stop].sum()
                        covariance[start:stop, start:stop] = n * (np.diag(p) - np.outer(p, p))
                    scores = slope / expected[:, None]
                    information = scores.T @ covariance @ scores
                    assert (slope.T * likelihood.weights(expected)) @ slope == pytest.approx(
                        information, rel=1e-9, abs=1e-9
                    )


@pytest.mark.parametrize(
    ("kind", "ends", "level", "largest"), every_value_once(LIKELIHOODS, ENDS, [LEVEL, 6], [0, 1 << 20])
)
def test_gradient_and_information_are_those_of_the_slope(kind, ends, level, largest, monkeypatch):
    monkeypatch.setattr(constants, "DENSE_ENTRIES", largest)
    family = Family(LIKELIHOODS[kind](2), prior_of(level, 2), ends)
    likelihood, law = family.likelihood, family.law(_point(family, 2) / level)
    expected, slope = family.expected(law), family.slope(law)
    gradient, information = family.gradient(law, expected), family.information(law, expected)
    assert gradient == pytest.approx(slope.T @ likelihood.score(expected), rel=1e-9, abs=1e-9 * np.abs(gradient).max())
    whole = _design(family) * law[: family.points, None]
    cells = (whole - np.outer(law[: family.points], whole.sum(axis=0) / law[: family.points].sum())).reshape(
        INPUTS, -1, whole.shape[1]
    )
    assert slope[:, : whole.shape[1]] == pytest.approx(likelihood.expected(cells.sum(axis=1)), rel=1e-9, abs=1e-12)
    twin = slope.T @ np.diag(likelihood.weights(expected)) @ slope
    assert information == pytest.approx(twin, rel=1e-9, abs=1e-9 * np.abs(twin).max())


@pytest.mark.parametrize("shape", [(INPUTS,), (INPUTS, 5)])
@pytest.mark.parametrize("largest", [0, 1 << 20])
def test_what_counts_expect_is_what_the_channels_matrices_say(shape, largest, monkeypatch):
    monkeypatch.setattr(constants, "DENSE_ENTRIES", largest)
    rng, whole = np.random.default_rng(4), np.concatenate(CHANNEL.matrices)
    counts, law, scores = LIKELIHOODS["counts"](1), rng.random(shape), rng.normal(size=len(whole))
    assert counts.expected(law) == pytest.approx(whole @ law)
    assert counts.adjoint(scores) == pytest.approx(whole.T @ scores)


def test_a_quasi_newton_step_is_that_of_the_updated_inverse(subtests):
    """BFGS on whole matrices."""
    for memory in [0, 1, 4]:
        with subtests.test(memory=memory):
            rng = np.random.default_rng(memory)
            root, gradient = rng.normal(size=(6, 6)), rng.normal(size=6)
            curvature, other = root @ root.T, np.diag(rng.random(6))
            steps = [
                (step, (curvature + other) @ step, step @ (curvature + other) @ step)
                for step in rng.normal(size=(memory, 6))
            ]
            inverse = np.linalg.inv(curvature)
            for step, lost, _ in steps:
                left = np.eye(6) - np.outer(step, lost) / (step @ lost)
                inverse = left @ inverse @ left.T + np.outer(step, step) / (step @ lost)
            factor = penalised_likelihood._factor(curvature, np.zeros(6))
            assert penalised_likelihood._direction(factor, steps, gradient) == pytest.approx(inverse @ gradient)


@pytest.mark.parametrize(("kind", "atoms"), every_value_once(LIKELIHOODS, [(0.0, 0.05), (0.0, 0.0)]))
def test_what_is_left_out_has_no_weight(kind, atoms, monkeypatch):
    """Against all models of all orders, each by Fisher scoring alone."""
    likelihood = LIKELIHOODS[kind](5, atoms)
    fast = log_spline_fit.fit(likelihood, LEVEL, (1, 2, 3))
    monkeypatch.setattr(constants, "evidence_margin", lambda: np.inf)
    monkeypatch.setattr(constants, "QUASI_STEPS", 1)
    monkeypatch.setattr(constants, "CONVERGED", 1e-8)
    slow = log_spline_fit.fit(likelihood, LEVEL, (1, 2, 3))
    assert fast.ends == slow.ends
    assert {(m.family.prior.order, m.penalty, m.family.ends) for m in fast.models} == {
        (m.family.prior.order, m.penalty, m.family.ends) for m in slow.models
    }
    errors = np.sqrt(np.diagonal(slow.covariance))
    assert np.abs((fast.parameters - slow.parameters) / errors).max() < 0.01
    assert np.sqrt(np.diagonal(fast.covariance)) == pytest.approx(errors, rel=0.01)


@pytest.mark.parametrize(
    ("kind", "prior", "ends"), every_value_once(LIKELIHOODS, [(1, 100.0), (2, 10.0), (3, 1.0), (4, 1e-3)], ENDS[::3])
)
def test_the_maximum_is_a_general_optimisers(kind, prior, ends):
    order, penalty = prior
    atoms = (0.05, 0.1) if any(ends) else (0.0, 0.0)
    family = Family(LIKELIHOODS[kind](3, atoms), prior_of(LEVEL, order), ends)
    precision = _precision(family, penalty)
    found = penalised_likelihood.maximise(family, precision, family.start)
    eta, factor = found.eta, found.factor
    value = found.value + np.sum(np.log(np.diagonal(factor[0])))
    slow = scipy.optimize.minimize(
        lambda e: -_value(family, precision, e) if np.sum(e[len(e) - family.atoms :]) < 1 else 1e9,
        _point(family, 3) * 0.2,
        method="BFGS",
        options={"gtol": 1e-3, "maxiter": 2000},
    )
    assert value == pytest.approx(_value(family, precision, eta), abs=1e-6)
    assert value >= -slow.fun - 1e-3
    errors = np.sqrt(np.diagonal(cho_solve(factor, np.eye(len(eta)))))
    assert np.abs((eta - slow.x) / errors).max() < 0.05


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_quasi_newton_steps_spare_the_information(kind, monkeypatch):
    """It is what costs, and is asked for at most so often; without them, or with what they learn spoiled, it is oftener."""
    family = Family(LIKELIHOODS[kind](3), prior_of(LEVEL, 2))
    asked = []
    honest = Family.information
    monkeypatch.setattr(Family, "information", lambda *told: asked.append(1) or honest(*told))
    found = penalised_likelihood.maximise(family, _precision(family, 1.0), family.start)
    assert not found.is_behind
    assert len(asked) <= 3  # of twenty


@pytest.mark.parametrize(
    ("kind", "prior", "ends"), every_value_once(LIKELIHOODS, [(2, 1e3), (3, 10.0), (1, 1e2)], ENDS[::3])
)
def test_the_evidence_is_the_integral_of_prior_times_likelihood(kind, prior, ends):
    """By importance sampling around the maximum; the atoms' prior is half a normal law."""
    order, penalty = prior
    atoms = (0.08, 0.12) if any(ends) else (0.0, 0.0)
    family = Family(LIKELIHOODS[kind](4, atoms), prior_of(LEVEL, order), ends)
    model = next(m for m in log_spline_fit._path(family, LEVEL) if m.penalty == pytest.approx(penalty))
    precision = _precision(family, model.penalty)
    covariance = cho_solve(model.factor, np.eye(len(model.eta)))
    proposal = scipy.stats.multivariate_t(model.eta, covariance, df=8, seed=5, allow_singular=True)
    draws = proposal.rvs(2000)
    logs = np.array([_value(family, precision, eta) for eta in draws])
    logs[np.any(draws[:, family.smooth :] < 0, axis=1)] = -np.inf
    prior = np.sum(np.log(precision)) / 2 - len(precision) * np.log(2 * np.pi) / 2 + family.atoms * np.log(2)
    ratio = logs + prior - proposal.logpdf(draws)
    found = scipy.special.logsumexp(ratio) - np.log(len(ratio))
    weights = np.exp(ratio - scipy.special.logsumexp(ratio))
    assert 1 / np.sum(weights**2) > 500  # else the samples say little
    assert model.evidence == pytest.approx(found, abs=0.4)  # what Laplace's method is wrong by in ten dimensions


def test_models_count_by_their_evidence_and_their_spread_is_added():
    fit = log_spline_fit.fit(_counts(_law(3, 4), 20_000, 6), LEVEL, (1, 2, 3))
    evidence = np.array([model.evidence for model in fit.models])
    assert fit.weights == pytest.approx(scipy.special.softmax(evidence))
    assert len(fit.models) > 3
    each = np.array([model.turn @ model.eta for model in fit.models])
    centre = fit.weights @ each
    covariance = np.zeros((SIZE, SIZE))
    for w, theta, model in zip(fit.weights, each, fit.models, strict=True):
        axes = model.family.prior.axes
        inside = axes @ cho_solve(model.factor, np.eye(SIZE - 1)) @ axes.T
        covariance += w * (inside + np.outer(theta - centre, theta - centre))
    assert fit.parameters == pytest.approx(centre)
    assert fit.covariance == pytest.approx(covariance)
    assert fit.law.sum() == pytest.approx(1)
    assert fit.expected == pytest.approx(CHANNEL.probabilities(fit.law.reshape(INPUTS, -1).sum(axis=1)))


@pytest.mark.parametrize(("mass", "is_found"), [(0.002, False), (0.03, True)])
def test_the_average_is_over_models_with_the_atom_or_over_those_without(mass, is_found, monkeypatch):
    monkeypatch.setattr(constants, "TEST_ERROR", 0.5)  # both are tried
    fit = log_spline_fit.fit(_counts(_law(2, 3, (0.0, mass)), 20_000, 3), LEVEL, (2, 3))
    has_atom = np.array([model.family.atoms > 0 for model in fit.models])
    assert has_atom.any()
    assert not has_atom.all()  # the others stay, for intervals that hold what every prior says
    assert fit.weights[has_atom].sum() > 0.5 if is_found else fit.weights[has_atom].sum() < 0.5
    chosen = has_atom == is_found
    own = fit.weights[chosen] / fit.weights[chosen].sum()
    each = [model.turn @ model.eta for model, is_in in zip(fit.models, chosen, strict=True) if is_in]
    assert fit.parameters == pytest.approx(own @ np.array(each))
    assert any(fit.ends) is is_found
    assert fit.parameters.shape == (SIZE + sum(fit.ends),)
    assert fit.covariance.shape == (SIZE + sum(fit.ends), SIZE + sum(fit.ends))


def test_whitened_averages_have_the_likelihood_of_their_covariance(subtests):
    for rank in [4, 6]:
        with subtests.test(rank=rank):
            rng = np.random.default_rng(rank)
            root, features = rng.normal(size=(6, rank)), rng.normal(size=(6, INPUTS))
            S, law = root @ root.T, _law(2, 3)
            values = features @ law + root @ rng.standard_normal(rank)
            found = whiten(features, values, S, 100.0)
            assert found.features.shape == (rank, INPUTS)
            left = values - features @ law
            assert found.log_likelihood(found.expected(law)) == pytest.approx(-0.5 * left @ np.linalg.pinv(S) @ left)
            assert found.features.T @ found.features == pytest.approx(features.T @ np.linalg.pinv(S) @ features)


RESPONSE = np.array([[0.75, 0.25], [0.25, 0.75]])
GROUPS, LAWS = np.array([0.3, 0.7]), (_law(2, 5), _law(4, 2))
INVERSE = np.linalg.inv(RESPONSE)


def _tables(n: int, rng: np.random.Generator) -> np.ndarray:
    """Counts by reported category and output: the level, the category and the output are drawn for each client."""
    seen = np.stack([CHANNEL.probabilities(law) for law in LAWS])  # (true, S)
    levels = np.repeat(CHANNEL.level_law, [wave.outputs for wave in CHANNEL.levels])
    joint = (RESPONSE * GROUPS) @ seen * levels
    return rng.multinomial(n, joint.ravel() / joint.sum()).reshape(joint.shape)


def test_groups_have_the_errors_their_likelihood_says():
    """Residuals at the truth: as many units of variance as dimensions, and one along any direction."""
    rng = np.random.default_rng(7)
    along = _law(2, 3) - _law(3, 2)
    squares, scores = [], []
    for _ in range(1000):
        group = group_counts(CHANNEL, _tables(100_000, rng), INVERSE[0])
        left = group.residual(group.expected(LAWS[0]))
        seen = group.expected(along)
        squares.append(left @ left)
        scores.append(seen @ left / np.sqrt(seen @ seen))
    dimensions = sum(wave.outputs for wave in CHANNEL.levels) - len(CHANNEL.levels)
    assert len(left) == dimensions
    squares, scores = np.array(squares), np.array(scores)
    assert np.mean(squares) == pytest.approx(dimensions, rel=0.04)
    assert mean_agrees(scores, 0.0)
    assert variance_agrees(scores, 1.0)
    assert not variance_agrees(scores, 1.5)
    assert not variance_agrees(scores, 1 / 1.5)


def test_a_small_groups_noise_is_judged_by_fitted_shares():
    """By the observed ones, which are mostly noise, what looks like the group counts for less, and its law is drawn away."""
    rng, few = np.random.default_rng(8), np.array([0.05, 0.95])
    seen = np.stack([CHANNEL.probabilities(law) for law in LAWS])
    levels = np.repeat(CHANNEL.level_law, [wave.outputs for wave in CHANNEL.levels])
    joint = (RESPONSE * few) @ seen * levels
    shares = (RESPONSE * few) @ seen / (RESPONSE @ few)[:, None]
    towards = LAWS[1] - LAWS[0]
    fitted, observed = [], []
    for _ in range(400):
        tables = rng.multinomial(20_000, joint.ravel() / joint.sum()).reshape(joint.shape)
        for found, own in ((fitted, (shares, seen[0])), (observed, (None, None))):
            group = group_counts(CHANNEL, tables, INVERSE[0], *own)
            along = group.expected(towards)
            found.append(along @ group.residual(group.expected(LAWS[0])) / (along @ along))
    assert mean_agrees(np.array(fitted), 0.0)
    assert not mean_agrees(np.array(observed), 0.0)


def test_a_group_that_cannot_be_told_from_none_is_not_estimable():
    tables = np.full((2, sum(wave.outputs for wave in CHANNEL.levels)), 50)
    tables[0] //= 3  # a quarter of the reports: what false ones alone would be
    with pytest.raises(NotEstimable, match="too rare"):
        group_counts(CHANNEL, tables, INVERSE[0])


@pytest.mark.parametrize("degree", [1, *(pytest.param(degree, marks=pytest.mark.slow) for degree in (0, 2, 3))])
def test_averages_of_a_wavelet_mechanism_mean_what_they_say(degree):
    """Without noise the residual at the true law vanishes; with it, its squares count the dimensions."""
    of = mechanism(degree)
    law = cell_law(of, SMOOTH["beta"])
    exact = InnerProducts.from_statistics(of.model(), noiseless(of, law).statistics["x"]).averages()
    small = law.reshape(exact.inputs, -1).sum(axis=1)
    size = np.abs(exact.values).max()
    assert exact.expected(small) == pytest.approx(exact.values, abs=2e-4 * size)
    squares = []
    for seed in range(50):
        drawn = InnerProducts.from_statistics(
            of.model(), draw(of, SMOOTH["beta"], 200_000, seed).statistics["x"]
        ).averages()
        left = drawn.residual(drawn.expected(small))
        squares.append(left @ left)
    mean, error = np.mean(squares), np.std(squares) / np.sqrt(len(squares))
    assert abs(mean - len(left)) < 5 * error + 0.02 * len(left)
    assert abs(mean / 1.5 - len(left)) > 5 * error + 0.02 * len(left)
