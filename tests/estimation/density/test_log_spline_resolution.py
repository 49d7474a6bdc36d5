"""The log-spline's basis gives way where the data contradict it, and only there."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from dpcore._random import seeded
from dpcore.estimation import constants
from dpcore.estimation.density import log_spline_fit
from dpcore.estimation.density.likelihood import Counts
from dpcore.estimation.density.log_spline_family import Family, prior_of
from dpcore.estimation.inference.confidence_bands import within
from dpcore.laboratory.studies.targets import densities
from dpcore.mechanisms.numeric.dyadic_wave import DyadicWave
from dpcore.privacy.budget import Budget
from tests.helpers.cases import of_each_kind, some_by_day


def _fit(target: str, epsilon: str, clients: int) -> tuple[log_spline_fit.Fit, np.ndarray]:
    mechanism = DyadicWave.design(Budget.parse(epsilon))
    law = densities.target(target).cells(mechanism.inputs)
    counts = mechanism.simulate(np.random.default_rng(1).multinomial(clients, law), seeded(2))
    return log_spline_fit.fit(Counts(mechanism.model(), counts), 6, (1, 2, 3, 4)), law


@pytest.mark.nightly("a study")
def test_thirty_one_atoms_are_told_apart() -> None:
    """A real sample of 31 values: no spline of 64 pieces explains it, nor would a path left at its first dip."""
    fit, law = _fit("chronic", "4", 1_000_000)
    assert fit.level > 6
    assert fit.chance > constants.NEGLIGIBLE
    assert np.abs(np.cumsum(fit.cells) - np.cumsum(law)).mean() < 0.0015


def test_smooth_densities_stay_where_they_are(subtests: pytest.Subtests) -> None:
    for target in ["claw", "age"]:
        with subtests.test(target=target):
            fit, _ = _fit(target, "2", 1_000_000)
            assert fit.level == 6
            assert fit.chance > constants.NEGLIGIBLE


@pytest.mark.parametrize("target", of_each_kind(["claw", "beta_2_5"], "claw"))
def test_a_path_that_begins_near_another_fits_best_finds_the_same(target: str) -> None:
    fit, _ = _fit(target, "2", 100_000)
    for model in fit.tried[1:]:
        family = Family(fit.likelihood, prior_of(7, model.family.prior.order), nodes=12)
        whole, near = (log_spline_fit._most_likely(log_spline_fit._path(family, 7, begun)) for begun in ((), fit.tried))
        assert near.penalty == whole.penalty
        assert near.evidence == pytest.approx(whole.evidence, abs=0.01)


def test_the_chance_of_a_true_law_is_uniform_and_that_of_a_wrong_one_is_none() -> None:
    mechanism = DyadicWave.design(Budget.parse("2"))
    law, model = densities.target("beta_2_5").cells(mechanism.inputs), mechanism.model()
    wrong, chances = np.full(len(law), 1 / len(law)), []
    for seed in range(100):
        people = np.random.default_rng([1, seed]).multinomial(1_000_000, law)
        likelihood = Counts(model, mechanism.simulate(people, seeded((2, seed))))
        chances.append(likelihood.chance(likelihood.expected(law)))
    assert scipy.stats.kstest(chances, "uniform").pvalue > 0.001
    assert likelihood.chance(likelihood.expected(wrong)) < 1e-300


def test_a_value_that_cannot_be_keeps_its_intervals_length() -> None:
    assert within(-2.0, -5.0, 1.0, 0.0, 1.0) == (0.0, 0.0, 1.0)
    assert within(0.5, 0.4, 0.6, 0.0, 1.0) == (0.5, 0.4, 0.6)
    assert within(1.2, 1.0, 1.4, 0.0, 1.0) == (1.0, pytest.approx(0.8), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("clients", some_by_day([300, 1_000, 100_000], 300))
def test_everybody_at_the_two_bounds_leaves_a_density(clients: int) -> None:
    """Atoms of .5 each: their estimates may add up to more, but never to more than everybody."""
    mechanism = DyadicWave.design(Budget.parse("1"))
    law = np.zeros(mechanism.inputs)
    law[[0, -1]] = 0.5
    for seed in range(3):
        counts = mechanism.simulate(np.random.default_rng(seed).multinomial(clients, law), seeded([seed, 1]))
        fit = log_spline_fit.fit(Counts(mechanism.model(), counts), 6, (1, 2, 3, 4))
        assert sum(fit.atoms) < 1
        assert min(fit.atoms) >= 0
        assert np.all(np.isfinite(fit.law))
        assert len(fit.parameters) == len(fit.coefficients) + sum(fit.ends)
