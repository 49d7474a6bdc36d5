"""The accuracy study: what a cell is, what is left to do, what the views make of it, and what is said of the aims."""

from __future__ import annotations

import contextlib
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore import cli
from dpcore.errors import SchemeError
from dpcore.laboratory.benchmarks.accuracy import Accuracy
from dpcore.laboratory.plots.accuracy import plot_fits, plot_ratios
from dpcore.laboratory.studies import accuracy, metrics
from dpcore.laboratory.studies.accuracy import Cell
from dpcore.laboratory.studies.aims import accuracy as accuracy_aims
from dpcore.laboratory.studies.contestants import contestants
from dpcore.results import plots, warehouse

SMALL = {"targets": ("beta_2_5", "lognormal"), "clients": (10_000,), "epsilons": (1.0,), "repetitions": 4}
TWO = ("wavelet_laplace", "peer:oue")


def test_a_cell_gives_the_same_rows_whoever_measures_it() -> None:
    cell = Cell("bimodal", 10_000, 1.0)
    alone = accuracy.measure(cell, ("peer:oue cells=16",), 6)
    together = accuracy.measure(cell, ("peer:oue cells=8", "peer:oue cells=16"), 6)
    pd.testing.assert_frame_equal(alone, together[together["parameters"] == "cells=16"].reset_index(drop=True))


def test_repetitions_have_seeds_of_their_own_and_do_not_depend_on_their_number() -> None:
    (peer,) = accuracy.chosen(("peer:unary_tree",))[:1]
    cell = Cell("claw", 10_000, 1.0)
    seeds = [accuracy.seed(cell, "a method", repetition) for repetition in range(6)]
    assert len(set(seeds)) == 6
    assert (
        len({accuracy.seed(Cell(*other), "m", 0) for other in (("claw", 1, 1.0), ("age", 1, 1.0), ("age", 1, 2.0))})
        == 3
    )
    six, two = (peer.errors(cell.target, cell.clients, cell.epsilon, some)[0]["w1"] for some in (seeds, seeds[:2]))
    np.testing.assert_array_equal(six[:2], two)


def test_rows_have_the_median_its_interval_and_the_medians_of_both_halves() -> None:
    cell = Cell("uniform", 10_000, 1.0)
    (peer,) = [peer for peer in accuracy.chosen(("peer:oue",)) if peer.settings[0].parameters == "cells=8"]
    errors = peer.errors("uniform", 10_000, 1.0, [accuracy.seed(cell, "peer:oue cells=8", i) for i in range(10)])[0][
        "ks"
    ]
    rows = accuracy.measure(cell, ("peer:oue cells=8",), 10).set_index("metric")
    assert rows["value"]["ks"] == np.median(errors)
    assert rows["value"]["ks.first"] == np.median(errors[0::2])
    assert rows["value"]["ks.second"] == np.median(errors[1::2])
    assert list(rows.loc[["ks", "ks.first"], "repetitions"]) == [10, 5]
    ordered = np.sort(errors)
    assert (rows["low"]["ks"], rows["high"]["ks"]) == (
        ordered[1],
        ordered[8],
    )  # 97.9 % of the time the median is between
    assert {name.partition(".")[0] for name in rows.index} <= set(metrics.METRICS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": ("gamma",)}, "targets must be one of 'beta_10_10'"),
        ({"methods": ("sw",)}, "methods must be one of 'dyadic_wave'"),
        ({"repetitions": 5}, "repetitions must be a multiple of 2, got 5: Repetitions a cell; an even number"),
        ({"clients": (3,)}, "clients must lie between 100"),
        ({"epsilons": (0.0,)}, "epsilon must lie between 0.01"),
    ],
    ids=str,
)
def test_a_wrong_grid_is_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemeError, match=message) as caught:
        Accuracy(**(SMALL | changes))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_study_goes_on_where_it_was_stopped(fresh: Path) -> None:
    grid = Accuracy(**(SMALL | {"targets": ("lognormal",), "repetitions": 2}), methods=TWO)
    steps = grid.run(fresh)
    assert next(steps) == (0, 2)
    assert next(steps) == (1, 2)
    steps.close()  # and then the machine was switched off
    before = warehouse.query(fresh, "from benchmarks")
    assert list(grid.run(fresh)) == [(0, 1), (1, 1)]
    after = warehouse.query(fresh, "from benchmarks")
    assert len(after) > len(before)
    assert after["measured_at"].nunique() == 1
    assert list(grid.run(fresh)) == [(0, 0)]
    again = warehouse.query(fresh, "from benchmarks order by all")
    assert list(grid.run(fresh, again=True))[-1] == (2, 2)
    pd.testing.assert_frame_equal(warehouse.query(fresh, "from benchmarks order by all"), again)  # replaced by the same
    other = Accuracy(**(SMALL | {"targets": ("lognormal",)}), methods=TWO)
    assert next(iter(other.run(fresh))) == (0, 2)  # another study


