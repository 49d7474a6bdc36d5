"""Arms of a label compared with its control arm: in a round, and in all rounds so far at any time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.special

import dpcore as dp
from dpcore import pipeline
from dpcore.cli.round_summary import render
from dpcore.estimation.functional_estimate import FunctionalEstimate
from dpcore.estimation.inference.comparison import holm, ratio
from dpcore.results import warehouse
from dpcore.results.pages import pieces, publish
from dpcore.results.pages.relations import experiments_of
from dpcore.results.tables.comparisons import between_groups, experiment_table
from dpcore.results.text.phrases import read
from dpcore.results.warehouse.connection import scratch
from dpcore.results.warehouse.views import shipped_views
from tests.helpers import undrawn

SCHEME = """
name = "checkout"
clients = 6000
[attributes.bought]
type = "boolean"
epsilon = 4
[attributes.device]
type = "categorical"
categories = ["phone", "tablet", "desktop"]
epsilon = 4
[attributes.spent]
type = "numeric"
lower = 0
upper = 100
unit = "EUR"
functionals = ["mean"]
epsilon = 4
[labels.variant]
categories = ["new", "old", "plain"]
control = "old"
"""


def people(n: int = 6000, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    variant = rng.choice(["new", "old", "plain"], n)
    return pd.DataFrame(
        {
            "bought": rng.random(n) < 0.3 + 0.2 * (variant == "new"),
            "device": rng.choice(["phone", "tablet", "desktop"], n),
            "spent": np.clip(rng.normal(40, 10, n), 0, 100),
            "variant": variant,
        }
    )


def round_of(records: pd.DataFrame, fewest: int = 0) -> pipeline.Round:
    scheme = dp.Scheme.from_toml(SCHEME)
    return pipeline.estimate_all(dp.aggregate(scheme, dp.privatize(scheme, records, dp.seeded(1))), fewest)


@pytest.fixture(scope="module")
def landed() -> tuple[pd.DataFrame, pipeline.Round]:
    round_ = round_of(people())
    return experiment_table(round_), round_


def test_every_arm_is_compared_with_the_control_arm_in_every_outcome(landed) -> None:
    rows, _ = landed
    outcomes = [("bought", "frequency(false)"), ("bought", "frequency(true)")]
    outcomes += [("device", f"frequency({name})") for name in ("phone", "tablet", "desktop")] + [("spent", "mean")]
    found = list(rows[["label", "arm", "control", "attribute", "functional"]].itertuples(index=False, name=None))
    assert found == [("variant", arm, "old", *outcome) for arm in ("new", "plain") for outcome in outcomes]
    bought = rows[(rows["arm"] == "new") & (rows["functional"] == "frequency(true)")].iloc[0]
    assert abs(bought["difference"] - 0.2) < 4 * bought["standard_error"]
    assert bought["adjusted_p_value"] < 1e-6
    assert bought["ratio_low"] < 5 / 3 < bought["ratio_high"]
    assert (rows["outcomes"] == 10).all()  # of 12 rows: the two proportions of `bought` are one outcome in each arm


def test_differences_are_those_of_comparisons(landed) -> None:
    rows, round_ = landed
    compared = between_groups(round_, "a" * 16)
    compared = compared[(compared["given"] == "variant=new") & (compared["other_given"] == "variant=old")]
    both = rows[rows["arm"] == "new"].merge(compared, on=["attribute", "functional"], suffixes=("", "_there"))
    assert len(both) == 6
    for name in ("difference", "standard_error", "low", "high"):
        np.testing.assert_array_equal(both[name], both[f"{name}_there"])
    excludes_zero = (rows["low"] > 0) | (rows["high"] < 0)
    assert excludes_zero.equals(rows["p_value"] < 0.05)


def test_p_values_are_adjusted_for_all_outcomes_of_the_experiment(landed) -> None:
    rows, _ = landed
    family = rows[rows["functional"] != "frequency(true)"]
    for row in family.itertuples():
        smaller = family[family["p_value"] <= row.p_value]
        slow = max(min(1.0, p * (family["p_value"] >= p).sum()) for p in smaller["p_value"])
        assert row.adjusted_p_value == pytest.approx(slow)
    mirrored = rows[rows["attribute"] == "bought"].groupby("arm")["adjusted_p_value"]
    assert (mirrored.max() - mirrored.min() < 1e-12).all()


def slow_holm(p_values: np.ndarray) -> list[float]:
    """The smallest level at which the step-down procedure rejects each hypothesis."""

    def rejected(level: float) -> set[int]:
        left, out = set(range(len(p_values))), set()
        while left and p_values[worst := min(left, key=lambda i: p_values[i])] * len(left) <= level:
            out.add(worst)
            left.remove(worst)
        return out

    levels = sorted({min(1.0, p * k) for p in p_values for k in range(1, len(p_values) + 1)} | {1.0})
    return [next((level for level in levels if i in rejected(level)), 1.0) for i in range(len(p_values))]


@pytest.mark.parametrize("seed", range(20))
def test_holm_is_the_step_down_procedure(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p_values = rng.choice([*rng.random(4) ** 3, 0.0, 1.0], rng.integers(1, 9))  # with ties
    np.testing.assert_allclose(holm(p_values), slow_holm(p_values))


def result(value: float, error: float) -> FunctionalEstimate:
    half = 1.959963984540054 * error
    return FunctionalEstimate(
        functional="mean",
        value=value,
        standard_error=error,
        low=value - half,
        high=value + half,
        confidence=0.95,
        kind="smooth",
    )


def test_ratios_cover_and_need_a_control_above_zero() -> None:
    rng = np.random.default_rng(3)
    found = [
        ratio(result(a, 1.0), result(b, 0.5))
        for a, b in zip(rng.normal(6, 1, 4000), rng.normal(3, 0.5, 4000), strict=True)
    ]
    assert np.mean([one is not None and one[1] <= 2 <= one[2] for one in found]) == pytest.approx(0.95, abs=0.011)
    assert ratio(result(6, 1), result(0.9, 0.5)) is None
    assert ratio(result(6, 1), result(-3, 0.5)) is None
    assert (
        ratio(result(6, 1), FunctionalEstimate(functional="mean", confidence=0.95, kind="smooth", reason="few")) is None
    )


def test_an_arm_below_the_minimum_has_the_reason() -> None:
    records = people()
    few = records["variant"].eq("plain") & (np.arange(len(records)) > 60)
    rows = experiment_table(round_of(records[~few], fewest=50))
    plain = rows[rows["arm"] == "plain"]
    assert plain["functional"].tolist() == rows.loc[rows["arm"] == "new", "functional"].tolist()
    assert set(plain["attribute"]) == {"bought", "device", "spent"}
    assert plain["reason"].str.startswith("plain: fewer than 50 reports").all()
    assert plain[["difference", "p_value", "adjusted_p_value", "ratio"]].isna().all().all()
    assert (rows["outcomes"] == 0).all()  # a second arm is hidden, since the sum of all would reveal the first


def pooled(differences: np.ndarray, errors: np.ndarray, scale: float = 1.0, seeds: Sequence[int] = ()) -> pd.DataFrame:
    """The view's rows of N series of T rounds, (N, T), with errors (T,); scale: of the errors that it is given."""
    series, rounds = differences.shape
    half = scale * 1.959963984540054 * errors
    rows = pd.DataFrame(
        {
            "run_id": np.tile([f"{place:016x}" for place in range(rounds)], series),
            "functional": np.repeat([f"f{place}" for place in range(series)], rounds),
            "difference": differences.ravel(),
            "standard_error": np.tile(scale * errors, series),
            "low": (differences - half).ravel(),
            "high": (differences + half).ravel(),
        }
    ).assign(label="arm", arm="b", control="a", attribute="x", confidence=0.95, outcomes=3)
    with scratch() as connection:
        for place in range(rounds):
            connection.execute(
                "insert into runs by name select ? as run_id, 's' as scheme, repeat('0', 64) as scheme_digest, ? as \"round\", "
                "'simulated' as source, 'seeded' as randomness, 'landed' as state, now()::timestamp as started_at, "
                "'1' as version, now()::timestamp as finished_at, 9 as accepted, 0 as rejected, ? as seed",
                [f"{place:016x}", f"r{place:03}", seeds[place] if seeds else place],
            )
        connection.register("incoming", rows)
        for name in ("latest_runs", "pooled_experiments"):
            connection.execute(
                dict(shipped_views())[name].replace("create or replace view", "create or replace temp view")
            )
        connection.execute("insert into experiments by name from incoming")
        return connection.execute('from pooled_experiments order by functional, "round"').df()


