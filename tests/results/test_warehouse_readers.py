"""Programs of other people open the published copy while rounds land: at any moment, and never see half of a round."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from dpcore.results.warehouse import land, publish_copy, published
from tests.helpers import warehouses
from tests.results.test_warehouse_macros import CURVE, a_run, landing

ROWS = 1000  # of a round
LAND = f"""
import sys
from datetime import UTC, datetime
import pandas as pd
from dpcore.results import warehouse
for number in range(1, 13):
    at = datetime(2026, 11, number, tzinfo=UTC)
    run = warehouse.RunRow(
        run_id=f"{{number:016x}}", scheme="small", scheme_digest="d" * 64, round=f"{{at:%Y-%m-%d}}", source="simulated",
        randomness="seeded", seed=number, accepted=10, rejected=0, started_at=at, finished_at=at, version="0",
    )
    counts = pd.DataFrame({{
        "attribute": "a", "given": "", "statistic": "count", "level": 0, "cell": range({ROWS}), "value": number
    }})
    warehouse.land(sys.argv[1], warehouse.Landing(run, {{"aggregates": counts}}))
    print(number, flush=True)
"""
SQL = (
    "select r.round, count(a.value) as n, count(distinct a.value) as k "
    "from runs r left join aggregates a using (run_id) group by 1"
)


def by_pandas(copy: Path) -> pd.DataFrame:
    with duckdb.connect(str(copy), read_only=True) as connection:
        return connection.sql(SQL).df()


def by_shell(copy: Path) -> pd.DataFrame:
    shell = shutil.which("duckdb", path=str(Path(sys.executable).parent))
    assert shell is not None, "duckdb-cli is a dependency of the tests"
    done = subprocess.run([shell, "-readonly", "-json", str(copy), SQL], capture_output=True, text=True, check=True)
    return pd.DataFrame(json.loads(done.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("look", [by_pandas, by_shell])
def test_who_opens_the_copy_while_rounds_land_sees_whole_rounds(
    tmp_path: Path, look: Callable[[Path], pd.DataFrame]
) -> None:
    file = warehouses.put(tmp_path / "warehouse.duckdb")
    seen = []
    with subprocess.Popen([sys.executable, "-c", LAND, str(file)], stdout=subprocess.PIPE, text=True) as landing:
        assert landing.stdout is not None
        landing.stdout.readline()
        while landing.poll() is None:
            frame = look(published(file))
            assert set(frame["n"]) == {ROWS}
            assert set(frame["k"]) == {1}
            seen.append(len(frame))
    assert landing.returncode == 0
    assert len(look(published(file))) == 12
    assert seen == sorted(seen)
    assert len(set(seen)) >= 3, "they came while rounds landed"


def test_the_shell_cannot_change_the_copy(created: Path, tmp_path: Path) -> None:
    file = Path(shutil.copy(created, tmp_path / "warehouse.duckdb"))
    land(file, landing(a_run("r1", "x"), {"densities": CURVE}))
    publish_copy(file)
    shell = shutil.which("duckdb", path=str(Path(sys.executable).parent))
    assert shell is not None
    words = [shell, "-readonly", "-json", str(published(file))]
    done = subprocess.run([*words, "delete from runs"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "read-only" in done.stderr
    asked = subprocess.run([*words, "from share_between('income', 0, 5)"], capture_output=True, text=True, check=True)
    assert {row["scheme"] for row in json.loads(asked.stdout)} == {"people"}
