"""What EM and EMS find, where they stop, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.density.expectation_maximization import maximize
from dpcore.mechanisms import DyadicWave, SquareWave
from dpcore.privacy.budget import Budget
from tests.helpers.cases import every_value_once, of_each_kind

ONE = Budget.parse("1")


def smooth_law(inputs: int) -> np.ndarray:
    x = (np.arange(inputs) + 0.5) / inputs
    law = x * (1 - x) ** 4
    return law / law.sum()


@pytest.mark.parametrize(("kind", "smoothing"), every_value_once([SquareWave, DyadicWave], [True, False]))
def test_expected_counts_lead_back_to_the_law(kind, smoothing: bool) -> None:
    mechanism = kind.design(Budget.parse("4"), cells=32)
    model, law = mechanism.model(), smooth_law(mechanism.inputs)
    counts = model.expected(law, 1e9 * model.level_law)
    fit = maximize(model, counts, smoothing)
    assert fit.min() >= 0
    assert fit.sum() == pytest.approx(1, abs=1e-12)
    apart = np.abs(np.cumsum(fit - law)).max()
    assert apart < (0.02 if smoothing else 0.004) < 0.1 * np.abs(np.cumsum(1 / len(law) - law)).max()


def test_em_goes_on_while_the_counts_say_more_than_noise_and_then_stops() -> None:
    mechanism = SquareWave.design(ONE, cells=64)
    model, law = mechanism.model(), smooth_law(64)
    people = seeded(1).generator().multinomial(100_000, law)
    counts = mechanism.simulate(people, seeded(2))
    steps = [1, 2, 4, 8, 16, 32, 64, 4000]
    fits = [maximize(model, counts, False, tolerance=0, iterations=k) for k in steps]
    likelihoods = [float(counts @ np.log(model.probabilities(fit))) for fit in fits]
    assert likelihoods == sorted(likelihoods)  # every step is more likely
    stopped = maximize(model, counts, False)
    gained = float(counts @ np.log(model.probabilities(stopped))) - likelihoods[0]
    assert 0.99 * (likelihoods[-1] - likelihoods[0]) < gained < likelihoods[-1] - likelihoods[0]
    errors = [64 * float(np.sum((fit - law) ** 2)) for fit in (fits[0], stopped, fits[-1])]
    assert errors[1] < 0.1 * errors[0]
    assert errors[1] < 0.1 * errors[2]  # the most likely law is a few spikes


def test_more_reports_of_the_same_shares_stop_ems_at_the_same_place() -> None:
    """The rule is about shares: a likelihood's improvement would depend on how many reports there are."""
    mechanism = DyadicWave.design(ONE, cells=16)
    model = mechanism.model()
    counts = model.expected(smooth_law(mechanism.inputs), 1000 * model.level_law)
    np.testing.assert_allclose(maximize(model, counts, True), maximize(model, 10**6 * counts, True), rtol=1e-9)


@pytest.mark.parametrize("epsilon", of_each_kind(["0.5", "1", "4"], "1"))
def test_ems_has_little_left_to_move_where_it_stops(epsilon: str) -> None:
    mechanism = SquareWave.design(Budget.parse(epsilon), cells=128)
    people = seeded(1).generator().multinomial(50_000, smooth_law(128))
    counts = mechanism.simulate(people, seeded(2))
    stopped = maximize(mechanism.model(), counts, True)
    limit = maximize(mechanism.model(), counts, True, tolerance=1e-9)
    assert 0 < np.abs(stopped - limit).sum() / 2 < 0.01


def test_smoothing_keeps_a_flat_law_flat_up_to_the_ends() -> None:
    mechanism = SquareWave.design(ONE, cells=32)
    counts = mechanism.model().expected(np.full(32, 1 / 32), np.array([1e6]))
    np.testing.assert_allclose(maximize(mechanism.model(), counts, True), 1 / 32, rtol=1e-12)


def test_levels_without_reports_say_nothing() -> None:
    mechanism = DyadicWave.design(ONE, cells=16, levels=3)
    model, law = mechanism.model(), smooth_law(64)
    fit = maximize(model, model.expected(law, np.array([1e6, 0, 0])), False)
    anchor = np.repeat(law.reshape(16, 4).sum(axis=1), 4) / 4  # all that level 0 can see
    assert np.isfinite(fit).all()
    assert np.abs(np.cumsum(fit - anchor)).max() < 0.02


def test_what_cannot_be_fitted_is_refused() -> None:
    model = SquareWave.design(ONE, cells=16).model()
    outputs = model.levels[0].outputs
    with pytest.raises(NotEstimable, match="no report"):
        maximize(model, np.zeros(outputs), True)
    for options in ({"tolerance": -1.0}, {"iterations": 0}):
        with pytest.raises(SchemeError):
            maximize(model, np.ones(outputs), True, **options)