def test_the_difference_of_all_rounds_is_weighted_by_inverse_variance() -> None:
    errors = np.array([1.0, 2.0, 0.5])
    values = np.array([[3.0, 1.0, 2.0]])
    rows = pooled(values, errors)
    information = np.cumsum(1 / errors**2)
    np.testing.assert_allclose(rows["difference"], np.cumsum(values[0] / errors**2) / information)
    np.testing.assert_allclose(rows["standard_error"], information**-0.5)
    assert rows["rounds"].tolist() == [1, 2, 3]
    mixed = 7 / (-1 - scipy.special.lambertw(-(0.05**2) / np.e, -1).real)
    half = np.sqrt((information + mixed) * np.log((information + mixed) / (mixed * 0.05**2))) / information
    np.testing.assert_allclose((rows["high"] - rows["low"]) / 2, half, rtol=1e-3)
    of_last = np.log(information / mixed + 1) / 2 - (rows["difference"] * information) ** 2 / 2 / (information + mixed)
    np.testing.assert_allclose(rows["p_value"], np.minimum(1, np.exp(of_last)), rtol=1e-2)
    np.testing.assert_allclose(rows["adjusted_p_value"], np.minimum(1, 3 * rows["p_value"]))
    assert ((rows["low"] > 0) | (rows["high"] < 0)).equals(rows["p_value"] < 0.05)


