"""From a scheme with a wave to an estimate: keys, canonical text, pairs, files, EM and EMS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.registry import check_estimates
from dpcore.mechanisms import DyadicWave, SquareWave
from dpcore.privacy.budget import Budget
from dpcore.wire import read_aggregate, read_reports, write_aggregate, write_reports
from tests.helpers.cases import every_value_once

WAVES = ("dyadic_wave", "square_wave")


def text(mechanism: str, extra: str = "", epsilon: str = "2") -> str:
    return f"""
name = "waves"
pairs = [["height", "side"]]

[attributes.side]
type = "categorical"
categories = ["left", "right"]
epsilon = 2

[attributes.height]
type = "numeric"
lower = 0.5
upper = 2.5
mechanism = "{mechanism}"
epsilon = "{epsilon}"
{extra}
"""


def people(n: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Two groups of different heights."""
    rng = np.random.default_rng(seed)
    left = rng.random(n) < 0.6
    return {
        "side": np.where(left, "left", "right"),
        "height": 0.5 + 2 * np.where(left, rng.beta(3, 8, n), rng.beta(8, 3, n)),
    }


def test_what_is_given_is_designed_and_the_canonical_text_reads_back(subtests: pytest.Subtests) -> None:
    for mechanism, extra, designed in [
        ("dyadic_wave", "", DyadicWave.design(Budget.parse("2"))),
        ("dyadic_wave", "levels = 3\ncells = 32", DyadicWave.design(Budget.parse("2"), levels=3, cells=32)),
        ("dyadic_wave", "level_law = [0.5, 0.3, 0.2]", DyadicWave.design(Budget.parse("2"), level_law=[5, 3, 2])),
        ("dyadic_wave", "widths = [9, 15]", DyadicWave.design(Budget.parse("2"), widths=[9, 15])),
        ("dyadic_wave", 'purpose = "both"', DyadicWave.design(Budget.parse("2"), purpose="both")),
        ("square_wave", "", SquareWave.design(Budget.parse("2"))),
        ("square_wave", "cells = 64\nwidths = [21]", SquareWave.design(Budget.parse("2"), cells=64, widths=[21])),
    ]:
        with subtests.test(mechanism=mechanism, extra=extra, designed=designed):
            scheme = dp.Scheme.from_toml(text(mechanism, extra))
            assert scheme.attributes["height"].mechanism == designed
            again = dp.Scheme.from_toml(scheme.canonical)
            assert again.digest == scheme.digest
            assert again.attributes["height"].mechanism == designed
            assert "level_rule" not in scheme.canonical


def test_a_bad_scheme_names_the_field_and_what_came(subtests: pytest.Subtests) -> None:
    for mechanism, extra, parts in [
        ("dyadic_wave", "degree = 2", ["degree", "wavelet_laplace", "dyadic_wave"]),
        ("dyadic_wave", 'allocation = "sample"', ["allocation", "wavelet_laplace"]),
        ("square_wave", "levels = 3", ["levels", "dyadic_wave", "square_wave"]),
        ("square_wave", "level_law = [1]", ["level_law", "dyadic_wave"]),
        ("wavelet_laplace", "widths = [3]", ["widths", "wavelet_laplace"]),
        ("dyadic_wave", 'level_rule = "lepski"', ["level_rule", "projection"]),
        ("dyadic_wave", "level = 3", ["level", "projection"]),
        ("dyadic_wave", 'estimator = "projection"', ["estimator", "'log_spline'", "'projection'"]),
        ("wavelet_laplace", 'estimator = "ems"', ["estimator", "'projection'", "'ems'"]),
        ("dyadic_wave", "widths = [32]", ["widths", "odd", "32"]),
        ("dyadic_wave", "widths = 33", ["widths", "list", "33"]),
        ("dyadic_wave", "widths = [0.5]", ["widths", "whole number", "0.5"]),
        ("dyadic_wave", "level_law = []", ["level_law", "list"]),
        ("dyadic_wave", 'level_law = ["most"]', ["level_law", "number", "most"]),
        ("dyadic_wave", "levels = 2\nwidths = [33, 25, 25]", ["levels 2", "widths 3"]),
        ("dyadic_wave", "cells = 48", ["cells", "power of two", "48"]),
        ("dyadic_wave", 'purpose = "fine"', ["purpose", "both", "curve", "fine"]),
        ("dyadic_wave", 'purpose = "both"\ncells = 32', ["purpose", "cells", "leave either out"]),
        ("square_wave", 'purpose = "both"', ["purpose", "dyadic_wave"]),
        ("dyadic_wave", "client = 3", ["client", "table"]),
        ("dyadic_wave", "client = { cells = 64 }", ["client", "weights_in"]),
    ]:
        with subtests.test(mechanism=mechanism, extra=extra, parts=parts):
            with pytest.raises(SchemeError) as caught:
                dp.Scheme.from_toml(text(mechanism, extra))
            message = str(caught.value)
            assert "\n" not in message
            for part in ("attributes.height", *parts):
                assert part in message


