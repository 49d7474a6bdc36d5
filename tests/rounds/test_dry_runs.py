"""Dry runs of a scheme: errors and coverage are those of its rounds, agree with the plan, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore._random import seeded
from dpcore.cli import main
from dpcore.errors import SchemeError
from dpcore.populations import respondents_of
from dpcore.rounds.planning.aims import Aim
from dpcore.rounds.planning.dry_runs import KEY, dry_runs, summary
from dpcore.rounds.planning.planner import Planner
from tests.populations.test_stated_distributions import FRAME, SCHEME

SMALL = """
name = "small"
clients = 2000
[attributes.answer]
type = "categorical"
categories = ["a", "b", "c"]
epsilon = 1
[attributes.size]
type = "numeric"
lower = 0
upper = 10
epsilon = 2
functionals = ["mean"]
"""


def test_a_summary_counts_what_its_rounds_hold() -> None:
    rounds = [
        pd.DataFrame([("a", "", "mean", 1.0, 0.5, 2.0, 1.5), ("b", "", "mean", np.nan, np.nan, np.nan, 3.0)]),
        pd.DataFrame([("a", "", "mean", 3.5, 3.0, 4.0, 1.5), ("b", "", "mean", 4.0, 2.0, 5.0, 3.0)]),
    ]
    columns = [*KEY, "estimate", "low", "high", "truth"]
    first, second = summary([frame.set_axis(columns, axis=1) for frame in rounds]).to_dict("records")
    assert first["error"] == pytest.approx(np.sqrt((0.5**2 + 2**2) / 2))
    assert (first["length"], first["intervals"], first["covered"], first["withheld"]) == (1.25, 2, 1, 0)
    assert (second["error"], second["intervals"], second["covered"], second["withheld"]) == (1.0, 1, 1, 1)
    assert second["rounds"] == 2


def test_rounds_differ_and_the_same_seed_gives_the_same_ones() -> None:
    scheme = dp.Scheme.from_toml(SMALL)
    people = respondents_of(scheme)
    first, second = dry_runs(scheme, people, 1000, 2, seeded(1))
    assert not np.array_equal(first["estimate"], second["estimate"])
    pd.testing.assert_frame_equal(first, next(dry_runs(scheme, people, 1000, 1, seeded(1))))
    with pytest.raises(SchemeError, match="rounds must be a whole number between 1 and 100,000, got 0"):
        next(dry_runs(scheme, people, 1000, 0, seeded(1)))


@pytest.mark.nightly
def test_errors_are_those_of_the_plan_and_intervals_cover() -> None:
    """1,000 rounds: an error is known to 2.2 %, a coverage to .7 points."""
    scheme = dp.Scheme.from_toml(SMALL)
    found = summary(list(dry_runs(scheme, respondents_of(scheme), 5000, 1000, seeded(2)))).set_index(KEY)
    planner = Planner.read(SMALL, respondents_of(scheme))
    for attribute, quantity in (("answer", "frequency(b)"), ("size", "mean")):
        row = found.loc[attribute, "", quantity]
        print(attribute, quantity, row.to_dict())
        planned = planner.forecast(Aim.parse(f"{attribute}: {quantity}"), 5000, scheme.attributes[attribute].budget)
        assert planned.error is not None
        assert row["error"] == pytest.approx(planned.error, rel=0.07)  # 5 %, and the Monte Carlo error
        assert 0.93 <= row["covered"] / row["intervals"] <= 0.97


def test_every_type_and_dependent_respondents_are_simulated(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    scheme = dp.Scheme.from_toml(SCHEME)
    for people in (respondents_of(scheme), respondents_of(scheme, tmp_path / "a.csv")):
        (rows,) = dry_runs(scheme, people, 3000, 1, seeded(3))
        shares = rows[(rows["attribute"] == "visits") & (rows["given"] == "") & rows["quantity"].str.startswith("freq")]
        assert shares["truth"].sum() == pytest.approx(1)
        assert np.abs(shares["estimate"] - shares["truth"]).max() < 0.06


def test_the_command_prints_errors_and_draws_the_rounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.toml").write_text(SMALL)
    chart = tmp_path / "rounds.png"
    asked = ["dry-run", str(tmp_path / "s.toml"), "--clients", "1000", "--rounds", "2", "--chart", str(chart)]
    with pytest.raises(SystemExit, match="0"):
        main([*asked, "--aim", "answer: frequency(b)", "--error", "0.02"])
    printed = capsys.readouterr().out
    assert "small: 2 dry runs of 1,000 clients" in printed
    assert "of 8 intervals cover the true value; 95 % should" in printed
    assert "answer, frequency(b): a standard error of 0.02 needs" in printed
    assert chart.read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in tmp_path.iterdir()} == {"s.toml", "rounds.png"}


def test_a_round_of_stated_or_resampled_respondents_lands_with_their_truths(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(f"{SCHEME}[simulate.savings]\nvalues = [10, 30]\nshares = [1, 3]\n")
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    run = ["run", str(tmp_path / "s.toml"), "--data", str(tmp_path / "data")]
    for options in (["--clients", "3000"], ["--clients", "3001", "--like", str(tmp_path / "a.csv")]):
        with pytest.raises(SystemExit, match="0"):
            main([*run, *options])
    with duckdb.connect(str(tmp_path / "data/warehouse.duckdb"), read_only=True) as ask:
        rows = ask.execute(
            "select runs.\"round\", value from truths join runs using (run_id) where attribute = 'savings' and given = '' "
            "and quantity = 'mean' order by 1"
        ).fetchall()
        trials = ask.execute("select bool_and(trial), count(*) from runs where source = 'simulated'").fetchone()
    assert rows == [("0-trial-3000", 25.0), ("0-trial-3001", 2.5)]
    assert trials == (True, 2)


def test_records_drawn_from_a_file_are_not_the_files_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.toml").write_text(SCHEME)
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(SystemExit, match="1"):
        main(["run", str(tmp_path / "s.toml"), "--records", str(tmp_path / "a.csv"), "--like", str(tmp_path / "a.csv")])
    assert "like: only for simulated respondents, got records" in capsys.readouterr().err


DATE_AND_OTHER = """
name = "typed"
[attributes.hired]
type = "date"
lower = 2020-01-01
upper = 2026-12-31
functionals = ["quantile(0.5)", "cdf(2024-01-01)"]
epsilon = 2
[attributes.browser]
type = "categorical"
categories = ["firefox", "chrome", "other"]
outside = "other"
epsilon = 1
"""


@pytest.mark.nightly
def test_intervals_of_a_dates_median_and_of_the_share_of_others_cover() -> None:
    """500 rounds: a coverage is known to one point, which is added to both ends of 93 to 97 %."""
    scheme = dp.Scheme.from_toml(DATE_AND_OTHER)
    found = summary(list(dry_runs(scheme, respondents_of(scheme), 10_000, 500, seeded(6)))).set_index(KEY)
    print(found.to_string())
    for key in [("hired", "", "quantile(0.5)"), ("hired", "", "cdf(19723)"), ("browser", "", "frequency(other)")]:
        assert 0.92 <= found.loc[key, "covered"] / found.loc[key, "intervals"] <= 0.98, key