def test_rounds_of_one_seed_count_once() -> None:
    rows = pooled(np.array([[3.0, 1.0, 2.0]]), np.ones(3), seeds=[1, 2, 1])
    assert rows["round"].tolist() == ["r001", "r002"]
    assert rows["difference"].tolist() == [1.0, 1.5]


def test_rounds_land_print_and_show_their_experiments(tmp_path: Path) -> None:
    (tmp_path / "checkout.toml").write_text(SCHEME)
    for day in (1, 2):
        undrawn.run(tmp_path / "checkout.toml", seed=day, clients=1500, round_=f"2026-11-0{day}", data=tmp_path / "var")
    file = tmp_path / "var/warehouse.duckdb"
    rows = warehouse.query(file, "from latest_experiments order by round")
    assert len(rows) == 24
    of_all = warehouse.query(file, "from pooled_experiments order by round")
    assert of_all["rounds"].tolist() == [1] * 12 + [2] * 12
    run_id = rows["run_id"].iloc[-1]
    text = render(file, run_id)
    assert re.search(r"\nvariant:  \d+ of 12 differences are significant, \d+ in all rounds so far\n", text)
    assert "Each arm minus old; p-values are adjusted for 10 outcomes. Rounds so far: 2, since 2026-11-01." in text
    last = of_all[of_all["run_id"] == run_id].to_dict("records")
    lines = [read(row, "EUR" if row["attribute"] == "spent" else "") for row in last]
    assert len(lines) == 12
    assert all(line.interval in text for line in lines)
    publish(file, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<section id="experiments">' in page
    assert f'data-label="always-valid interval">{lines[0].interval}</td>' in page
    assert f"{lines[0].interval} |" in pieces(file, run_id).pairs["experiment-variant"]


def test_a_long_experiment_lists_what_is_significant(landed) -> None:
    rows, _ = landed
    many = pd.concat([rows.assign(attribute=f"{name}") for name in range(5)]).assign(run_id="a", unit="", **_NOT_POOLED)
    [section] = experiments_of(lambda sql: many, "a")
    assert [row["outcome"] for row in section.rows] == [
        f"{name}: {kind}" for name in range(5) for kind in ("false", "true")
    ]
    assert section.about.endswith("50 more differences are in the table experiments.")


_NOT_POOLED = dict.fromkeys(
    ("rounds", "first_round", "pooled_difference", "pooled_low", "pooled_high", "pooled_p_value"), np.nan
)


def covered(scale: float) -> float:
    """The share of 2,000 series of 50 rounds whose intervals all cover the true difference."""
    rng = np.random.default_rng(7)
    errors = rng.uniform(0.5, 2.0, 50)
    rows = pooled(1.0 + errors * rng.standard_normal((2000, 50)), errors, scale)
    return float(((rows["low"] <= 1.0) & (rows["high"] >= 1.0)).groupby(rows["functional"]).all().mean())


def test_always_valid_intervals_cover_at_all_looks_together() -> None:
    assert covered(1.0) >= 0.95
    assert covered(0.7) < 0.95