@pytest.mark.slow
def test_two_processes_find_what_one_does() -> None:
    grid = Accuracy(**(SMALL | {"targets": ("beta_2_5",)}), methods=TWO)
    one, two = (
        pd.concat(grid.measured(grid.pending(pd.DataFrame()), workers)).sort_values(["method", "parameters", "metric"])
        for workers in (1, 2)
    )
    pd.testing.assert_frame_equal(one.reset_index(drop=True), two.reset_index(drop=True))


def land(file: Path, rows: list[tuple[str, str, str, int, str, float]]) -> None:
    columns = ["method", "parameters", "target", "clients", "metric", "value"]
    frame = pd.DataFrame(rows, columns=columns).assign(
        study="accuracy", epsilon=1.0, repetitions=4, low=None, high=None, version="1", measured_at=datetime.now(UTC)
    )
    warehouse.add_benchmarks(file, frame)


def peer_rows(method: str, parameters: str, target: str, clients: int, first: float, second: float) -> list[Any]:
    common = (f"peer:{method}", parameters, target, clients)
    whole = (first + second) / 2
    return [(*common, "ise", whole), (*common, "ise.first", first), (*common, "ise.second", second)]


@pytest.fixture
def judged(fresh: Path) -> Path:
    """Two targets and two numbers of clients; the peer that is best on the first half is not on the second."""
    rows = []
    for target, clients, ours in (("a", 10, 0.2), ("a", 20, 0.8), ("b", 10, 1.0), ("b", 20, 4.0)):
        rows += peer_rows("sw_ems", "bins=1024", target, clients, 3.0, 5.0)
        rows += peer_rows("lucky", "cells=8", target, clients, 1.0, 2.0)
        rows += peer_rows("best", "cells=8", target, clients, 1.5, 1.0)
        rows.append(("dyadic_wave", "", target, clients, "ise", ours))
    land(fresh, rows)
    return fresh


def test_views_choose_the_best_peer_on_one_half_and_measure_it_on_the_other(judged: Path) -> None:
    cells = warehouse.query(judged, "from accuracy_cells order by target, clients")
    assert list(cells["hindsight"]) == ["lucky cells=8"] * 4
    assert list(cells["hindsight_error"]) == [2.0] * 4
    assert list(cells["to_hindsight"]) == [0.1, 0.4, 0.5, 2.0]
    assert list(cells["to_published"]) == [0.05, 0.2, 0.25, 1.0]
    targets = warehouse.query(judged, "from accuracy_targets order by target")
    np.testing.assert_allclose(targets["to_hindsight"], [0.2, 1.0])
    (row,) = warehouse.query(judged, "from accuracy_summary").to_dict("records")
    assert (row["worst_target"], row["won"], row["cells"]) == ("b", 0.75, 4)
    assert row["to_hindsight"] == pytest.approx(math.sqrt(0.2))
    assert row["worst_ratio"] == pytest.approx(1.0)


def test_aims_are_reached_or_not_or_not_measured(judged: Path) -> None:
    found = {verdict.aim: verdict for verdict in Accuracy().report(judged).verdicts}
    first = found["ise: geometric mean, to best peer in hindsight"]
    assert (first.reached, first.limit) == (True, 0.5)
    assert found["ise: geometric mean, to SW-EMS, 1024 bins"].reached is False
    assert found["ise: worst target (b), to best peer in hindsight"].reached is True
    assert found["w1: worst target, to best peer in hindsight"].reached is None
    assert len(found) == 18


def test_designs_for_a_purpose_have_aims_of_their_own_and_pay_for_them_with_the_mean() -> None:
    rows = [
        ("dyadic_wave", "mean", 9.0, 0.8, 1.0),
        ("dyadic_wave_curve", "mean", 9.0, 1.2, 1.0),
        ("dyadic_wave_curve", "ise", 0.24, 9.0, 1.0),
        ("dyadic_wave_both", "ise", 0.30, 9.0, 1.0),
    ]
    summary = pd.DataFrame(rows, columns=["method", "metric", "to_hindsight", "to_published", "worst_ratio"])
    none = pd.DataFrame(columns=["method", "target", "clients", "epsilon", "metric", "half", "error"])
    found = {verdict.aim: verdict for verdict in accuracy_aims.verdicts(summary, none)}
    mean = found["dyadic_wave_curve: mean: variance, to dyadic_wave"]
    assert (mean.value, mean.limit, mean.reached) == (pytest.approx(2.25), 2.0, False)
    assert found["dyadic_wave_curve: ise: geometric mean, to best peer in hindsight"].reached is True
    assert found["dyadic_wave_both: ise: geometric mean, to best peer in hindsight"].reached is False
    assert found["dyadic_wave_both: mean: variance, to dyadic_wave"].reached is None


