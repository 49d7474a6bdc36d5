"""Three associations of real people, against their own records: intervals hold the records' numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

import dpcore as dp
from dpcore.pipeline import estimate_all

DATA = Path(__file__).parents[2] / "data"


def truths(men: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """(first, second, functional) -> what the records say, of wages within the scheme's bounds."""
    wage, school, job = men["wage"].clip(0, 1500), men["education"], men["parttime"]
    slope, intercept = np.polyfit(school, wage, 1)
    both = "wage", "education"
    told = {
        (*both, "correlation"): float(wage.corr(school)),
        (*both, "rank_correlation"): float(np.corrcoef(rankdata(wage), rankdata(school))[0, 1]),
        (*both, "slope"): float(slope),
        (*both, "intercept"): float(intercept),
    }
    for low, high in ((9, 10), (11, 12), (13, 14), (15, 16), (17, 18)):
        told[(*both, f"conditional_mean({low}, {high})")] = float(wage[school.between(low, high)].mean())
    for code, name in (("no", "full-time"), ("yes", "part-time")):
        told["wage", "job", f"conditional_mean({name})"] = float(wage[job == code].mean())
        told["education", "job", f"conditional_mean({name})"] = float(school[job == code].mean())
    return told


@pytest.mark.parametrize(
    ("rounds", "fewest", "share"),
    [
        pytest.param(3, 1, 0.8, marks=pytest.mark.slow),  # none of three comes once in eight thousand, of each
        pytest.param(12, 8, 0.9, marks=pytest.mark.nightly("a study")),  # fewer of twelve once in ten thousand
    ],
)
def test_intervals_hold_the_numbers_of_the_records(rounds: int, fewest: int, share: float) -> None:
    scheme = dp.Scheme.from_toml(DATA / "schemes/schooling_and_wages.toml")
    men = pd.read_parquet(DATA / "samples/cps_1988.parquet")
    truth = truths(men)
    held = dict.fromkeys(truth, 0)
    sure = 0
    for seed in range(rounds):
        found = estimate_all(dp.aggregate(scheme, dp.privatize(scheme, men, dp.seeded([88, seed]))))
        for pair in found.joints:
            for number in pair.numbers:
                key = pair.first, pair.second, number.result.functional
                if key in truth:
                    held[key] += number.result.is_refused or number.result.low <= truth[key] <= number.result.high
            sure += (pair.first, pair.second) != ("education", "job") and pair.tests[0].p_value < 1e-3
    print({str(key[2]): many for key, many in held.items()}, sum(held.values()) / (rounds * len(held)))
    assert sure == 2 * rounds
    assert min(held.values()) >= fewest
    assert sum(held.values()) / (rounds * len(held)) >= share
