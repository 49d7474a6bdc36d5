"""A round in every order of what may happen to it, by its flow."""

from __future__ import annotations

import math
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import pytest

from ldpflow_flows.round import run_round
from ldpflow_flows.settings import RoundSettings
from tests.helpers.orders import EVENTS, LENGTH, ROUND, check_orders

pytestmark = [pytest.mark.slow, pytest.mark.flows, pytest.mark.usefixtures("harness")]


def run(data: Path, *, again: bool, records: Path | None, reports: Path | None, identity: str) -> None:
    told = {"scheme": data / "scheme.toml", "data": data, "round": ROUND}
    with pytest.MonkeyPatch.context() as patch:  # the same run is retried under its own id
        patch.setenv("PREFECT__RUNTIME__FLOW_RUN__ID", str(uuid5(NAMESPACE_OID, f"{data} {identity}")))
        run_round(RoundSettings(**told, again=again, records=records, reports=reports), return_state=True).result()


@pytest.mark.nightly("every case")
def test_a_flow(tmp_path: Path) -> None:
    assert check_orders(tmp_path / "orders", run, keeps_identity=True) == math.perm(len(EVENTS), LENGTH)
