"""The least error of a density: below every mechanism's, and what a slow solver finds among all that a report may say."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest
import scipy

from dpcore.errors import SchemeError
from dpcore.estimation.diagnostics.efficiency import _least, curve_ratio, information, precisions_of
from dpcore.mechanisms.observation_model import FiniteChannel, Listed
from dpcore.protocol.scheme import Scheme

PRIOR = precisions_of(2, 256)
LINES = ("", 'purpose = "both"', 'purpose = "curve"', 'mechanism = "square_wave"')


def channel(epsilon: float, lines: str = "") -> FiniteChannel:
    head = 'name = "s"\nclients = 100000\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\n'
    return Scheme.from_toml(f"{head}epsilon = {epsilon}\n{lines}\n").attributes["x"].mechanism.model()


def test_no_mechanism_says_more_than_any_may_or_errs_less(subtests: pytest.Subtests) -> None:
    for lines in LINES:
        for epsilon in [0.5, 1.0, 2.0]:
            with subtests.test(lines=lines, epsilon=epsilon):
                model = channel(epsilon, lines)
                most = (exp(epsilon) - 1) ** 2 / (4 * exp(epsilon))
                assert 0.5 * most < np.trace(information(model, 256)) <= most
                assert all(1 < curve_ratio(model, exp(epsilon), n) < 2 for n in (10**3, 10**5, 10**7))


def test_sets_of_the_best_share_say_as_much_as_any_mechanism_may() -> None:
    """Of 4 cells a report favours 1 three to one: 1 / (1 + E) of them, and all that it says is of the cells' shares."""
    weights = 1 + 2 * np.eye(4, dtype=np.int64)
    found = information(FiniteChannel((Listed(np.repeat(weights, 256, axis=0)),), np.ones(1)), 256)
    assert np.trace(found) == pytest.approx(2**2 / 12, rel=5e-3)  # cosines above 256 have the rest


@pytest.mark.parametrize("information", [1.0, 30.0, 1e4])
def test_water_is_what_a_slow_search_finds(information: float) -> None:
    precisions = PRIOR[:12]
    found = _least(information, precisions)

    slow = scipy.optimize.minimize(
        lambda shares: float((1 / (information * shares + precisions)).sum()),
        np.full(12, 1 / 12),
        bounds=[(0, 1)] * 12,
        constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 1000},
    ).fun
    assert found <= slow * (1 + 1e-9)
    assert found == pytest.approx(slow, rel=1e-3)


def test_densities_drawn_near_the_uniform_are_estimated_as_well_as_said_and_no_better() -> None:
    """The posterior mean from counts: its mean squared error is the one that is held against the limit."""
    model, n, random = channel(1.0), 10**6, np.random.default_rng(5)
    precisions, masses = PRIOR, _masses_of(model)
    covariance = np.linalg.inv(n * information(model, 256) + np.diag(precisions))
    reports = random.multinomial(n, model.level_law)
    uniform = np.full(model.inputs, 1 / model.inputs)
    held = np.repeat(reports, [level.outputs for level in model.levels]) * model.probabilities(uniform)
    slopes = model.probabilities(masses)
    errors = []
    for _ in range(60):
        s = (
            random.normal(size=len(precisions)) / np.sqrt(precisions) / 8
        )  # a small part, so that densities are positive
        parts = model.split(model.probabilities(uniform + masses @ s))
        counts = np.concatenate(
            [random.multinomial(m, part / part.sum()) for m, part in zip(reports, parts, strict=True)]
        )
        weight = slopes / model.probabilities(uniform)[:, None]
        found = weight.T @ (slopes * np.repeat(reports, [level.outputs for level in model.levels])[:, None])
        guess = np.linalg.solve(found + 64 * np.diag(precisions), weight.T @ (counts - held))
        errors.append(((guess - s) ** 2).sum())
    said = np.trace(np.linalg.inv(n * information(model, 256) + 64 * np.diag(precisions)))
    assert np.mean(errors) == pytest.approx(said, rel=0.15)
    assert np.trace(covariance) == pytest.approx(
        _least(n * (exp(1) - 1) ** 2 / (4 * exp(1)), precisions) * curve_ratio(model, exp(1), n) ** 2
    )


def _masses_of(model: FiniteChannel) -> np.ndarray:
    edges = np.linspace(0, 1, model.inputs + 1)
    k = np.pi * np.arange(1, 257)
    return sqrt(2) * np.diff(np.sin(edges[:, None] * k), axis=0) / k


def test_nothing_is_said_of_no_reports() -> None:
    with pytest.raises(SchemeError, match="n must be"):
        curve_ratio(channel(1.0), exp(1), 0)
