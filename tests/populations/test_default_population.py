"""A dry run of any scheme: default respondents answer all that it asks, and their truths are those of their distributions."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore.cli import main
from dpcore.errors import SchemeError
from dpcore.populations import respondents_of

EVERY_TYPE = """
name = "survey"
clients = 3000
functionals = ["mean", "quantile(0.5)"]
[labels.region]
categories = ["north", "south", "east"]
[attributes.income]
type = "numeric"
lower = 0
upper = 100
functionals = ["mean", "quantile(0.5)", "cdf(30)"]
epsilon = 4
[attributes.visits]
type = "numeric"
lower = 0
upper = 10
step = 1
epsilon = 4
[attributes.age]
type = "categorical"
bins = [18, 65]
epsilon = 4
[attributes.home]
type = "categorical"
categories = ["urban", "rural"]
missing = "category"
epsilon = 4
[attributes.paying]
type = "boolean"
epsilon = 4
[attributes.hired]
type = "date"
lower = 2020-01-01
upper = 2026-12-31
functionals = ["mean"]
epsilon = 4
[attributes.job_place]
type = "categorical"
of = ["job", "place"]
categories = [["a", "b"], ["x", "y", "z"]]
epsilon = 4
"""


def test_the_shares_and_densities_are_those_that_are_stated() -> None:
    people = respondents_of(dp.Scheme.from_toml(EVERY_TYPE))
    weights = np.array([6, 3, 2]) / 11
    assert list(people.weights) == ["north", "south", "east"]
    np.testing.assert_allclose(list(people.weights.values()), weights, atol=1e-12)
    np.testing.assert_allclose(people.probabilities("home", ["urban", "rural", "missing"]), [0.6, 0.3, 0.1], atol=1e-12)
    np.testing.assert_allclose(people.probabilities("paying", ["false", "true"]), [2 / 3, 1 / 3], atol=1e-12)
    parts = [scipy.stats.beta(3, b) for b in (6, 5, 4)]
    x = np.array([10.0, 30.0, 70.0])
    expected = sum(weight * part.cdf(x / 100) for weight, part in zip(weights, parts, strict=True))
    np.testing.assert_allclose(people.truth("income").cdf(x), expected, atol=1e-12)
    np.testing.assert_allclose(people.truth("income", "region=south").cdf(x), parts[1].cdf(x / 100), atol=1e-12)


def test_a_dry_run_of_every_type_lands_with_truths_from_a_formula(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(EVERY_TYPE)
    with pytest.raises(SystemExit, match="0"):
        main(["run", str(tmp_path / "survey.toml"), "--clients", "3000", "--data", str(tmp_path / "data")])
    with duckdb.connect(str(tmp_path / "data/warehouse.duckdb"), read_only=True) as ask:
        truths = dict(
            ask.execute(
                "select attribute || ' ' || quantity, value from truths where given = '' and x is null"
            ).fetchall()
        )
        rounds = ask.execute('select "round", source, trial from runs').fetchall()
    assert rounds == [("0-trial-3000", "simulated", True)]
    weights, means = np.array([6, 3, 2]) / 11, np.array([3 / 9, 3 / 8, 3 / 7])
    assert truths["income mean"] == pytest.approx(100 * weights @ means, abs=1e-7)
    assert truths["hired mean"] == pytest.approx(18262 + 2556 * weights @ means, abs=1e-5)
    assert truths["home frequency(missing)"] == pytest.approx(0.1, abs=1e-9)


def test_attributes_of_one_column_have_the_truth_of_one_distribution(tmp_path: Path) -> None:
    numbers = '[attributes.age]\ntype = "numeric"\nlower = 0\nupper = 100\nepsilon = 4\n'
    ranges = '[attributes.ages]\ntype = "categorical"\ncolumn = "age"\nbins = [30, 60]\nepsilon = 4\n'
    homes = '[attributes.{}]\ntype = "categorical"\ncolumn = "home"\ncategories = ["urban", "rural"]\nepsilon = 4\n'
    text = 'name = "survey"\n' + numbers + ranges + homes.format("home") + homes.format("again")
    scheme = dp.Scheme.from_toml(text)
    people = respondents_of(scheme)
    below, above = people.truth("age").cdf(np.array([30.0, 60.0]))
    np.testing.assert_allclose(
        people.range_probabilities("ages", [30, 60]), [below, above - below, 1 - above], atol=1e-9
    )
    np.testing.assert_allclose(people.probabilities("again", ["urban", "rural"], "home=rural"), [0, 1])
    cells = scheme.encode(people.records(20_000, dp.seeded(1)))
    np.testing.assert_allclose(np.bincount(cells["ages"]) / 20_000, [below, above - below, 1 - above], atol=0.015)
    assert np.array_equal(cells["home"], cells["again"])
    stated = text + '[simulate.ages]\ndistribution = "uniform"\n'
    with pytest.raises(SchemeError, match=r"simulate\.ages: its column is simulated by age"):
        respondents_of(dp.Scheme.from_toml(stated))


def test_nobody_is_simulated_unless_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "survey.toml").write_text(EVERY_TYPE)
    with pytest.raises(SystemExit, match="1"):
        main(["run", str(tmp_path / "survey.toml"), "--data", str(tmp_path / "data")])
    assert "--records FILE, --reports FOLDER, or --clients N for a dry run" in capsys.readouterr().err
    assert not (tmp_path / "data/runs").exists()
