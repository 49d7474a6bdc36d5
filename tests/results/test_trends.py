"""The view of trends: every number of every round once, beside its change since the round before."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from dpcore.results.warehouse import land, query
from tests.results.test_warehouse_macros import a_run, landing, numbers

MOVED = {"confidence": 0.95, "standard_error": 1.0, "correlation": 0.0, "deviations": 2.0, "threshold": 3.0}
MOVED |= {"attribute": "income", "given": "", "other_given": "", "functional": "mean", "reason": None}


@pytest.fixture
def path(fresh: Path) -> Path:
    """Two rounds; in the second the mean has moved by 2, a group's was refused, and two groups differ."""
    first, second = a_run("r1", "x"), a_run("r2", "x")
    group = numbers(7.0, 1.0, given="sex=f")["functionals"]
    land(fresh, landing(first, {"functionals": pd.concat([numbers(10.0, 1.0)["functionals"], group])}))
    moved = [
        MOVED | {"other_run_id": first.run_id, "difference": 2.0, "low": 0.5, "high": 3.5, "differs": False},
        MOVED | {"other_run_id": first.run_id, "given": "sex=f", "other_given": "sex=f", "reason": "too few"},
        MOVED | {"other_run_id": second.run_id, "given": "sex=f", "other_given": "sex=m", "difference": 9.0},
        MOVED | {"other_run_id": second.run_id, "given": "", "other_given": "sex=m", "difference": 8.0},
    ]
    tables = {"functionals": pd.concat([numbers(12.0, 1.0)["functionals"], group]), "comparisons": pd.DataFrame(moved)}
    land(fresh, landing(second, tables))
    return fresh


def test_every_number_of_a_round_is_there_once_with_its_change(path: Path) -> None:
    frame = query(path, "from trends order by round, given")
    assert frame[["round", "given", "estimate"]].to_numpy().tolist() == [
        ["r1", "", 10.0], ["r1", "sex=f", 7.0], ["r2", "", 12.0], ["r2", "sex=f", 7.0],
    ]  # fmt: skip
    assert frame["number"].eq("mean").all()
    assert (frame["low"] < frame["estimate"]).all()
    assert (frame["estimate"] < frame["high"]).all()
    changes = frame[["previous_round", "change", "change_low", "change_high", "differs"]]
    assert changes.iloc[:2].isna().all().all()
    assert changes.iloc[2].tolist() == ["r1", 2.0, 0.5, 3.5, False]
    assert changes.iloc[3][["change", "change_low", "change_high", "differs"]].isna().all()
    assert frame["reason"].tolist()[3] == "too few"
