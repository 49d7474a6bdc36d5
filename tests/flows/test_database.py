"""The server's history is in the PostgreSQL that these tests were told to use."""

from __future__ import annotations

import asyncio
import os

import asyncpg
import pytest
from prefect import flow
from prefect.settings import PREFECT_SERVER_DATABASE_CONNECTION_URL

pytestmark = [
    pytest.mark.flows,
    pytest.mark.usefixtures("harness"),
    pytest.mark.skipif(os.environ.get("LDPFLOW_TEST_DATABASE") != "postgresql", reason="only on PostgreSQL"),
]


def test_a_flows_run_is_a_row_of_postgresql() -> None:
    @flow(flow_run_name="kept-in-postgresql")
    def nothing() -> None:
        pass

    async def kept() -> list[str]:
        url = str(PREFECT_SERVER_DATABASE_CONNECTION_URL.value())
        connection = await asyncpg.connect(url.replace("+asyncpg", ""))
        try:
            rows = await connection.fetch("select state_name from flow_run where name = 'kept-in-postgresql'")
        finally:
            await connection.close()
        return [row["state_name"] for row in rows]

    nothing()
    assert asyncio.run(kept()) == ["Completed"]
