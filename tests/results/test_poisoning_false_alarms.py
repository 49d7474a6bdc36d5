"""Checks for malicious clients, where every client is honest: how often they raise an alarm."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chi2

from dpcore.laboratory.studies.poisoning import DENSITIES, ORACLES, Trial
from dpcore.mechanisms import DyadicWave, UnaryEncoding
from dpcore.privacy.budget import Budget
from dpcore.results.checks import poisoning
from tests.helpers.statistical import P_VALUE

pytestmark = pytest.mark.slow

ROUNDS = 40
LAWS = [
    np.asarray(DyadicWave.design(Budget.parse("1")).model().level_law),
    UnaryEncoding.design(Budget.parse("1"), categories=40).marginal_laws()[0],
]
LEVEL = 0.05  # a false alarm in a thousand would take a study: `ldpflow benchmark poisoning`


@pytest.fixture(scope="module")
def p_values() -> dict[str, np.ndarray]:
    """Check -> its p-values over mechanisms and rounds of 100,000 honest clients in eight batches."""
    found: dict[str, list[float]] = {}
    for method in (*ORACLES, *DENSITIES):
        trial = Trial(method)
        for repetition in range(ROUNDS):
            batches = trial.honest(repetition)
            whole = batches[0]
            for batch in batches[1:]:
                whole = whole.merge(batch)
            for check in poisoning.checks(whole, batches):
                found.setdefault(check.name, []).append(check.p_value)
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.nightly("a study")
@pytest.mark.parametrize("name", poisoning.NAMES)
def test_honest_clients_raise_no_more_alarms_than_stated(p_values: dict[str, np.ndarray], name: str) -> None:
    values = p_values[name]
    alarms = int(np.sum(values < LEVEL))
    assert alarms <= binom.isf(P_VALUE, len(values), LEVEL)
    if name != "possible":  # which counts with frequencies that all vanish
        spread = np.sqrt(1 / 12 / len(values))
        assert abs(values.mean() - 0.5) <= 6 * spread


@pytest.mark.parametrize("scale", [1.0, 1.3])
@pytest.mark.parametrize("law", LAWS, ids=["levels", "ones"])
def test_counts_of_a_known_law_have_the_law_of_chi_squared(law: np.ndarray, scale: float) -> None:
    generator, draws = np.random.default_rng(1), 6000
    seen = [poisoning.pearson(generator.multinomial(5000, law), law) for _ in range(draws)]
    alarms = sum(chi2.sf(scale * statistic, free) < LEVEL for statistic, free in seen)
    few, many = binom.ppf(P_VALUE, draws, 0.9 * LEVEL), binom.isf(P_VALUE, draws, 1.1 * LEVEL)
    assert (few <= alarms <= many) == (scale == 1.0)
