"""The coverage study through the engine: a small grid, and what the UI shows of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcore.results import warehouse
from ldpflow_flows.studies import coverage
from ldpflow_flows.studies.settings import CoverageSettings
from tests.flows.artifacts import shown

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("harness")]


def test_a_run_measures_and_shows_and_a_second_adds_repetitions(tmp_path: Path) -> None:
    def settings(repetitions: int) -> CoverageSettings:
        return CoverageSettings(
            targets=("bimodal",),
            places=[{"clients": 10_000, "epsilon": 2.0}],
            methods=("wavelet_laplace",),
            repetitions=repetitions,
            workers=1,
            warehouse=tmp_path / "w.duckdb",
            figures=tmp_path / "figures",
        )

    coverage(settings(2))
    coverage(settings(3))
    rows = warehouse.query(tmp_path / "w.duckdb", "select distinct repetitions, measured_at from benchmarks")
    assert list(rows["repetitions"]) == [3]
    assert float(shown("coverage-progress")) == 100
    assert "atomic: share of cells" in shown("coverage-aims")
    assert "![coverage_bimodal](data:image/png;base64," in shown("coverage")
