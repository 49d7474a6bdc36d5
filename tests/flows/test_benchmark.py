"""The accuracy study through the engine: a small grid, begun once, gone on with, and shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcore.laboratory import landing
from dpcore.results import warehouse
from ldpflow_flows import studies as flow
from ldpflow_flows.studies.settings import BenchmarkSettings
from tests.flows.artifacts import shown

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("harness")]


def test_a_run_that_fails_half_way_goes_on_and_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = BenchmarkSettings(
        targets=("uniform",),
        clients=(10_000,),
        epsilons=(1.0,),
        methods=("wavelet_laplace", "peer:sw_ems"),
        repetitions=2,
        workers=1,
        warehouse=tmp_path / "w.duckdb",
        figures=tmp_path / "figures",
    )
    landed = []
    whole = warehouse.add_benchmarks

    def once_broken(path: Path, frame: object) -> None:
        whole(path, frame)  # type: ignore[arg-type]
        landed.append(frame)
        if len(landed) == 1:
            raise OSError("the connection was lost after the work was done")

    monkeypatch.setattr(landing.warehouse, "add_benchmarks", once_broken)
    monkeypatch.setattr(flow.measure, "retry_delay_seconds", [0.01, 0.01, 0.01])
    flow.benchmark(settings)
    assert len(landed) == 2  # each piece of work once, though the task ran twice
    rows = warehouse.query(settings.warehouse, "from benchmarks")
    assert rows["measured_at"].nunique() == 1
    assert set(rows["method"]) == {"wavelet_laplace", "peer:sw_ems"}
    assert float(shown("accuracy-progress")) == 100
    assert "wavelet_laplace | ise" in shown("accuracy")
    assert "not measured" in shown("accuracy-aims")
