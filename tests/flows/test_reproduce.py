"""The documents' figures through the engine: those asked for land once, and each has a picture in the UI."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcore.results import warehouse
from ldpflow_flows.studies import reproduce
from ldpflow_flows.studies.settings import ReproduceSettings
from tests.flows.artifacts import shown

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("harness")]


def test_a_run_measures_what_is_missing_and_shows_it(tmp_path: Path) -> None:
    def settings(*names: str) -> ReproduceSettings:
        return ReproduceSettings(names=names, quick=True, warehouse=tmp_path / "w.duckdb", figures=tmp_path / "figures")

    reproduce(settings("printed_scales"))
    reproduce(settings("printed_scales", "noise"))
    rows = warehouse.query(
        tmp_path / "w.duckdb", "select method, count(distinct measured_at) as n from benchmarks group by 1"
    )
    assert dict(zip(rows["method"], rows["n"], strict=True)) == {"printed_scales": 1, "noise": 1}
    assert float(shown("reproduce-progress")) == 100
    assert "our scale: loss over epsilon" in shown("reproduce-aims")
    assert "![printed_scales](data:image/png;base64," in shown("reproduce-printed-scales")
