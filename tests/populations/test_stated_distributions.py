"""The respondents of a dry run are distributed as `[simulate.NAME]` states, and what is true of them is computed exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

import dpcore as dp
from dpcore._random import seeded
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.functionals import parse
from dpcore.populations import Population, respondents_of
from dpcore.protocol.simulation import cell_law

SCHEME = """
name = "survey"
[labels.region]
categories = ["north", "south"]
[attributes.income]
type = "numeric"
lower = 0
upper = 100
missing = "category"
epsilon = 4
[attributes.savings]
type = "numeric"
lower = 0
upper = 100
epsilon = 4
[attributes.visits]
type = "numeric"
lower = 0
upper = 10
step = 1
epsilon = 4
[attributes.home]
type = "categorical"
categories = ["urban", "rural"]
missing = "category"
epsilon = 4
[attributes.hired]
type = "date"
lower = 2020-01-01
upper = 2026-12-31
epsilon = 4
"""


def people(text: str) -> Population:
    return respondents_of(dp.Scheme.from_toml(f"{SCHEME}[simulate]\n{text}\n"))


NAMED = {
    'distribution = "beta"\na = 2\nb = 5': scipy.stats.beta(2, 5, scale=100),
    'distribution = "beta"\na = 2\nb = 5\nlower = 10\nupper = 150': scipy.stats.beta(2, 5, 10, 140),
    'distribution = "uniform"': scipy.stats.uniform(0, 100),
    'distribution = "normal"\nmean = 60\nsd = 30': scipy.stats.norm(60, 30),
    'distribution = "lognormal"\nmedian = 20\nsigma = 0.8': scipy.stats.lognorm(0.8, scale=20),
}


@pytest.mark.parametrize("text", NAMED)
def test_truths_of_a_named_distribution_are_those_of_scipy(text: str) -> None:
    expected = NAMED[text]
    truth = people(f"[simulate.savings]\n{text}").truth("savings").clipped(0, 100)
    x = np.linspace(1, 99, 99)
    np.testing.assert_allclose(truth.cdf(x), expected.cdf(x), atol=1e-9)
    shares = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(truth.quantile(shares), np.clip(expected.ppf(shares), 0, 100), atol=1e-6)
    clipped_mean = scipy.integrate.quad(lambda t: expected.sf(t), 0, 100, epsabs=1e-12, limit=500)[0]
    assert parse("mean").value(truth) == pytest.approx(clipped_mean, abs=1e-8)
    drawn = people(f"[simulate.savings]\n{text}").records(100_000, seeded(1))["savings"]
    assert scipy.stats.kstest(drawn, expected.cdf).pvalue > 1e-3


def test_a_mixture_and_groups_have_the_distributions_of_their_parts() -> None:
    text = """
    [simulate.region]
    shares = { south = 3, north = 1 }
    [simulate.savings]
    mixture = [{ weight = 1, distribution = "normal", mean = 30, sd = 5 }, { weight = 3, distribution = "uniform" }]
    [simulate.savings.by.south]
    distribution = "beta"
    a = 2
    b = 2
    """
    found = people(text)
    assert dict(found.weights) == {"north": 0.25, "south": 0.75}
    x = np.linspace(1, 99, 50)
    north = 0.25 * scipy.stats.norm(30, 5).cdf(x) + 0.75 * x / 100
    south = scipy.stats.beta(2, 2).cdf(x / 100)
    np.testing.assert_allclose(found.truth("savings", "region=north").cdf(x), north, atol=1e-9)
    np.testing.assert_allclose(found.truth("savings").cdf(x), north / 4 + 0.75 * south, atol=1e-9)


def test_values_with_shares_are_points_and_lie_in_the_cell_above_an_edge() -> None:
    scheme = dp.Scheme.from_toml(f"{SCHEME}[simulate.visits]\nvalues = [0, 1, 7]\nshares = [5, 3, 2]\n")
    found = respondents_of(scheme)
    law = cell_law(scheme.attributes["visits"], found)
    expected = np.zeros(len(law))
    expected[scheme.attributes["visits"].cells[[0, 1, 7]]] = [0.5, 0.3, 0.2]
    np.testing.assert_allclose(law, expected, atol=1e-12)
    scheme = dp.Scheme.from_toml(f"{SCHEME}[simulate.savings]\nvalues = [0, 50, 100]\n")
    law, cells = (
        cell_law(scheme.attributes["savings"], respondents_of(scheme)),
        scheme.attributes["savings"].encode(np.array([0.0, 50.0, 100.0])),
    )
    np.testing.assert_allclose(law[cells], 1 / 3, atol=1e-12)


def test_dates_are_stated_as_dates_and_nonresponse_is_a_share() -> None:
    scheme = dp.Scheme.from_toml(
        f"{SCHEME}[simulate.hired]\nvalues = [2024-02-29, '2025-01-01']\n[simulate.income]\nmissing = 0.3\n"
        "[simulate.home]\nshares = [1, 3]\nmissing = 0.5\n"
    )
    found = respondents_of(scheme)
    assert found.truth("hired").values.tolist() == [19782, 20089]
    assert cell_law(scheme.attributes["income"], found)[scheme.attributes["income"].cells[-1]] == pytest.approx(0.3)
    np.testing.assert_allclose(
        found.probabilities("home", ["urban", "rural", "missing"]), [0.125, 0.375, 0.5], atol=1e-12
    )
    records = found.records(50_000, seeded(2))
    assert np.isnan(records["income"]).mean() == pytest.approx(0.3, abs=0.01)


def test_correlations_are_those_of_the_normal_scores() -> None:
    text = 'correlations = [["income", "savings", 0.6]]\n[simulate.savings]\n'
    text += (
        "distribution = 'lognormal'\nmedian = 9\nsigma = 0.7\n[simulate.income]\nmissing = 0\ndistribution = 'uniform'"
    )
    drawn = people(text).records(200_000, seeded(3))
    seen = scipy.stats.spearmanr(drawn["income"], drawn["savings"]).statistic
    assert seen == pytest.approx(6 / np.pi * np.arcsin(0.3), abs=0.01)  # Spearman's of a Gaussian copula
    assert scipy.stats.kstest(drawn["savings"], scipy.stats.lognorm(0.7, scale=9).cdf).pvalue > 1e-3


def test_no_distribution_is_part_of_the_digest_and_all_are_read_again() -> None:
    plain, stated = (
        dp.Scheme.from_toml(SCHEME),
        dp.Scheme.from_toml(f"{SCHEME}[simulate.hired]\nvalues = [2024-02-29]\n"),
    )
    assert plain.digest == stated.digest
    assert "simulate" not in stated.canonical
    assert dp.Scheme.from_toml(stated.text).simulate == stated.simulate == {"hired": {"values": ["2024-02-29"]}}
    assert dp.Scheme.from_toml(stated.text).digest == plain.digest


WRONG = {
    "[simulate.wage]\nvalues = [1]": "simulate.wage must be a table of one of income, savings",
    "[simulate.savings]\ndistribution = 'gamma'": "simulate.savings.distribution must be one of 'beta', 'lognormal'",
    "[simulate.savings]\ndistribution = 'normal'\nmean = 3": "normal needs mean, sd; sd is missing",
    "[simulate.savings]\ndistribution = 'normal'\nmean = 3\nsd = 0": "simulate.savings.sd must be above 0, got 0",
    "[simulate.savings]\ndistribution = 'uniform'\nsigma = 1": "unknown key 'sigma'; accepted are distribution, lower",
    "[simulate.savings]\nmissing = 0.2": 'simulate.savings.missing needs missing = "category"',
    "[simulate.income]\nmissing = 2": "simulate.income.missing must be a number of at least 0 and at most 1, got 2",
    "[simulate.savings]\nvalues = [1, 2]\nshares = [1]": "a share for each of the 2 values",
    "[simulate.home]\nshares = [1, 2, 3]": "a share for each of the 2 categories, by name or in order",
    "[simulate.home]\nshares = { flat = 1 }": "a share for each of the 2 categories",
    "[simulate.savings.by.west]\ndistribution = 'uniform'": "simulate.savings.by must have tables of groups: north, south",
    "correlations = [['income', 'home', 0.5]]": "correlations are of two numeric attributes, got income and home",
    "correlations = [['income', 'savings', 1.5]]": "correlations must be those of some distribution",
    "correlations = 'high'": "simulate.correlations must be a list such as",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_states_no_distribution_is_refused_in_one_line(text: str) -> None:
    head = "[simulate]\n" if text.startswith("corr") else ""
    with pytest.raises(SchemeError, match=WRONG[text].replace("[", r"\[")) as refused:
        respondents_of(dp.Scheme.from_toml(f"{SCHEME}{head}{text}\n"))
    assert "\n" not in str(refused.value)


FRAME = pd.DataFrame(
    {
        "region": ["north", "south", "south", "north"],
        "income": [10.0, None, 30.0, 150.0],
        "savings": [1.0, 2.0, 3.0, 4.0],
        "visits": [0, 1, 1, 9],
        "home": ["urban", None, "rural", "urban"],
        "hired": ["2024-02-29", "2024-03-01", "2024-03-01", "2026-01-01"],
    }
)


def test_respondents_drawn_from_a_file_have_its_values_as_truth(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    scheme = dp.Scheme.from_toml(SCHEME)
    found = respondents_of(scheme, tmp_path / "a.csv")
    assert found.truth("income").clipped(0, 100).values.tolist() == [10, 30, 100]
    assert found.truth("savings", "region=south").values.tolist() == [2, 3]
    assert dict(found.nonresponse)["income"] == 0.25
    np.testing.assert_allclose(found.probabilities("home", ["urban", "rural", "missing"]), [0.5, 0.25, 0.25])
    drawn = found.records(100_000, seeded(4)).to_pandas()
    joint = drawn.groupby("savings")["visits"].agg(["nunique", "first", "size"])
    assert joint["nunique"].tolist() == [1, 1, 1, 1]  # rows stay together
    assert joint["first"].tolist() == [0, 1, 1, 9]
    assert scipy.stats.chisquare(joint["size"]).pvalue > 1e-3


def test_a_file_without_records_or_with_one_that_nobody_could_report_is_refused(tmp_path: Path) -> None:
    scheme = dp.Scheme.from_toml(SCHEME)
    FRAME.head(0).to_csv(tmp_path / "none.csv", index=False)
    with pytest.raises(InvalidRecord, match="has no records to draw respondents from"):
        respondents_of(scheme, tmp_path / "none.csv")
    FRAME.assign(region="west").to_csv(tmp_path / "west.csv", index=False)
    with pytest.raises(InvalidRecord, match="region"):
        respondents_of(scheme, tmp_path / "west.csv")