def test_the_aim_about_two_estimators_counts_targets() -> None:
    rows = pd.DataFrame(
        [
            (method, target, 100_000, 1.0, "ise", "", error)
            for target, spline in (("a", 0.3), ("b", 0.4), ("c", 0.1))
            for method, error in ((accuracy_aims.PLAIN, 1.0), (accuracy_aims.SPLINE, spline))
        ],
        columns=["method", "target", "clients", "epsilon", "metric", "half", "error"],
    )
    verdict = accuracy_aims.verdicts(
        pd.DataFrame(columns=["method", "metric", "to_hindsight", "to_published", "worst_ratio"]), rows
    )[-1]
    assert (verdict.value, verdict.limit, verdict.reached) == (2.0, 5, False)


@pytest.mark.slow
def test_pictures_are_drawn_of_what_was_measured(judged: Path) -> None:
    cells = warehouse.query(judged, "from accuracy_cells")
    figure, axes = plots.new_axes()
    plot_ratios(cells, axes)
    assert sorted(text.get_text() for text in axes.texts if "error" not in text.get_text()) == [
        "0.1",
        "0.4",
        "0.5",
        "2",
    ]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1\n10\nclients", "1\n20\nclients"]
    assert plots.png(figure)[:4] == b"\x89PNG"
    with pytest.raises(ValueError, match="one metric"):
        plot_ratios(pd.concat([cells, cells.assign(metric="w1")]), axes)
    assert Accuracy().draw(judged, judged.parent / "figures").keys() == {"ratios_ise"}


def test_a_representative_fit_is_drawn_beside_the_peers() -> None:
    fits = accuracy.representative(Cell("beta_2_5", 100_000, 1.0), "wavelet_laplace", "oue cells=16", repetitions=3)
    for curve in ("truth", "ours", "peer"):
        assert fits[curve].mean() == pytest.approx(1, abs=2e-3)
    figure, axes = plots.new_axes()
    plot_fits(fits, axes, title="beta")
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {"truth", "wavelet laplace", "oue cells=16"}
    assert plots.png(figure)[:4] == b"\x89PNG"


def test_an_estimate_is_scored_as_cells_are() -> None:
    """One density of ours, read as cells on the finest grid, gets the same numbers either way."""
    truth = metrics.truth("beta_2_5")
    (ours,) = accuracy.chosen(("wavelet_laplace",))
    estimate = ours.estimate(truth.target, 10_000, 1.0, (1, 2))  # type: ignore[attr-defined]
    direct = metrics.score_estimate(truth, estimate)
    cells = np.diff(estimate.cdf(np.linspace(0, 1, metrics.GRID + 1)))[None, :]
    as_cells = metrics.score_cells(truth, cells)
    for metric, value in direct.items():
        assert as_cells[metric][0] == pytest.approx(value, abs=2e-4), metric


@pytest.mark.slow
def test_the_command_measures_prints_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["benchmark", "accuracy", "--targets", "uniform", "--clients", "10000", "--epsilon", "1"]
    arguments += ["--methods", "wavelet_laplace,peer:sw_ems", "--repetitions", "2", "--workers", "1"]
    for extra in ([], ["--report"]):
        with contextlib.chdir(tmp_path), pytest.raises(SystemExit) as stop:
            cli.main([*arguments, *extra])
        assert not stop.value.code
        out = capsys.readouterr().out
        for words in (
            "wavelet_laplace",
            "integrated_square",
            "worst target",
            "aims",
            "not measured",
        ):
            assert words in out
        assert "pictures" not in out  # none is drawn where the method of the aims was not measured
    assert warehouse.query(tmp_path / "data/var/warehouse.duckdb", "from benchmarks")["measured_at"].nunique() == 1


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--targets", "gamma", "targets must be one of"),
        ("--epsilon", "one", "epsilon must be numbers separated by commas"),
    ],
)
def test_a_wrong_option_is_refused(
    option: str, value: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.chdir(tmp_path), pytest.raises(SystemExit) as stop:
        cli.main(["benchmark", "accuracy", option, value])
    assert stop.value.code in (1, 2)
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "method",
    [
        each.name if each.name == "wavelet_laplace" else pytest.param(each.name, marks=pytest.mark.slow)
        for each in contestants()
    ],
)
def test_every_method_of_ours_is_a_scheme_and_can_be_measured(method: str) -> None:
    rows = accuracy.measure(Cell("lognormal", 10_000, 2.0), (method,), 2).set_index("metric")["value"]
    assert {"ise", "w1", "ks", "mean", "entropy", "integrated_square", "median", "q90", "atom"} <= set(rows.index)
    assert np.isfinite(rows).all()
    assert rows["w1"] < 0.2
