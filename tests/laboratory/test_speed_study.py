"""The study of speed: what its verdicts say, and that it lands what it prints."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpcore import cli
from dpcore.errors import SchemeError
from dpcore.laboratory import profiling
from dpcore.laboratory.benchmarks.profile import Profile
from dpcore.laboratory.benchmarks.speed import Speed
from dpcore.laboratory.studies import speed
from dpcore.laboratory.studies.speed import clients, memory, peers, records, reports, rounds, table
from dpcore.results import warehouse

SCHEME = Path("data/schemes/consumer_expenditure.toml")


def found(rows, text):
    (verdict,) = (verdict for verdict in speed.verdicts(rows) if text in verdict.aim)
    return verdict.value, verdict.reached


def rows(*measured):
    columns = ["method", "parameters", "target", "clients", "metric", "value"]
    return pd.DataFrame(list(measured), columns=columns)


@pytest.fixture
def hasty(monkeypatch):
    """One call a measurement, and nothing compiled."""
    monkeypatch.setattr(table, "SECONDS", 0.0)
    monkeypatch.setattr(clients, "paths", lambda: (clients.NUMPY,))
    monkeypatch.setattr(reports, "paths", lambda: (clients.NUMPY,))
    monkeypatch.setattr(clients, "PLANNED", 1000)
    monkeypatch.setattr(clients, "BLOCK", 2000)
    monkeypatch.setattr(reports, "BLOCK", 2000)
    monkeypatch.setattr(reports, "BLOCKS", 1)


@pytest.mark.parametrize(
    ("values", "text", "worst", "reached"),
    [
        ((0.2, 0.6), "seconds an estimate takes", 0.6, False),
        ((0.2, 0.4), "seconds an estimate takes", 0.4, True),
    ],
)
def test_the_slowest_is_held_against_the_limit(values, text, worst, reached):
    measured = rows(*(("dyadic_wave", "", str(i), 1, rounds.ESTIMATE, value) for i, value in enumerate(values)))
    assert found(measured, text) == (worst, reached)


def test_a_ratio_is_held_against_the_limit_of_its_path():
    measured = rows(
        ("square_wave", "compiled", "", 1, clients.DRAWS, 0.14), ("square_wave", "numpy", "", 1, clients.DRAWS, 0.07)
    )
    assert found(measured, "square_wave, compiled") == (0.14, False)
    assert found(measured, "square_wave, numpy") == (0.07, True)


def test_memory_is_judged_by_the_largest_round_and_beside_ten_million():
    peaks = {(memory.WHOLE, 10**6): 0.1, (memory.WHOLE, 10**7): 0.5, (memory.WHOLE, 10**8): 0.6}
    measured = rows(*(("run", "", of, n, memory.PEAK, peak * 2**30) for (of, n), peak in peaks.items()))
    assert found(measured, "peak memory of a round") == (0.6, True)
    assert found(measured, "over that of 10,000,000") == (pytest.approx(1.2), False)


def test_what_was_not_measured_is_not_reached():
    assert {verdict.reached for verdict in speed.verdicts(rows())} == {None}


def test_too_few_repetitions_and_unknown_parts_are_refused():
    with pytest.raises(SchemeError, match="repetitions"):
        Speed(repetitions=3)
    with pytest.raises(SchemeError, match="part"):
        Speed(parts=("sprints",))


@pytest.mark.slow
def test_a_study_lands_what_it_prints(tmp_path, hasty):
    options = ["--parts", "clients,reports", "--data", str(tmp_path), "--peers", str(tmp_path / "none")]
    done = CliRunner().invoke(cli.app, ["benchmark", "speed", *options])
    assert done.exit_code == 0, done.output
    landed = warehouse.query(tmp_path / "warehouse.duckdb", "from latest_benchmarks where study = 'speed'")
    assert (landed["low"] <= landed["value"]).all()
    assert (landed["value"] <= landed["high"]).all()
    ratios = landed[landed["metric"] == clients.DRAWS]
    assert set(ratios["method"]) == set(clients.NAMES)
    assert set(ratios["repetitions"]) == {7}
    assert set(landed[landed["metric"] == reports.DUCKDB]["method"]) == set(clients.COUNTED)
    assert "not installed" in done.output
    assert "make peers" in done.output


@pytest.mark.slow
def test_records_are_privatized_by_the_command_itself(hasty, monkeypatch):
    monkeypatch.setattr(records, "RECORDS", 2000)
    monkeypatch.setattr(records, "CLIENTS", 2000)
    measured = pd.concat(records.measured(SCHEME, 1, (3000,)))
    of = measured.set_index(["method", "metric", "parameters"])["value"]
    assert (of > 0).all()
    assert of[records.PRIVATIZE, records.KERNELS, ""] > 1
    assert of[records.ROUND, records.SECONDS, ""] > 1
    assert set(measured["parameters"]) > {"list", "pandas categories", records.PARQUET}
    with pytest.raises(SchemeError, match="no scheme file"):
        records._command("run", "nowhere.toml")


def test_peers_are_asked_in_a_process_of_their_own(tmp_path, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text(
        'import sys\nprint(\'{"one 1.0": "", "two 2.0": "ImportError: gone"}\', flush=True)\n'
        "for line in sys.stdin:\n    print('{\"one 1.0\": %s}' % line.split()[1], flush=True)\n"
    )
    monkeypatch.setattr(peers, "SCRIPT", script)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    with peers.start(tmp_path) as started:
        assert started.faults == {"one 1.0": "", "two 2.0": "ImportError: gone"}
        assert started.rates("randomized_response", 64) == {"one 1.0": 64.0}
    with peers.start(tmp_path / "none") as started:
        assert started is None
    (tmp_path / "bin" / "python").unlink()
    with pytest.raises(SchemeError, match="make peers"), peers.start(tmp_path):
        pass


def test_a_line_has_the_slope_one(monkeypatch):
    monkeypatch.setattr(rounds.pipeline, "collect", lambda scheme, people, n, random, workers: n)
    monkeypatch.setattr(rounds, "seconds", lambda operation: 2e-6 * operation())
    (measured,) = rounds.scaled(7, rounds.SIZES)
    assert measured.set_index("metric")["value"]["slope"] == pytest.approx(1, abs=0.01)
    seconds = measured[measured["metric"] == rounds.SECONDS].set_index("clients")["value"]
    assert seconds.to_dict() == pytest.approx({n: 2e-6 * n for n in rounds.SIZES})


@pytest.mark.parametrize(("clients", "said"), [((), "such as 1000000"), ((0,), "between 1 and")])
def test_a_profile_of_no_clients_is_refused(clients, said):
    with pytest.raises(SchemeError, match=said):
        Profile(clients=clients)


@pytest.mark.slow
def test_a_profile_adds_up_and_the_rounds_are_whole(tmp_path):
    (tmp_path / "small.toml").write_text(rounds.SMALL_SCHEME)
    profiled = profiling.profile(tmp_path / "small.toml", 1000, tmp_path / "data")
    assert sum(profiled.seconds.values()) == pytest.approx(profiled.total, rel=0.02)
    assert profiled.seconds["make people"] > 0
    assert max(profiled.peaks.values()) > 2**26
    assert np.isfinite(profiled.total)
    (measured,) = memory.measured(SCHEME, ((memory.SMALL, (1000,)),))
    assert set(measured["metric"]) == {memory.PEAK, memory.SECONDS, memory.KERNELS}
