"""What the statistical checks promise: the truth is accepted, and what is planted is missed as rarely as was computed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.helpers.statistical import (
    MISSED,
    P_VALUE,
    draws_for_law,
    draws_for_mean,
    draws_for_variance,
    law_agrees,
    mean_agrees,
    most_seen,
    runs_for_share,
    variance_agrees,
)

LAWS = {
    "reversed": (np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])),
    "tilted": (np.ones(16), np.linspace(1, 1.3, 16)),
    "rare": (np.array([0.9, 0.06, 0.04]), np.array([0.93, 0.04, 0.03])),
    "many": (np.ones(200), np.linspace(1, 1.5, 200)),
}
STATED = [1.3, 0.7, 1.69, 0.49, 1 / 1.69]
SCALES = {"normal": (3.0, 1.0), "laplace": (6.0, 2.0)}  # kurtosis and variance


def test_sizes_are_those_of_the_textbook() -> None:
    assert draws_for_mean(0.3) == 1312  # ((6.11 + 4.75) / 0.3)^2
    assert draws_for_mean(0.3, missed=0.5) == 415
    assert draws_for_variance(1.3, missed=0.5) == 830  # no slack: 2 (6.11 / 0.3)^2
    assert draws_for_variance(0.7) < draws_for_variance(1.3) < draws_for_variance(1.3, kurtosis=6.0)
    assert draws_for_law(*LAWS["reversed"]) < draws_for_law(*LAWS["rare"]) < draws_for_law(*LAWS["tilted"])


def test_at_those_sizes_the_truth_is_accepted_and_what_is_planted_is_not() -> None:
    rng = np.random.default_rng(1)
    sizes = {name: draws_for_law(*laws) for name, laws in LAWS.items()}
    for _ in range(20):
        samples = rng.normal(0.3, 1, draws_for_mean(0.3))
        assert mean_agrees(samples, 0.3)
        assert not mean_agrees(samples, 0)
        for stated in STATED:
            samples = rng.laplace(0, 1, draws_for_variance(stated, kurtosis=6))
            assert variance_agrees(samples, 2)
            assert not variance_agrees(samples, 2 * stated)
        for name, (true, stated_law) in LAWS.items():
            counts = rng.multinomial(sizes[name], true / true.sum())
            assert law_agrees(counts, true)
            assert not law_agrees(counts, stated_law)


def test_a_count_is_judged_by_its_exact_law() -> None:
    runs = runs_for_share(0.1, 0.4)
    chances = [
        sum(math.comb(runs, k) * p**k * (1 - p) ** (runs - k) for k in range(most_seen(runs, 0.1) + 1))
        for p in (0.1, 0.4)
    ]
    assert 1 - chances[0] <= P_VALUE
    assert chances[1] <= MISSED
    fewer = runs - 1
    assert sum(math.comb(fewer, k) * 0.4**k * 0.6 ** (fewer - k) for k in range(most_seen(fewer, 0.1) + 1)) > MISSED


@pytest.mark.slow
@pytest.mark.nightly("a study")
def test_what_is_missed_is_as_rare_as_was_computed() -> None:
    """Sized to miss one in a thousand, checks miss hardly more of normal samples, and up to ten of heavy tails."""
    missed, rng, repetitions = 1e-3, np.random.default_rng(2), 10_000
    n = draws_for_mean(0.3, missed)
    assert np.mean([mean_agrees(rng.normal(0.3, 1, n), 0) for _ in range(repetitions)]) < 2 * missed
    for stated in STATED:
        for kind, (kurtosis, variance) in SCALES.items():
            n = draws_for_variance(stated, kurtosis, missed)
            draw = getattr(rng, kind)
            found = np.mean([variance_agrees(draw(0, 1, n), stated * variance) for _ in range(repetitions // 2)])
            assert found < (5 if kind == "normal" else 15) * missed, (kind, stated)
    for name, (true, stated_law) in LAWS.items():
        counts = rng.multinomial(draws_for_law(true, stated_law, missed), true / true.sum(), repetitions)
        assert np.mean([law_agrees(each, stated_law) for each in counts]) < 2 * missed, name
