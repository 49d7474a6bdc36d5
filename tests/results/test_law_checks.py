"""What a round lands of each law of values: what it was found to be, heaped or free, and how surely."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.pipeline import estimate_all
from dpcore.results.pages import publish
from dpcore.results.tables.round_tables import tables_of
from tests.helpers import undrawn

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


@pytest.mark.usefixtures("plain_pages")
def test_the_page_says_it_of_the_attribute_and_among_checks(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEME.replace("60", "20") + "heaps = []\n", "utf-8")
    pd.DataFrame({"x": np.random.default_rng(1).integers(5, 15, 3000)}).to_csv(tmp_path / "x.csv", index=False)
    undrawn.run(tmp_path / "s.toml", records=tmp_path / "x.csv", round_="2026-11-20", data=tmp_path / "var")
    publish(tmp_path / "var/warehouse.duckdb", tmp_path / "round.html")
    page = (tmp_path / "round.html").read_text("utf-8")
    assert page.count("no heaps were found") == 2
    assert "estimated by a log-linear model · no heaps were found" in page
