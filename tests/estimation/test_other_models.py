"""A model that no check knows: it is left out, and nothing ends in an error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpcore.errors import NotEstimable
from dpcore.estimation.diagnostics.poisoning_sensitivity import exposed
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate, Spread
from dpcore.estimation.frequency.proportion_intervals import NormalIntervals
from dpcore.estimation.weighting.raking import Weights
from dpcore.estimation.weighting.stratified_variance import Strata
from dpcore.mechanisms import RandomizedResponse
from dpcore.mechanisms.observation_model import ObservationModel
from dpcore.privacy.budget import Budget
from dpcore.results.checks import poisoning

COUNTS = np.array([60, 40])


class Other(ObservationModel):
    def expected_statistics(self, law: np.ndarray, n: int) -> np.ndarray:
        return n * law


class OtherMechanism(RandomizedResponse):
    def model(self) -> Any:
        return Other()


def aggregate() -> Any:
    attribute = SimpleNamespace(mechanism=OtherMechanism(Budget.parse("ln 3"), 2, 3, 1))
    return SimpleNamespace(
        scheme=SimpleNamespace(attributes={"x": attribute}, clients=100),
        statistics={"x": COUNTS},
        reports=lambda name: 100,
        labelled=SimpleNamespace(answered={"x": [100]}, statistics={"x": [COUNTS]}),
        marginals={},
    )


def test_checks_leave_it_out() -> None:
    assert poisoning.checks(aggregate(), [aggregate(), aggregate()]) == []


@pytest.mark.parametrize("own", [None, np.array([1.0, 2.0])])
def test_an_estimate_states_its_sensitivity_itself(own: Any) -> None:
    shares, errors = COUNTS / 100, np.full(2, 0.05)
    estimate = FrequencyEstimate(
        attribute="x",
        categories=("a", "b"),
        values=shares,
        raw=shares,
        spread=Spread(errors**2, np.zeros((0, 2)), np.zeros((0, 0))),
        intervals=NormalIntervals(shares, errors),
        confidence=0.95,
        n=100,
        numbers=None,
        estimator="other",
        sensitivities=own,
    )
    assert exposed(estimate, aggregate(), "x") is estimate


def test_weights_are_refused() -> None:
    with pytest.raises(NotEstimable, match="x: its estimates cannot be weighted; estimate it by label"):
        Strata.from_aggregate(aggregate(), "x", Weights((), np.ones(1), np.array([100])))
