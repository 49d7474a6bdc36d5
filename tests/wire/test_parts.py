"""A file of reports read in parts is what it is read whole, and categories by number are those by label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore import pipeline, wire
from dpcore.errors import InvalidRecord
from dpcore.protocol.scheme import Scheme

People = Callable[..., dict[str, np.ndarray]]


@pytest.mark.parametrize("reporting", ["all", "one"])
@pytest.mark.parametrize("size", [70, 1000])
def test_parts_give_the_aggregate_of_the_whole_and_its_positions(
    tmp_path: Path, small_text: str, people: People, reporting: str, size: int
) -> None:
    scheme, path = Scheme.from_toml(f'reporting = "{reporting}"\n{small_text}'), tmp_path / "r.parquet"
    wire.write_reports(path, scheme, dp.privatize(scheme, people(300), dp.seeded(1)))
    table = pq.read_table(path)
    sides = table.column("side").to_numpy(zero_copy_only=False).copy()
    sides[[140, 260]] = 9
    side = pa.array(sides, pa.int64(), from_pandas=True)
    pq.write_table(table.set_column(table.schema.get_field_index("side"), "side", side), path)
    whole = dp.aggregate(scheme, wire.read_reports(path, scheme))
    parts = list(wire.read_parts(path, scheme, size))
    assert [len(part) for part in parts] == [min(size, 300 - start) for start in range(0, 300, size)]
    found = pipeline.aggregate_parts(scheme, parts)
    assert found.equals(whole)
    assert found.examples == whole.examples
    assert found.rejected
    assert 140 in found.examples.values()


def test_a_file_of_nobody_is_one_part(tmp_path: Path, small: Scheme, people: People) -> None:
    nobody = {name: column[:0] for name, column in people(3).items()}
    wire.write_reports(tmp_path / "r.parquet", small, dp.privatize(small, nobody, dp.seeded(1)))
    assert pipeline.aggregate_parts(small, wire.read_parts(tmp_path / "r.parquet", small)).is_empty


def test_noise_is_packed_and_comes_back(tmp_path: Path, small: Scheme, people: People) -> None:
    batch = dp.privatize(small, people(5000), dp.seeded(1))
    wire.write_reports(tmp_path / "r.parquet", small, batch)
    column = pq.ParquetFile(tmp_path / "r.parquet").metadata.row_group(0).column(3)
    assert column.path_in_schema == "height_values.list.element"
    assert column.encodings == ("RLE", "DELTA_BINARY_PACKED")
    again = wire.read_reports(tmp_path / "r.parquet", small)
    assert np.array_equal(again.of("height").reports.values, batch.of("height").reports.values)


def test_categories_by_number_are_read_as_their_labels(small: Scheme) -> None:
    side = small.attributes["side"]
    labels = np.array(["right", "left", "left", "right"], dtype=object)
    cells = side.encode(labels)
    assert np.array_equal(side.encode(pd.Categorical(labels, ["left", "nobody", "right"])), cells)
    assert np.array_equal(side.encode(pd.Series(labels, dtype="category")), cells)
    for unknown in (pd.Categorical(["left", None]), pd.Categorical(["left", "up"])):
        with pytest.raises(InvalidRecord, match="record 2"):
            side.encode(unknown)
