"""What a round lands of each law of values: what it was found to be, heaped or free, and how surely."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.pipeline import estimate_all
from dpcore.results.tables import tables_of

SCHEME = """name = "s"

[attributes.x]
type = "numeric"
lower = 0
upper = 60
step = 1
epsilon = 4
"""


@pytest.mark.parametrize(
    ("times", "more", "heaped", "said"),
    [
        (1, "", 0.0, "no heaps were found"),
        (8, "", 1.0, "heaps at multiples of 12 were found"),
        (8, "heaps = [12]\n", 1.0, "heaps at round numbers were found"),
        (8, "heaps = []\n", 0.0, "no heaps were found"),
    ],
)
def test_the_kind_of_law_lands_in_checks(times: float, more: str, heaped: float, said: str) -> None:
    points = np.arange(61)
    law = np.exp(-((points - 25) ** 2) / 300) * np.where(points % 12 == 0, times, 1.0)
    people = np.random.default_rng(1).choice(points, 400_000, p=law / law.sum())
    aggregate = dp.simulate(dp.Scheme.from_toml(SCHEME + more), {"x": people}, dp.seeded(1))
    checks = tables_of(estimate_all(aggregate))["checks"].set_index("name")
    assert checks.loc["heaped(x)", "observed"] == pytest.approx(heaped, abs=0.1)
    assert checks.loc["heaped(x)", "detail"] == said
    assert 0 <= checks.loc["free(x)", "observed"] <= 1
    assert checks.loc[["heaped(x)", "free(x)"], "passed"].all()
