"""The documents' figures: points become rows and come back, what must be seen in them is judged, and the command goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import cli
from dpcore.errors import SchemeError
from dpcore.laboratory.benchmarks.reproduce import Reproduce
from dpcore.laboratory.studies import figures, reproduce
from dpcore.laboratory.studies.figures import COLUMNS, Effort
from dpcore.results import warehouse

CHEAP = (
    "contraction",
    "definitions",
    "inherited",
    "majority",
    "mean_price",
    "noise",
    "optimality",
    "printed_scales",
    "truncated_mean",
    "utility",
    "warner_survey",
)
SIMULATED = ("derivative_rates", "differencing", "elbow", "lepski", "noisy_max", "three_queries", "truncated_simulated")


@pytest.mark.parametrize("name", [*CHEAP[:4], *(pytest.param(name, marks=pytest.mark.slow) for name in CHEAP[4:])])
def test_a_figure_lands_whole_and_shows_what_it_is_to_show(name: str) -> None:
    _check(name, Effort(quick=True))


@pytest.mark.nightly("a study")
@pytest.mark.parametrize("name", SIMULATED)
def test_a_simulated_figure_shows_what_it_is_to_show(name: str) -> None:
    _check(name, Effort())


def _check(name: str, effort: Effort) -> None:
    rows = reproduce.measure(name, effort)
    key = ["method", "parameters", "target", "clients", "epsilon", "metric"]
    assert not rows.duplicated(key).any()
    points = reproduce.points_of(rows)
    figure = reproduce.FIGURES[name]
    assert list(points.columns) == list(COLUMNS)
    assert set(points["panel"]) == set(figure.panels)
    verdicts = figure.aims(points)
    assert verdicts
    assert [verdict.aim for verdict in verdicts if not verdict.reached] == []


def test_what_a_figure_shows_can_fail() -> None:
    points = reproduce.points_of(reproduce.measure("truncated_mean", Effort()))
    bent = points.assign(value=points["value"] * points["x"] ** 0.15)
    assert not any(verdict.reached for verdict in reproduce.FIGURES["truncated_mean"].aims(bent))
    survey = reproduce.points_of(reproduce.measure("warner_survey", Effort(quick=True)))
    assert not reproduce.FIGURES["warner_survey"].aims(survey.assign(value=survey["value"] + 0.01))[0].reached


def test_points_come_back_as_they_were() -> None:
    frame = pd.DataFrame({"n": [10, 20], "a": [1.0, 2.0], "b": [0.5, 0.25], "se": [0.1, 0.0], "said": [1.1, np.nan]})
    points = figures.curves(frame, "p", "n", {"one; x=1": "a", "two": "b"}, error="se", stated="said", clients="n")
    points = figures.only_stated(points, "two")
    assert points.loc[points["curve"] == "two", "stated"].tolist() == [0.5, 0.25]
    back = reproduce.points_of(reproduce.rows_of("a name", points))
    order = ["panel", "curve", "x"]
    there = points[points["value"].notna() | points["stated"].notna()].sort_values(order, ignore_index=True)
    there["error"] = there["error"].where(there["value"].notna())
    pd.testing.assert_frame_equal(back.sort_values(order, ignore_index=True), there, check_dtype=False)


def test_power_laws_are_stated_through_the_middle() -> None:
    frame = pd.DataFrame({"n": [1, 10, 100], "error": [2.0, 0.2, 0.02]})
    points = figures.through_middle(figures.curves(frame, "p", "n", {"c": "error"}), {"c": -1.0})
    assert points["stated"].tolist() == pytest.approx([2.0, 0.2, 0.02])
    assert figures.slope(points) == pytest.approx(-1.0)


def test_every_figure_says_what_it_is() -> None:
    for name, figure in reproduce.FIGURES.items():
        assert figure.panels, name
        assert figure.seconds > 0, name
        assert figure.shows[:1].strip(), name


@pytest.mark.slow
def test_the_command_measures_what_is_missing_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, asked = tmp_path / "warehouse.duckdb", ["printed_scales", "noise"]
    _run("reproduce", asked[0], "--quick", "--data", str(tmp_path))
    _run("reproduce", *asked, "--quick", "--data", str(tmp_path))
    said = capsys.readouterr().out
    assert "our scale: loss over epsilon" in said
    assert sorted(path.stem for path in (tmp_path / "figures" / "reproduce").iterdir()) == sorted(asked)
    times = warehouse.query(file, "select method, count(distinct measured_at) as times from benchmarks group by method")
    assert times["times"].tolist() == [1, 1]
    assert list(Reproduce(names=tuple(asked), quick=True).run(file)) == [(0, 0)]
    assert next(Reproduce(names=(asked[0],)).run(file)) == (0, 1)
    assert list(Reproduce(names=(asked[0],), quick=True).run(file)) == [(0, 0)]
    _run("reproduce", "--list")
    assert "two_stages" in capsys.readouterr().out
    with pytest.raises(SchemeError, match="names must be one of"):
        Reproduce(names=("nothing",))


def _run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(list(arguments))
    assert exit_.value.code == 0