@pytest.mark.parametrize("mechanism", WAVES)
def test_reports_and_aggregates_travel_through_files(mechanism: str, tmp_path: Path) -> None:
    scheme = dp.Scheme.from_toml(text(mechanism))
    columns = people(500)
    batch = dp.privatize(scheme, columns, random=dp.seeded(1))
    write_reports(tmp_path / "reports.parquet", scheme, batch)
    aggregate = dp.aggregate(scheme, read_reports(tmp_path / "reports.parquet", scheme))
    assert aggregate.n == aggregate.statistics["height"].sum() == 500
    assert not aggregate.rejected
    assert np.array_equal(aggregate.pairs["height", "side"].sum(axis=0), aggregate.statistics["height"])
    assert np.array_equal(aggregate.pairs["height", "side"].sum(axis=1), aggregate.statistics["side"])
    write_aggregate(tmp_path / "aggregate.parquet", aggregate)
    assert read_aggregate(tmp_path / "aggregate.parquet", scheme).equals(aggregate)
    client = dp.Client(scheme, random=dp.seeded(2), token="somebody")
    levels = {client.report({"side": "left", "height": 1.0}).answers["height"][0] for _ in range(20)}
    assert len(levels) == 1  # fixed for life


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", WAVES)
def test_pairs_are_simulated_as_clients_report_them(mechanism: str) -> None:
    """Every count of level, cell and reported category has the mean and the variance it has from clients."""
    scheme = dp.Scheme.from_toml(text(mechanism, "cells = 4" + ("\nlevels = 2" if mechanism == "dyadic_wave" else "")))
    columns, runs = people(60), 1000
    random = dp.seeded(5)
    tables = [
        np.array([make(r).pairs["height", "side"].ravel() for r in range(runs)], dtype=float)
        for make in (
            lambda r: dp.simulate(scheme, columns, random),
            lambda r: dp.aggregate(scheme, dp.privatize(scheme, columns, dp.seeded([6, r]))),
        )
    ]
    means, spreads = np.array([t.mean(axis=0) for t in tables]), np.array([t.var(axis=0) for t in tables])
    assert np.all(np.abs(means[0] - means[1]) < 6.5 * np.sqrt(spreads.sum(axis=0) / runs))
    assert np.all(np.abs(np.log(spreads[0] / spreads[1])) < 6.5 * np.sqrt(2 * 2.2 / runs))  # kurtosis a little above 3
    assert np.abs(means[0][: len(means[0]) // 2] / means[0][len(means[0]) // 2 :] - 1).max() > 0.3  # groups do differ


def test_forged_reports_are_refused_and_counted(subtests: pytest.Subtests) -> None:
    for mechanism in WAVES:
        with subtests.test(mechanism=mechanism):
            scheme = dp.Scheme.from_toml(text(mechanism))
            batch = dp.privatize(scheme, people(8), random=dp.seeded(1))
            answers = batch.answers["height"].reports
            answers.values[2], answers.values[5] = -1, 1 << 20
            aggregate = dp.aggregate(scheme, batch)
            assert aggregate.n == 6
            assert aggregate.rejected == {"height: out of range": 2}


@pytest.mark.parametrize(("mechanism", "smoothing"), every_value_once(WAVES, [True, False]))
def test_estimates_are_densities_near_the_truth(mechanism: str, smoothing: bool) -> None:
    scheme = dp.Scheme.from_toml(text(mechanism, f'estimator = "{"ems" if smoothing else "em"}"', epsilon="4"))
    columns = people(40_000)
    simulated = dp.simulate(scheme, columns, random=dp.seeded(3))
    estimate: Any = dp.estimate(simulated, "height")
    assert estimate.estimator == ("ems" if smoothing else "em")
    assert estimate.density.degree == 0
    assert 2**estimate.level == scheme.attributes["height"].mechanism.inputs
    assert estimate.n == 40_000
    grid = np.linspace(0.5, 2.5, 4097)
    assert estimate(grid).min() >= 0
    assert estimate.cdf(2.5) == pytest.approx(1, abs=1e-9)
    truth = np.searchsorted(np.sort(columns["height"]), grid) / 40_000
    assert np.abs(estimate.cdf(grid) - truth).max() < 0.05
    mean = estimate.functional(dp.functionals.Mean(), 0.999)
    assert mean.low < columns["height"].mean() < mean.high
    assert abs(mean.plug_in - columns["height"].mean()) < 0.03
    explicit = dp.ExpectationMaximization(smoothing=smoothing)
    same: Any = dp.estimate(simulated, "height", estimator=explicit)
    assert np.array_equal(same(grid), estimate(grid))
    frame = estimate.to_frame(101)
    assert np.all((frame.low <= frame.density) & (frame.density <= frame.high))


@pytest.mark.slow  # groups of a log-spline have quick tests beside it
@pytest.mark.parametrize("mechanism", WAVES)
def test_groups_are_told_apart(mechanism: str) -> None:
    scheme = dp.Scheme.from_toml(text(mechanism, epsilon="4"))
    columns = people(100_000)
    aggregate = dp.simulate(scheme, columns, random=dp.seeded(3))
    groups: Any = dp.estimate(aggregate, "height", given="side")
    assert list(groups) == ["left", "right"]
    for side, estimate in groups.items():
        of = columns["height"][columns["side"] == side]
        assert estimate.given == f"side={side}"
        assert estimate.n == pytest.approx(len(of), rel=0.05)
        assert estimate.quantile(0.5) == pytest.approx(np.median(of), abs=0.05)
        mean = estimate.functional(dp.functionals.Mean(), 0.999)
        assert mean.low < of.mean() < mean.high
    with pytest.raises(SchemeError, match="is not in the aggregate"):
        dp.estimate(aggregate, "height", given="height")


def test_what_no_piecewise_constant_has_is_refused_before_anyone_reports() -> None:
    scheme = dp.Scheme.from_toml(text("square_wave", 'functionals = ["derivative(1, 1)"]'))
    with pytest.raises(SchemeError, match="attributes"):
        check_estimates(scheme)
    check_estimates(dp.Scheme.from_toml(text("square_wave", 'functionals = ["derivative(0, 1)", "entropy"]')))


def test_ems_needs_a_wave_and_reports() -> None:
    laplace = dp.Scheme.from_toml(text("wavelet_laplace"))
    aggregate = dp.simulate(laplace, people(100), random=dp.seeded(1))
    for attribute in ("height", "side"):
        with pytest.raises(SchemeError, match="em and ems need"):
            dp.estimate(aggregate, attribute, estimator=dp.ExpectationMaximization())
    with pytest.raises(NotEstimable, match="no report"):
        dp.estimate(dp.Aggregate.zero(dp.Scheme.from_toml(text("square_wave"))), "height")
