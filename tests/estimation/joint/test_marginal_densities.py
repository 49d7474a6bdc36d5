"""Either number of two that were asked together: every report that tells of it counts, and of the right one."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore import functionals as f
from dpcore.errors import NotEstimable
from dpcore.estimation.joint import marginal_densities

SCHEME = dp.Scheme.from_toml("""
name = "s"
[attributes.a]
type = "numeric"
of = ["x", "y"]
lower = [0, 0]
upper = [1, 1]
epsilon = 2
""")
ATTRIBUTE = SCHEME.attributes["a"]
N = 100_000


def people() -> dict[str, np.ndarray]:
    """Two numbers whose means, .3 and .6, are far apart, and that go together."""
    generator = np.random.default_rng(5)
    x = generator.beta(3, 7, N)
    return {"x": x, "y": 0.5 * x + 0.9 * generator.beta(4, 4, N)}


PEOPLE = people()


@cache
def counted() -> np.ndarray:
    return dp.aggregate(SCHEME, dp.privatize(SCHEME, PEOPLE, dp.seeded(3))).statistics["a"]


def statistics(*levels: int) -> np.ndarray:
    """What is counted if nobody reports another level than these."""
    counts = counted().copy()
    for level, part in enumerate(ATTRIBUTE.mechanism.model().split(counts)):
        if level not in levels:
            part[:] = 0  # a view
    return counts


@cache
def means(*levels: int) -> tuple[Any, ...]:
    """The functional that is the mean, of x and of y."""
    return tuple(found.functional(f.Mean()) for found in marginal_densities.densities(ATTRIBUTE, statistics(*levels)))


def test_either_number_is_told_by_places_and_by_reports_of_it_alone(subtests: pytest.Subtests) -> None:
    for levels in [(0, 1, 2, 3), (0,), (2, 3)]:
        with subtests.test(levels=levels):
            for name, mean in zip("xy", means(*levels), strict=True):
                assert mean.standard_error is not None
                assert mean.value == pytest.approx(np.clip(PEOPLE[name], 0, 1).mean(), abs=4 * mean.standard_error)
                assert mean.standard_error < 0.01


def test_both_together_tell_what_both_tell_alone() -> None:
    """Their information adds up, but for how smooth the fits are."""
    errors = np.array([[mean.standard_error for mean in means(*levels)] for levels in ((0, 1, 2, 3), (0,), (2, 3))])
    both, places, alone = errors**-2.0
    assert both == pytest.approx(places + alone, rel=0.2)


def test_a_number_that_nobody_reported_is_named() -> None:
    with pytest.raises(NotEstimable, match="a has no report of y or of a place"):
        marginal_densities.densities(ATTRIBUTE, statistics(1, 2))
