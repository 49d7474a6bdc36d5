"""Columns of dates and times are read as single values are, and files at a speed close to DuckDB's."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dpcore.laboratory.studies.speed.table import one_core
from dpcore.populations import read_blocks
from dpcore.populations.records import parsed
from dpcore.protocol.domain import dates
from dpcore.protocol.scheme import Scheme

SCHEME = Scheme.from_toml("""name = "s"
[attributes]
region = { type = "categorical", categories = ["1", "2", "3"], epsilon = 1 }
income = { type = "numeric", lower = 0, upper = 20000, epsilon = 1 }
age = { type = "numeric", lower = 0, upper = 100, epsilon = 1 }
member = { type = "boolean", epsilon = 1 }
day = { type = "date", lower = 2020-01-01, upper = 2026-01-01, epsilon = 1 }
""")
PEOPLE = """select 1 + hash(i) % 3 as region, hash(i * 3) % 1000000 / 100 as income, hash(i * 5) % 100 as age,
    hash(i * 7) % 2 = 0 as member, date '2020-01-01' + (hash(i * 11) % 2000)::int as day from range(10000000) t(i)"""
# A mere count(column) leaves Parquet unread: its statistics answer it.
COUNT = """select count(*), max(length(region::varchar)), sum(income::double), sum(age::double), count_if(member::boolean),
    max(day::date - date '1970-01-01') from '{path}'"""
COLUMNS = {
    "texts of instants": pa.array(
        ["2026-01-31T12:00Z", " 1931-07-01 23:59:59.999999+0545", "", "9999-12-31T23:59:59.9Z"]
    ),
    "texts of local times": pa.array(["2026-03-29 01:59", "2026-10-25T02:30:00", "2050-07-01T12:00", "2026-01-31"]),
    "a time that the clock skips": pa.array(["2026-03-29T02:30", "2026-07-01T12:00"]),
    "what is none": pa.array(["2026-02-30", "2026-01-31Z", "0000-01-01", "2026-01-01T00:00:00.1234567Z", "none", None]),
    "local times": pa.array([-1, 1_774_751_400_000, 2_540_376_000_000, None], pa.timestamp("ms")),
    "times of a zone": pa.array([-1, 1_774_751_400_000_000_001], pa.timestamp("ns", "Asia/Tokyo")),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(("unit", "zone"), [(dates.DAYS, ""), (dates.INSTANTS, ""), (dates.INSTANTS, "Europe/Paris")])
def test_a_column_of_dates_is_read_as_its_values_are(name: str, unit: str, zone: str) -> None:
    column = pa.chunked_array([COLUMNS[name]])
    numbers, bad = parsed(column, {""}, ".", calendar=unit, zone=zone)
    for place, value in enumerate(column.to_pylist()):
        try:
            number = dates.day_number(value, unit, zone) if value not in ("", "none") else None
            assert place not in bad
        except ValueError:
            number = None
            assert place in bad
        assert np.array_equal(numbers[place].as_py(), np.nan if number is None else number, equal_nan=True)


@pytest.mark.nightly("a study")
@pytest.mark.parametrize(("ending", "least"), [("csv", 0.5), ("parquet", 0.25)])
def test_ten_million_records_are_read_at_a_part_of_the_speed_of_duckdb(
    tmp_path: Path, ending: str, least: float
) -> None:
    """Both on one thread, in turns, by processor time."""
    path = tmp_path / f"people.{ending}"
    with one_core(), duckdb.connect() as ask:
        ask.execute("SET threads=1")
        ask.execute(f"copy ({PEOPLE}) to '{path}'")

        def seconds(read: Callable[[], object]) -> float:
            begun = time.process_time()
            read()
            return time.process_time() - begun

        def blocks() -> int:
            return sum(block.num_rows for block in read_blocks(path, SCHEME))

        query = COUNT.format(path=path)
        ratios = [seconds(lambda: ask.execute(query).fetchall()) / seconds(blocks) for _ in range(5)]
    assert np.median(ratios) > least, ratios
