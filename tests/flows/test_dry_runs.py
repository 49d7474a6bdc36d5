"""Dry runs through the engine: a table in the UI, progress, and no warehouse."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpflow_flows.dry_runs import dry_runs
from ldpflow_flows.settings import DryRunSettings
from tests.flows.artifacts import shown

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("harness")]


def test_dry_runs_show_a_table_and_land_nothing(tmp_path: Path) -> None:
    (tmp_path / "pets.toml").write_text(
        'name = "pets"\n[attributes.pet]\ntype = "categorical"\ncategories = ["cat", "dog"]\nepsilon = 1\n'
    )
    found = dry_runs(DryRunSettings(scheme=tmp_path / "pets.toml", clients=500, rounds=3))
    assert found["rounds"].tolist() == [3, 3]
    assert "share of cat" in str(shown("pets-dry-runs"))
    assert [path.name for path in tmp_path.iterdir()] == ["pets.toml"]
