"""The audit through the engine: certificates in the UI, rows in the warehouse, a failed run where a promise is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcore.errors import CalibrationError
from dpcore.mechanisms import registry
from dpcore.results import warehouse
from ldpflow_flows.audit import audit
from ldpflow_flows.settings import AuditSettings
from tests.flows.artifacts import shown
from tests.helpers.planted import OneTooMany

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("harness")]


@pytest.fixture
def settings(scheme_file: Path, tmp_path: Path) -> AuditSettings:
    (tmp_path / "schemes").mkdir()
    (tmp_path / "schemes/small.toml").write_text(scheme_file.read_text(encoding="utf-8"), encoding="utf-8")
    return AuditSettings(schemes=tmp_path / "schemes", warehouse=tmp_path / "w.duckdb", trials=1000)


def certificate() -> str:
    return shown("consumer-expenditure-certificate")


def test_every_scheme_is_certified_and_landed(settings: AuditSettings) -> None:
    [found] = audit(settings)
    assert found.holds
    assert "Every promise is kept." in certificate()
    assert "(data:image/png;base64," in certificate()
    rows = warehouse.query(settings.warehouse, "select attribute, passed from audits order by 1")
    assert rows.values.tolist() == [["", True], ["urban_rural", True]]


def test_a_broken_promise_fails_the_run_after_it_is_shown_and_landed(
    settings: AuditSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = settings.schemes / "small.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('design = "two_coin"\n', ""), encoding="utf-8")
    monkeypatch.setitem(registry.CATEGORICAL, "randomized_response", OneTooMany)
    with pytest.raises(CalibrationError, match="urban_rural of consumer_expenditure"):
        audit(settings)
    assert "Do not sign." in certificate()
    rows = warehouse.query(settings.warehouse, "select attribute from audits where not passed order by 1")
    assert list(rows["attribute"]) == ["", "urban_rural"]
