"""What has landed, table by table, as two goes of the same rounds must have it in common wherever they ran."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from dpcore.results import warehouse
from dpcore.results.warehouse.views import RESULTS

VARYING = {"runs": ["started_at", "finished_at", "flow_run_id"]}


def tables(file: Path, data: str | Path) -> dict[str, pd.DataFrame]:
    """Everything in a warehouse but for what no two goes have in common; of pictures, the place below `data`."""
    found = {}
    for table in ("runs", *RESULTS):
        frame = warehouse.query(file, f"from {table} order by all").drop(columns=VARYING.get(table, []))
        if "path" in frame:
            assert frame["path"].str.startswith(f"{data}/").all()
            frame["path"] = frame["path"].str.removeprefix(f"{data}/")
        found[table] = frame
    return found


def same(left: dict[str, pd.DataFrame], right: dict[str, pd.DataFrame]) -> None:
    assert left.keys() == right.keys()
    for table, frame in left.items():
        pd.testing.assert_frame_equal(frame, right[table], check_exact=True, obj=table)
