"""The perturbed orthogonal series: the printed scale loses too much, ours does not, and what is released is a density."""

from __future__ import annotations

from math import isclose

import numpy as np
import pytest
from scipy.integrate import trapezoid

from dpcore._random import seeded
from dpcore.errors import CalibrationError, SchemeError
from dpcore.laboratory.central.densities.orthogonal_series import (
    LATTICE,
    PerturbedSeries,
    input_cells,
    printed_loss,
    printed_scale,
    sensitivity,
    table,
)
from dpcore.laboratory.central.densities.releases import SeriesRelease, series_estimate
from dpcore.privacy.budget import Budget

ONE = Budget.parse(1)


@pytest.mark.parametrize(
    ("terms", "loss"), [(1, 2.00), (2, 1.56), (3, 1.44), (5, 1.35), (10, 1.28), (20, 1.25), (50, 1.23)]
)
def test_the_printed_scale_loses_more_than_a_fifth_too_much(terms: int, loss: float) -> None:
    assert printed_loss(terms) == pytest.approx(loss, abs=0.005)
    assert printed_loss(terms) > 1.2
    with pytest.raises(CalibrationError, match=rf"would lose {int(100 * printed_loss(terms)) / 100}"):
        PerturbedSeries(ONE, terms, printed_scale(terms, ONE))
    ours = PerturbedSeries.design(ONE, terms)
    assert ours.certificate().kept <= 1
    assert ours.certificate().kept > 0.999


def test_the_measured_loss_of_two_databases_reaches_the_printed_excess() -> None:
    """The exact ratio of the two laws at one output, the worst pair: above 1.2 epsilon as printed, at most epsilon as ours."""
    terms = 10
    rows = table(terms)
    pair = max(
        ((a, b) for a in range(0, 1024, 8) for b in range(0, 1024, 8)),
        key=lambda p: np.abs(rows[p[0]] - rows[p[1]]).sum(),
    )
    x, y = (rows[cell] for cell in pair)
    log_ratio = np.abs(x - y).sum() - np.abs(x - x).sum()  # at the output x, in units of 1 / t
    assert log_ratio / printed_scale(terms, ONE) > 1.2
    assert log_ratio / PerturbedSeries.design(ONE, terms).scale <= 1


def test_a_scale_one_step_too_small_is_refused() -> None:
    ours = PerturbedSeries.design(Budget.parse("0.3"), 4)
    with pytest.raises(CalibrationError):
        PerturbedSeries(ours.budget, 4, ours.scale - 1)


def test_theorem_15_chooses_the_terms() -> None:
    assert PerturbedSeries.for_rate(ONE, 3**5).terms == 3
    with pytest.raises(SchemeError, match="above 1"):
        PerturbedSeries.for_rate(ONE, 100, order=0.9)


def test_the_coefficients_are_those_of_the_records_but_for_the_noise() -> None:
    records = np.random.default_rng(1).beta(2, 5, 20_000)
    release = PerturbedSeries.design(Budget.parse(20), 5).release(records, seeded(2))
    plain = series_estimate(records, 5).coefficients
    assert np.abs(release.coefficients - plain).max() < 5 * sensitivity(5) / (20 * LATTICE * len(records)) + 1e-3
    assert (input_cells(np.array([0.0, 1.0])) == [0, 1023]).all()


def test_negative_parts_are_repaired() -> None:
    release = SeriesRelease(np.array([0.0, -1.2, 0.3]))
    assert release.is_repaired
    x = np.linspace(0, 1, 20_001)
    assert release.series(x).min() < 0 <= release.pdf(x).min()
    assert isclose(trapezoid(release.pdf(x), x), 1, abs_tol=1e-6)
    positive = np.maximum(release.series(x), 0)
    assert np.allclose(release.pdf(x), positive / trapezoid(positive, x), atol=1e-6)
    sample = release.sample(20_000, seeded(1))
    assert (
        np.abs(np.mean(sample[:, None] <= [0.3, 0.5, 0.7], axis=0) - release.cdf(np.array([0.3, 0.5, 0.7]))).max()
        < 0.02
    )
    assert release.pdf(sample).min() >= 0
    assert not SeriesRelease(np.array([0.1])).is_repaired
