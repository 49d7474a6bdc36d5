"""Densities that vanish at an end: any power of the distance is smooth where reports tell that there is one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy

from dpcore.estimation import constants
from dpcore.estimation.density import log_spline_fit
from dpcore.estimation.density.likelihood import Counts
from dpcore.estimation.density.log_spline_family import prior_of
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.mechanisms.wave_level import Wave

LEVEL, INPUTS, ORDERS = 5, 256, (1, 2, 3, 4)
CHANNEL = FiniteChannel(
    levels=(
        Wave(inputs=INPUTS, cells=64, shift=2, half_width=8, circular=False, weight_in=3, weight_out=1),
        Wave(inputs=INPUTS, cells=64, shift=1, half_width=8, circular=True, weight_in=3, weight_out=1),
    ),
    level_law=np.array([0.7, 0.3]),
)
EDGES = np.linspace(0, 1, INPUTS + 1)
MIDDLES = (np.arange(512) + 0.5) / 512
ENDS = [(True, False), (False, True), (True, True)]


def _counts(cdf, n: int, seed: int) -> Counts:
    """Reports of n people with that distribution function; what is beyond upper sits there."""
    law = np.array([after - before for before, after in pairwise(cdf(EDGES))])
    law[-1] += 1 - law.sum()
    rng = np.random.default_rng(seed)
    parts = CHANNEL.split(CHANNEL.probabilities(law))
    reports = rng.multinomial(n, CHANNEL.level_law)
    drawn = [rng.multinomial(m, p / p.sum()) for m, p in zip(reports, parts, strict=True)]
    return Counts(CHANNEL, np.concatenate(drawn))


def _logarithms(level: int, falling: tuple[bool, bool]) -> np.ndarray:
    splines, distances = (
        bspline.evaluate(MIDDLES, constants.DEGREE, level),
        np.array([MIDDLES, 1 - MIDDLES])[list(falling)],
    )
    return np.array([scipy.linalg.lstsq((splines.T * d).T, d * np.log(d))[0] for d in distances]).T


def test_powers_of_the_distance_are_smooth_and_known(subtests):
    """theta = 1.5 log x and the like, and any polynomial below the order: no roughness, that power."""
    for order in ORDERS:
        for falling in ENDS:
            with subtests.test(order=order, falling=falling):
                prior, logs = prior_of(LEVEL, order, falling), _logarithms(LEVEL, falling)
                wanted = np.array([1.5, -0.4])[: sum(falling)]
                theta = logs @ wanted + np.polyval(np.arange(1.0, order + 1), np.arange(len(logs)) / len(logs))
                eta = prior.axes.T @ theta
                assert prior.powers @ eta == pytest.approx(wanted)
                assert prior.roughness @ eta**2 == pytest.approx(0, abs=1e-9)
                assert prior_of(LEVEL, order).roughness @ (prior_of(LEVEL, order).axes.T @ theta) ** 2 > 0.01
                assert np.sum(prior.roughness == 0) == order - 1 + sum(falling)


def test_anything_else_is_as_rough_as_without_its_best_power(subtests):
    """Against least squares of the differences."""
    for order in ORDERS:
        for falling in ENDS:
            with subtests.test(order=order, falling=falling):
                prior, logs = prior_of(LEVEL, order, falling), _logarithms(LEVEL, falling)
                assert prior.axes.T @ prior.axes == pytest.approx(np.eye(len(logs) - 1), abs=1e-7)
                assert prior.axes.sum(axis=0) == pytest.approx(np.zeros(len(logs) - 1), abs=1e-7)
                eta = np.random.default_rng(order).normal(size=len(logs) - 1)
                left, right = (np.diff(columns, order, axis=0) for columns in (prior.axes @ eta, logs))
                rest = left - right @ scipy.linalg.lstsq(right, left)[0]
                scale = (2**LEVEL / (2 * np.pi)) ** (2 * order) / 2**LEVEL
                assert prior.roughness @ eta**2 == pytest.approx(scale * rest @ rest, rel=1e-6)


LAWS = {
    "beta(2, 5)": (lambda x: scipy.special.betainc(2, 5, x), True),
    "uniform": (lambda x: x, False),
    "rising": (lambda x: np.expm1(2 * x) / np.expm1(2), False),
    "a pole": (lambda x: np.sqrt(x), False),
    "clipped": (lambda x: 0.9 * x, False),  # a pole at upper would look like these
}


def test_an_end_is_told_to_vanish_where_it_does(subtests):
    for law in ("beta(2, 5)", "a pole", "clipped"):  # others vanish no more
        with subtests.test(law=law):
            cdf, vanishes = LAWS[law]
            fit = log_spline_fit.fit(_counts(cdf, 1_000_000, 7), LEVEL, ORDERS)
            assert fit.falling[0] == vanishes
            assert vanishes or not fit.falling[1]
            assert all(model.family.prior.falling == fit.falling for model in fit.models)
            assert fit.ends[1] == (law == "clipped")


def test_an_end_that_has_an_atom_has_no_power():
    """Beta(2, 1) on the half of the people who are inside: it rises to upper, and the others sit there."""
    fit = log_spline_fit.fit(_counts(lambda x: 0.9 * x**2, 1_000_000, 3), LEVEL, ORDERS)
    assert fit.ends == (False, True)
    assert fit.falling == (True, False)
    assert fit.atoms[1] == pytest.approx(0.1, abs=0.02)


@pytest.mark.slow  # what it gains: quick tests look at where it is told
def test_a_density_that_vanishes_is_known_better(monkeypatch):
    """Beta(2, 5): the mean squared error of three rounds, to that of priors that call its logarithm rough."""

    def error(seed: int) -> float:
        fit = log_spline_fit.fit(_counts(lambda x: scipy.special.betainc(2, 5, x), 300_000, seed), LEVEL, ORDERS)
        return float(np.sum((fit.cells - np.diff(scipy.special.betainc(2, 5, EDGES))) ** 2))

    ours = sum(map(error, range(3)))
    monkeypatch.setattr(log_spline_fit, "_vanishing_ends", lambda *told: (False, False))
    assert ours < 0.6 * sum(map(error, range(3)))
