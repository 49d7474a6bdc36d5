"""Where the fit looks for smoothness: paths of penalties from the smoothest down, or from a likely spline both ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import cho_solve

import dpcore as dp
from dpcore._random import seeded
from dpcore.estimation import constants
from dpcore.estimation.density import log_spline_fit, penalised_likelihood
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.density.likelihood import Counts
from dpcore.estimation.density.log_spline_family import Family, prior_of
from dpcore.laboratory.studies.aims.accuracy import METHOD
from dpcore.laboratory.studies.contestants import ATTRIBUTE, contestants
from dpcore.laboratory.studies.targets.densities import target
from dpcore.mechanisms.observation_model import FiniteChannel
from tests.estimation.inference.test_bounded_curvature import scheme


def counts(law: str, n: int, lines: str = "") -> Counts:
    """What n clients report of a law on average, in whole numbers."""
    model = scheme(lines, n=n).attributes["x"].mechanism.model()
    return Counts(model, np.round(model.expected(target(law).cells(model.inputs), n * model.level_law)))


def drawn(law: str, n: int, seed: int) -> Counts:
    """What n clients report in one round of the studies' dyadic wave."""
    asked = next(one for one in contestants() if one.name == METHOD).scheme(n, 1)
    simulated = dp.simulate(asked, target(law), seeded((n, seed, 77)), n)
    return Counts(asked.attributes[ATTRIBUTE].mechanism.model(), simulated.statistics[ATTRIBUTE])


def test_a_path_begun_at_a_likely_spline_of_another_order_finds_the_models_that_count(monkeypatch):
    """The slow twin walks from the smoothest down; of a billion reports most of that way is hopeless."""
    likelihood = counts("claw", 10**9)
    look = max(log_spline_fit._path(Family(likelihood, prior_of(6, 3)), 6), key=lambda m: m.evidence)
    asked = []
    honest = penalised_likelihood.maximise
    monkeypatch.setattr(log_spline_fit, "maximise", lambda *told: asked.append(1) or honest(*told))
    for order in (1, 2, 4):
        family = Family(likelihood, prior_of(6, order))
        asked.clear()
        slow = log_spline_fit._path(family, 6)
        whole, near = len(asked), log_spline_fit._path(family, 6, (look,))
        best = max(m.evidence for m in slow)
        found, wanted = ({m.penalty: m.evidence for m in path if m.evidence > best - 5} for path in (near, slow))
        assert found == pytest.approx(wanted, abs=0.02)
        assert len(asked) - whole < 0.7 * whole


def test_a_path_begun_too_rough_goes_up_while_models_count():
    family = Family(counts("beta_2_5", 10_000), prior_of(6, 2))
    slow = log_spline_fit._path(family, 6)
    rough = min(slow, key=lambda m: m.penalty)
    near = log_spline_fit._path(family, 6, (replace(rough, penalty=rough.penalty / 1e4),))
    best = max(m.evidence for m in slow)
    counted = {m.penalty: m.evidence for m in slow if m.evidence > best - constants.evidence_margin()}
    assert len(counted) > 2
    assert {m.penalty: m.evidence for m in near if m.penalty in counted} == pytest.approx(counted, abs=1e-6)


def test_no_model_has_an_atom_less_certain_than_any_mass_is():
    """Sixteen cells hardly tell an atom from a density that piles up; of masses between 0 and 1 the mean square is a third."""
    likelihood = counts("lognormal", 200, "cells = 16")
    for found in log_spline_fit._path(Family(likelihood, prior_of(6, 2), (False, True)), 6):
        assert cho_solve(found.factor, np.eye(len(found.eta)))[-1, -1] <= 1 / 3 + 1e-9


def test_where_the_smoothest_counts_every_path_is_walked_whole(monkeypatch):
    """Of a uniform law a smooth model may be likely beside a rough one, far apart; no path of another order may lose it."""
    likelihood = drawn("uniform", 100_000, 4)
    found, walk = log_spline_fit.fit(likelihood, 6, (1, 2, 3, 4)), log_spline_fit._path
    monkeypatch.setattr(
        log_spline_fit, "_path", lambda family, level, near=(), best=-np.inf: walk(family, level, (), best)
    )
    slow = log_spline_fit.fit(likelihood, 6, (1, 2, 3, 4))
    assert (found.ends, found.falling) == (slow.ends, slow.falling)
    assert found.cells == pytest.approx(slow.cells, abs=1e-6)


@pytest.mark.slow  # that paths go on from where they climbed to is looked at above
@pytest.mark.parametrize(("n", "seed"), [(30, 4), (10, 2)])
def test_a_finer_quadrature_loses_no_model_of_few_people(n, seed):
    """There are several maxima; a path that climbed from one begins anew at its top."""
    model = scheme("", n=n).attributes["x"].mechanism.model()
    expected = model.expected(target("lognormal").cells(model.inputs), n * model.level_law)
    likelihood = Counts(model, np.random.default_rng((7, seed)).poisson(expected))
    found = log_spline_fit.fit(likelihood, 6, (1, 2, 3, 4))
    for order in (1, 2, 3, 4):
        whole = log_spline_fit._path(Family(likelihood, prior_of(6, order, found.falling), found.ends, found.nodes), 6)
        best = max(model.evidence for model in whole)
        assert max([m.evidence for m in found.models if m.family.prior.order == order], default=best) >= best - 0.3


@pytest.mark.parametrize(
    ("law", "mechanism", "n", "epsilon"), [("pareto", "dyadic_wave", 100_000, 4), ("jump", "wavelet_laplace", 300, 1)]
)
def test_every_model_is_at_its_maximum(law, mechanism, n, epsilon):
    """Scoring that only halves its steps goes to and fro across a ridge, and ends where rounding happens to leave it."""
    lines = f'mechanism = "{mechanism}"\nepsilon = {epsilon}\n'
    asked = dp.Scheme.from_toml(f'name = "s"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\n{lines}')
    model = asked.attributes["x"].mechanism.model()
    statistics = dp.simulate(asked, target(law), seeded((n, 5, 77)), n).statistics["x"]
    is_finite = isinstance(model, FiniteChannel)
    likelihood = Counts(model, statistics) if is_finite else InnerProducts.from_statistics(model, statistics).averages()
    models = log_spline_fit.fit(likelihood, 6, (1, 2, 3, 4)).models
    for found in models:
        family = found.family
        masses = family.law(found.eta)
        slope = family.gradient(masses, family.expected(masses)) - family.precision(found.penalty) * found.eta
        assert slope @ cho_solve(found.factor, slope) < 1e-7  # squared, in standard deviations of the posterior
