"""The study of malicious clients: what its verdicts say, and that it lands what it prints."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from dpcore import cli
from dpcore.errors import SchemeError
from dpcore.laboratory.attacks import MaximalGain
from dpcore.laboratory.benchmarks.poisoning import Poisoning
from dpcore.laboratory.plots.poisoning import plot_power
from dpcore.laboratory.studies import poisoning
from dpcore.results import warehouse


def row(method: str, attack: str, beta: float, metric: str, value: float, **more: float) -> dict[str, object]:
    parameters = f"attack={attack}, beta={beta:g}"
    return {"method": method, "parameters": parameters, "metric": metric, "value": value, "repetitions": 100} | more


def rows(**changed: float) -> pd.DataFrame:
    """A study in which everything is reached, but for what is changed."""
    seen = {"bias": 0.5, "printed": 0.5, "exact": 1.0, "first": 1.1, "alarms": 0.001, "any": 1.0} | changed
    low, high = seen["bias"] - 0.01, seen["bias"] + 0.01
    return pd.DataFrame(
        [
            row("unary_encoding", "maximal gain", 0.05, "bias", seen["bias"], low=low, high=high),
            row("unary_encoding", "maximal gain", 0.05, "theory", 0.5),
            row("unary_encoding", "maximal gain", 0.05, "printed", seen["printed"]),
            row("unary_encoding", "maximal gain", 0.05, "exact_of_bound", seen["exact"]),
            row("dyadic_wave", "maximal gain", 0.01, "of_bound", seen["first"]),
            row("dyadic_wave", "maximal gain", 0.1, "of_bound", 7.0),  # to first order, a tenth may be anything
            row("dyadic_wave", "honest", 0, "seen:levels", seen["alarms"]),
            row("dyadic_wave", "honest", 0, "seen:any", 0.5),
            row("dyadic_wave", "maximal gain", 0.05, "seen:any", seen["any"]),
        ]
    )


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, None),
        ({"bias": 0.6}, "from theory"),
        ({"printed": 0.6}, "from the paper's"),
        ({"exact": 1.01}, "exact bounds"),
        ({"first": 1.3}, "first-order bounds"),
        ({"alarms": 0.01}, "false alarms"),
        ({"any": 0.5}, "some check sees"),
    ],
)
def test_each_aim_is_missed_by_what_it_is_about(changed: dict[str, float], missed: str | None) -> None:
    failed = [verdict.aim for verdict in poisoning.verdicts(rows(**changed)) if not verdict.reached]
    assert len(failed) == (missed is not None)
    assert missed is None or missed in failed[0]


def test_nothing_is_reached_where_nothing_was_measured() -> None:
    assert not any(verdict.reached for verdict in poisoning.verdicts(rows().iloc[:0]))


def test_too_few_repetitions_and_unknown_methods_are_refused() -> None:
    with pytest.raises(SchemeError, match="repetitions"):
        Poisoning(repetitions=3)
    with pytest.raises(SchemeError, match="methods"):
        Poisoning(methods=("telepathy",))


def test_power_is_drawn_from_its_rows() -> None:
    frame = pd.DataFrame(
        {"check": ["levels"] * 2, "beta": [0.01, 0.1], "value": [0.1, 1.0], "low": [0.0, 0.9], "high": [0.2, 1.0]}
    )
    frame = pd.concat([frame, frame.assign(check="homogeneity"), frame.assign(check="homogeneity, spread")])
    axes = plot_power(frame, Figure().subplots(), title="dyadic wave")
    assert axes.get_legend_handles_labels()[1] == ["homogeneity", "homogeneity, spread", "levels"]
    assert [line.get_linestyle() for line in axes.get_lines()] == ["-", "--", "-"]
    assert len({line.get_xdata()[0] for line in axes.get_lines()}) == 3
    with pytest.raises(ValueError, match="beta"):
        plot_power(frame.drop(columns="beta"), Figure().subplots(), title="")


def test_who_spreads_over_all_batches_is_the_same_to_every_check_but_one() -> None:
    trial = poisoning.Trial("randomized_response")
    batches = trial.honest(0)
    found = trial._seen(batches, trial.spread(MaximalGain(trial.targets), 0.1, 0))
    assert found["homogeneity"]
    assert found["any, spread"] == (
        found["homogeneity, spread"] or found["possible"] or found.get("consistency", False)
    )
    assert set(found) >= {"homogeneity, spread", "any, spread", "any"}


@pytest.mark.slow
def test_a_study_lands_what_it_prints(tmp_path: Path) -> None:
    asked = ["benchmark", "poisoning", "--methods", "randomized_response,wavelet_laplace_fixed", "--repetitions", "20"]
    done = CliRunner().invoke(cli.app, [*asked, "--workers", "1", "--data", str(tmp_path)])
    assert done.exit_code == 0, done.output
    landed = warehouse.query(tmp_path / "warehouse.duckdb", "from latest_benchmarks where study = 'poisoning'")
    assert set(landed["method"]) == {"randomized_response", "wavelet_laplace_fixed"}
    found = {verdict.aim: verdict for verdict in Poisoning().report(tmp_path / "warehouse.duckdb").verdicts}
    exact = found["exact bounds: largest bias over the bound"]
    assert exact.reached
    assert exact.value is not None
    assert exact.value > 0.8
    assert found["gains of frequencies: largest distance from theory, in standard errors"].reached
    assert (tmp_path / "figures" / "poisoning" / "poisoning_maximal_gain.png").exists()
