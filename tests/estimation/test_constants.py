"""Whether a rule of the estimates matters: rounds under one set of rules beside the same rounds under another.

`python -m tests.estimation.test_constants write FILE ROUNDS [NAME=VALUE]... [CLIENTS@EPSILON]...` estimates ROUNDS rounds of
each law at each place and writes what every interval did, with rules of `constants.py` set to other values or as they are; so
does it of another commit, whose rules were others.  `... beside BEFORE AFTER` prints what has changed, with the error of that
by the rounds' own chance: rounds are the same in both, which takes most of it away.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy

from dpcore.estimation import constants
from dpcore.functionals import parse
from dpcore.laboratory.studies import coverage, metrics, runner
from dpcore.laboratory.studies.contestants import contestants
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.studies.targets.densities import target

LAWS = ("beta_2_5", "bimodal", "claw", "uniform", "lognormal", "arcsine", "kink", "jump", "sawtooth", "small_bump")
PLACES = ("1e5@1", "1e6@1", "1e5@4")
NUMBERS = (
    "mean",
    "variance",
    "cdf(0.3)",
    "probability(0.2, 0.6)",
    "quantile(0.5)",
    "quantile(0.9)",
    "derivative(0, 0.3)",
    "integrated_square(0)",
    "entropy",
    "fisher_information",
    "wasserstein(1, uniform)",
    "wasserstein(2, uniform)",
)
_SUMS = ("returned", "covered", "above", "error", "square", "length", "standard_error")
_KEY = ["law", "place", "number"]


def one_round(law: str, place: str, seed: int) -> list[dict[str, Any]]:
    """What each interval, each band and the density itself did."""
    clients, _, epsilon = place.partition("@")
    cell, method = Cell(law, int(float(clients)), float(epsilon)), contestants()[0]
    estimate = method.estimate(target(law), cell.clients, cell.epsilon, runner.seed(cell, "rules", seed))
    values = {str(functional): value for functional, value in coverage.truths(law).items()}
    found: dict[str, tuple[float, ...]] = coverage.bands(estimate, target(law))
    for name in NUMBERS:
        if name in values:
            result = estimate.functional(parse(name), coverage.CONFIDENCE)
            found[name] = (0.0,) * len(_SUMS) if result.value is None else coverage.seen(result, values[name])
    errors = metrics.score_estimate(metrics.truth(law), estimate)
    found["ise"] = (1.0, np.nan, np.nan, np.nan, np.nan, errors["ise"], np.nan)
    where = {"law": law, "place": place, "seed": seed}
    return [where | {"number": name} | dict(zip(_SUMS, row, strict=True)) for name, row in found.items()]


def beside(before: pd.DataFrame, after: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """What two sets of rounds did, by number and law.

    hold, refused: shares of both.  more: by how much more often intervals hold, in rounds where both gave one; chance: its
    standard error.  length: the geometric mean of cells' ratios of mean lengths, after over before; about: its standard error.
    """
    both = before.merge(after, on=[*_KEY, "seed"], suffixes=("", "_after"))
    given = both[(both["returned"] > 0) & (both["returned_after"] > 0)].copy()
    given["more"] = given["covered_after"] - given["covered"]
    cells = given.groupby(_KEY, sort=False)
    ratio = cells["length_after"].mean() / cells["length"].mean()
    given["off"] = given["length_after"] - given["length"] * ratio.loc[pd.MultiIndex.from_frame(given[_KEY])].to_numpy()
    error = given.groupby(_KEY, sort=False)["off"].sem() / cells["length_after"].mean()
    lengths = pd.DataFrame({"ratio": np.log(ratio), "error": error**2}).reset_index().groupby(by, sort=False)
    everyone, grouped = both.groupby(by, sort=False), given.groupby(by, sort=False)
    return pd.DataFrame(
        {
            "rounds": everyone.size(),
            "hold": grouped["covered"].mean(),
            "after": grouped["covered_after"].mean(),
            "more": grouped["more"].mean(),
            "chance": grouped["more"].sem(),
            "length": np.exp(lengths["ratio"].mean()),
            "about": np.sqrt(lengths["error"].sum()) / lengths.size(),
            "refused": 1 - everyone["returned"].mean(),
            "refused_after": 1 - everyone["returned_after"].mean(),
        }
    )


def _write(file: str, rounds: int, *words: str) -> None:
    places = [word for word in words if "@" in word] or list(PLACES)
    for name, value in (word.split("=") for word in words if "=" in word):
        setattr(constants, name, type(getattr(constants, name))(float(value)))
    rows: list[dict[str, Any]] = []
    for seed in range(rounds):
        rows += [row for law in LAWS for place in places for row in one_round(law, place, seed)]
        pd.DataFrame(rows).to_csv(file, index=False)


def _beside(before: str, after: str) -> None:
    one, other = pd.read_csv(before), pd.read_csv(after)
    for by in (["number"], ["law"], ["place"]):
        print(beside(one, other, by).to_string(float_format="%.3f", na_rep="-"), end="\n\n")
    cells = beside(one, other, _KEY)
    print("cells that hold less or more often by more than two chances:")
    moved = cells[cells["more"].abs() > np.maximum(2 * cells["chance"], 1e-9)]
    print(moved.sort_values("more").to_string(float_format="%.3f", na_rep="-"))


def test_what_follows_from_a_rule_follows_from_it() -> None:
    assert scipy.stats.norm.sf(constants.detection_errors()) == pytest.approx(constants.TEST_ERROR)
    assert np.exp(-constants.evidence_margin()) == pytest.approx(constants.NEGLIGIBLE)
    assert constants.reports_by_error() == pytest.approx(3)  # with two derivatives the squared error falls as n^(-2/3),
    assert constants.reports_by_ratio() == pytest.approx(6)  # and a number's error as n^(-1/2)


@pytest.mark.slow  # of the study alone
def test_what_stands_beside_itself_has_not_changed() -> None:
    one = pd.DataFrame(one_round("jump", "1e4@1", 0))
    rows = pd.concat([one, one.assign(seed=1, length=1.1 * one["length"])], ignore_index=True)
    longer = rows.assign(length=rows["length"] * 2, covered=0.0)
    same, other = beside(rows, rows, ["number"]), beside(rows, longer, ["number"])
    assert (same["more"].dropna() == 0).all()
    assert same["length"].dropna().to_numpy() == pytest.approx(1)
    assert other["length"].dropna().to_numpy() == pytest.approx(2)
    assert other.loc["mean", "more"] == -rows.loc[rows["number"] == "mean", "covered"].mean()


if __name__ == "__main__":
    if sys.argv[1] == "write":
        _write(sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
    else:
        _beside(*sys.argv[2:])
