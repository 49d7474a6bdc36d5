"""The study of speed: what its verdicts say, and that it lands what it prints."""

import pandas as pd
import pytest
from typer.testing import CliRunner

from dpcore import benchmarks, cli, warehouse
from dpcore.errors import SchemeError
from dpcore.studies import speed


def rows(seconds, ratios):
    values = [("estimate_seconds", value) for value in seconds] + [("together_ratio", value) for value in ratios]
    return pd.DataFrame(values, columns=["metric", "value"])


@pytest.mark.parametrize(
    ("seconds", "ratios", "reached"),
    [
        ((0.2, 0.4), (0.9, 1.1), (True, True)),
        ((0.2, 0.6), (0.9, 1.1), (False, True)),
        ((0.2,), (0.9, 1.4), (True, False)),
    ],
)
def test_the_slowest_is_held_against_the_limit(seconds, ratios, reached):
    assert tuple(verdict.reached for verdict in speed.verdicts(rows(seconds, ratios))) == reached


def test_what_was_not_measured_is_not_reached():
    assert [verdict.reached for verdict in speed.verdicts(rows((), ()))] == [None, None]


def test_too_few_repetitions_are_refused():
    with pytest.raises(SchemeError, match="repetitions"):
        next(speed.measured(3))


@pytest.mark.slow
def test_a_study_lands_what_it_prints(tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "TARGETS", ("beta_2_5",))
    done = CliRunner().invoke(cli.app, ["benchmark", "speed", "--data", str(tmp_path)])
    assert done.exit_code == 0, done.output
    file = tmp_path / "warehouse.duckdb"
    landed = warehouse.query(file, "from latest_benchmarks where study = 'speed'")
    assert len(landed) == 5
    assert set(landed["repetitions"]) == {7}
    assert (landed["low"] <= landed["value"]).all()
    assert (landed["value"] <= landed["high"]).all()
    found = {verdict.aim: verdict.found for verdict in benchmarks.speed_report(file).verdicts}
    assert max(landed.query("metric == 'estimate_seconds'")["value"]) in found.values()
    assert "seconds an estimate takes" in done.output
