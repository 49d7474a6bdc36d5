"""What the accuracy study is judged by, on five of its cells: it would fail if our errors were half as large again.

The peers are those that win somewhere here, and are chosen on the very repetitions that they are measured on: in their favour.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpcore.laboratory.studies.accuracy import Cell, measure

OURS, PUBLISHED = "dyadic_wave", "peer:sw_ems bins=1024"
PEERS = (
    PUBLISHED,
    "peer:sw_ems bins=64",
    "peer:sw_ems bins=256",
    "peer:oue cells=16",
    "peer:oue cells=32",
    "peer:haar_hadamard leaves=256 isotonic",
)
CELLS = (
    Cell("beta_2_5", 100_000, 1.0),
    Cell("bimodal", 100_000, 1.0),
    Cell("claw", 1_000_000, 2.0),
    Cell("lognormal", 10_000, 2.0),
    Cell("age", 10_000, 4.0),
)
REPETITIONS = 20
# The study's own aims over all cells, but for the last (.10): these cells are kinder to the published method.
LIMITS = {("ise", "best"): 0.50, ("w1", "best"): 0.90, ("ks", "best"): 0.88, ("ise", "published"): 0.12}


@pytest.fixture(scope="module")
def ratios() -> pd.DataFrame:
    """Our median error over a peer's: a row a cell, a column (metric, which peer)."""
    rows = []
    for cell in CELLS:
        found = measure(cell, (OURS, *PEERS), REPETITIONS)
        found["name"] = (found["method"] + " " + found["parameters"]).str.strip()
        medians = found[found["metric"].isin(["ise", "w1", "ks"])].pivot(index="name", columns="metric", values="value")
        ours, peers = medians.loc[OURS], medians.drop(index=OURS)
        against = {"best": peers.min(), "published": peers.loc[PUBLISHED]}
        rows.append({(metric, which): ours[metric] / against[which][metric] for metric, which in LIMITS})
    return pd.DataFrame(rows)


@pytest.mark.nightly("a study")
@pytest.mark.parametrize("aim", LIMITS, ids="-".join)
def test_errors_over_the_peers_are_within_the_aim_and_would_not_be_if_half_as_large_again(ratios, aim):
    found = float(np.exp(np.log(ratios[[aim]]).to_numpy().mean()))
    assert found <= LIMITS[aim]
    assert LIMITS[aim] < 1.5 * found, "ours became much better, so that this test would miss a loss: lower its limit"


@pytest.mark.slow
def test_no_density_is_much_worse_than_the_best_peers(ratios):
    assert ratios[[aim for aim in LIMITS if aim[1] == "best"]].to_numpy().max() <= 1.3
