"""What a round lands of each density: whether it explains the reports, and whether values at few points do so better."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.pipeline import estimate_all
from dpcore.results.tables.round_tables import tables_of

SCHEME = dp.Scheme.from_toml(
    """name = "s"

[attributes.x]
type = "numeric"
lower = 0
upper = 20
unit = "rooms"
mechanism = "dyadic_wave"
cells = 64
epsilon = 1
"""
)


@pytest.mark.parametrize("is_rounded", [True, False])
def test_the_check_of_values_fails_where_they_sit_at_points(is_rounded: bool) -> None:
    people = np.random.default_rng(1).normal(9, 3, 50_000).clip(0, 20)
    reports = dp.privatize(SCHEME, {"x": people.round() if is_rounded else people}, dp.seeded(1))
    checks = tables_of(estimate_all(dp.aggregate(SCHEME, reports)))["checks"].set_index("name")
    values = checks.loc["values(x)"]
    assert bool(values["passed"]) is not is_rounded
    assert values["observed"] == (1.0 if is_rounded else 0.0)
    assert ("values 1 rooms apart" in values["detail"]) is is_rounded
    assert checks.loc["fit(x)", "observed"] > 0
