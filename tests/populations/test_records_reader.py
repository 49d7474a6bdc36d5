"""The reader of real records: by column name, blocks of exact size, and one clear line that shows no value."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpcore.errors import InvalidRecord
from dpcore.populations import formats, read_blocks, read_records

SECRET = "98765"  # stands in every bad file; must stand in no message


def scheme(**columns: str) -> SimpleNamespace:
    """A scheme's attributes, as the reader sees them: attribute name -> column, and whether it reads numbers."""
    questions = {
        column.lower(): SimpleNamespace(
            column=column, reads_numbers=kind == "numeric", codes={}, categories=(), is_date=False, calendar=""
        )
        for column, kind in columns.items()
    }
    return SimpleNamespace(reported={name: SimpleNamespace(questions=(one,)) for name, one in questions.items()})


SCHEME = scheme(Income="numeric", Place="categorical")


def people(n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Income": np.arange(n) + 0.5,
            "Name": [f"person {i}" for i in range(n)],
            "Place": [str(1 + i % 2) for i in range(n)],
        }
    )


def write(path: Path, frame: pd.DataFrame) -> Path:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dict("records")))
    else:
        frame.to_parquet(path, row_group_size=7)
    return path


def text(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_only_the_schemes_columns_come(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for suffix in [".csv", ".parquet", ".jsonl", ".CSV"]:
        with subtests.test(suffix=suffix):
            frame = people(20)
            path = tmp_path / f"people{suffix}"
            write(path, frame) if suffix != ".CSV" else frame.to_csv(path, index=False)
            found = read_records(path, SCHEME)
            assert list(found) == ["Income", "Place"]
            assert found["Income"].dtype == np.float64
            assert found["Income"].tolist() == frame["Income"].tolist()
            assert found["Place"].tolist() == frame["Place"].tolist()


def test_blocks_have_exactly_the_size_asked(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for suffix in [".csv", ".parquet", ".jsonl"]:
        for n, sizes in [(0, [0]), (1, [1]), (9, [9]), (10, [10]), (25, [10, 10, 5]), (30, [10, 10, 10])]:
            with subtests.test(suffix=suffix, n=n, sizes=sizes):
                path = write(tmp_path / f"people{suffix}", people(n))
                blocks = list(read_blocks(path, SCHEME, size=10))
                assert [len(block) for block in blocks] == sizes
                joined = pa.concat_tables(blocks)
                assert joined["Income"].to_pylist() == people(n)["Income"].tolist()
                assert blocks[0].column_names == ["Income", "Place"]


@pytest.mark.slow
def test_blocks_are_exact_across_the_parsers_own_chunks(tmp_path: Path) -> None:
    n = 300_000  # about 7 MB: two chunks of CSV
    path = write(tmp_path / "people.csv", people(n))
    blocks = list(read_blocks(path, SCHEME))
    assert [len(block) for block in blocks] == [65_536] * 4 + [n - 4 * 65_536]
    assert sum(block["Income"].to_numpy().sum() for block in blocks) == pytest.approx(n * n / 2)


def test_codes_stay_text_and_quotes_hold(tmp_path: Path) -> None:
    path = text(tmp_path / "a.csv", '\ufeffPlace,Income\n01,"1"\n"a, b\nc", 2.5 \n,\nNone,1e3\nNA,NA\n')
    found = read_records(path, SCHEME)
    assert found["Place"].tolist() == ["01", "a, b\nc", "", "None", "NA"]
    np.testing.assert_array_equal(found["Income"], [1, 2.5, np.nan, 1000, np.nan])


def test_codes_of_a_number_that_are_texts_say_that_there_is_none(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for suffix in [".csv", ".parquet", ".jsonl"]:
        with subtests.test(suffix=suffix):
            coded = scheme(Income="numeric", Place="categorical")
            coded.reported["income"].questions[0].codes = {"don't know": "missing", "-9": "missing"}
            rows = pd.DataFrame({"Income": ["1", "don't know", "2.5", "", "-9"], "Place": list("abcde")})
            found = read_records(write(tmp_path / f"a{suffix}", rows), coded)["Income"]
            assert found.isna().tolist() == [False, True, False, True, True]
            with pytest.raises(InvalidRecord, match="record 1 does not"):
                read_records(write(tmp_path / f"b{suffix}", rows[1:]), SCHEME)


def test_json_numbers_texts_and_nulls_come_through(tmp_path: Path) -> None:
    lines = ['{"Place":1,"Income":"2.5"}', '{"Income":null,"Place":null,"x":[]}', '{"Place":"é","Income":1e3}']
    found = read_records(text(tmp_path / "a.jsonl", "\r\n".join(lines)), SCHEME)
    assert found["Place"].isna().tolist() == [False, True, False]
    assert found["Place"].dropna().tolist() == ["1", "é"]
    np.testing.assert_array_equal(found["Income"], [2.5, np.nan, 1000])


BAD_LINES = [
    b"[1]",
    b'{"Income":1,"Pl',
    b'{"Income":1}',
    b'{"Income":[1],"Place":"1"}',
    b'{"Income":true,"Place":"1"}',
    b"\xff",
    b'{"Income":1,"Place":"\\ud800"}',
    b"[" * 100_000,
    b'{"Income":"much","Place":"1"}',
]


def test_a_bad_line_of_json_is_refused_in_one_line_without_a_value(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for line in BAD_LINES:
        with subtests.test(line=line[:40]):
            path = text(tmp_path / "a.jsonl", b'{"Income":1,"Place":"1"}\n' + line + b"\n")
            with pytest.raises(InvalidRecord, match=r"record 2") as refused:
                read_records(path, SCHEME)
            assert "\n" not in str(refused.value)
            assert "much" not in str(refused.value)


def test_parquet_types_of_every_kind_come_through(tmp_path: Path) -> None:
    table = pa.table(
        {
            "Place": pa.array(["x", None, "y", "x"]).dictionary_encode(),
            "Income": pa.array([1, None, 3, 4], pa.int32()),
            "Code": pa.array([1, None, 2, 1], pa.int8()),
            "Words": pa.array(["1.5", "", "2", None]),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=1)
    found = read_records(path, scheme(Place="categorical", Income="numeric", Code="categorical", Words="numeric"))
    assert found["Place"].isna().tolist() == [False, True, False, False]
    assert found["Place"].tolist()[2:] == ["y", "x"]
    np.testing.assert_array_equal(found["Income"], [1, np.nan, 3, 4])
    np.testing.assert_array_equal(found["Words"], [1.5, np.nan, 2, np.nan])
    assert [value == 1 for value in found["Code"].tolist()] == [True, False, False, True]


def test_an_index_a_writer_kept_does_not_hide_positions(tmp_path: Path) -> None:
    people(9).iloc[5:].to_parquet(tmp_path / "a.parquet")
    people(9).iloc[5:].set_index("Income", drop=False).to_parquet(tmp_path / "b.parquet")
    for name in ("a.parquet", "b.parquet"):
        found = read_records(tmp_path / name, SCHEME)
        assert found.index.tolist() == [0, 1, 2, 3]
        assert found["Income"].tolist() == [5.5, 6.5, 7.5, 8.5]


def test_a_line_break_in_quotes_may_fall_on_a_chunks_edge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_CHUNK", 64)
    rows = "".join(f'{i},"a\nb\nc"\n' for i in range(100))
    found = read_records(text(tmp_path / "a.csv", f"Income,Place\n{rows}"), SCHEME)
    assert found["Income"].tolist() == list(range(100))
    assert set(found["Place"]) == {"a\nb\nc"}


def cut(path: Path, share: float) -> Path:
    content = path.read_bytes()
    return text(path, content[: int(len(content) * share)])


BAD: dict[str, tuple[Callable[[Path], Path], str]] = {
    "missing file": (lambda d: d / "none.csv", "none.csv: no such file of records"),
    "a folder": (lambda d: d, "unknown format; records are .csv, .tsv, .parquet"),
    "a folder.csv": (lambda d: [(d / "f.csv").mkdir(), d / "f.csv"][1], "f.csv: no such file of records"),
    "unknown suffix": (lambda d: text(d / "a.ods", "x"), "a.ods: unknown format; records are .csv"),
    "missing column, csv": (lambda d: text(d / "a.csv", f"Income,{SECRET}\n1,2\n"), "a.csv has no column 'Place'"),
    "no header": (
        lambda d: text(d / "a.csv", f"{SECRET},1\n2,2\n"),
        "no column 'Income' among its 2 columns; the header was split at a comma; is it the first line, or say --delimiter",
    ),
    "other case": (
        lambda d: text(d / "a.csv", "income,Place\n1,2\n"),
        "no column 'Income' among its 2 columns; it has 'income'",
    ),
    "twice": (lambda d: text(d / "a.csv", "Income,Place,Place\n1,2,3\n"), "'Place' more than once"),
    "empty csv": (lambda d: text(d / "a.csv", ""), "is empty"),
    "cut csv": (
        lambda d: text(d / "a.csv", f"Income,Place,x\n1,2,3\n{SECRET}"),
        "row 3 has 1 fields where the header has 3",
    ),
    "long row": (
        lambda d: text(d / "a.csv", f"Income,Place\n1,2\n1,2,{SECRET}\n"),
        "row 3 has 3 fields where the header has 2",
    ),
    "not a number": (
        lambda d: text(d / "a.csv", f"Income,Place\n1,2\n$ {SECRET},2\n"),
        "column 'Income' of .*a.csv must hold numbers.*record 2 does not",
    ),
    "latin 1": (lambda d: text(d / "a.csv", b"Income,Place\n1,M\xe4\n"), "cannot be read: .*CSV in UTF-8"),
    "latin 1 header": (lambda d: text(d / "a.csv", b"Income,Pl\xe4ce\n1,M\n"), "cannot be read: .*CSV in UTF-8"),
    "missing column, parquet": (
        lambda d: write(d / "a.parquet", people(3).drop(columns="Place")),
        "a.parquet has no column 'Place'",
    ),
    "cut parquet": (lambda d: cut(write(d / "a.parquet", people(300)), 0.7), "cannot be read: it may be cut short"),
    "empty parquet": (lambda d: text(d / "a.parquet", ""), "cannot be read: it may be cut short"),
    "csv called parquet": (lambda d: text(d / "a.parquet", f"Income,Place\n{SECRET},2\n"), "not .parquet"),
    "parquet called csv": (
        lambda d: write(d / "a.parquet", people(9)).rename(d / "b.csv"),
        "b.csv (cannot be read|has no column)",
    ),
    "words in parquet": (
        lambda d: write(d / "a.parquet", people(12).assign(Income=["1"] * 11 + [SECRET + "x"])),
        "column 'Income' of .*a.parquet must hold numbers.*record 12 does not",
    ),
    "dates": (
        lambda d: write(d / "a.parquet", people(2).assign(Income=pd.to_datetime(["2026-01-01"] * 2))),
        "must hold numbers.*record 1 does not",
    ),
    "lists": (
        lambda d: write(d / "a.parquet", people(2).assign(Income=[[1], [int(SECRET)]])),
        "column 'Income' of .*a.parquet must hold numbers",
    ),
    "open quote": (
        lambda d: text(d / "a.csv", f'Income,Place\n1,2\n1,"{SECRET}\n1,2\n'),
        "a quote that never closes",
    ),
    "open quote in a column not needed": (
        lambda d: text(d / "a.csv", f'Income,Place,x\n1,2,"a ""b"""\n1,2,"{SECRET}\n1,2,3\n1,2,3\n'),
        "a quote that never closes",
    ),
    "damaged page": (
        lambda d: damage(write(d / "a.parquet", people(3000))),
        "cannot be read",
    ),
}


def damage(path: Path) -> Path:
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    return text(path, bytes(content))


def test_bad_files_are_refused_in_one_line_without_a_value(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for number, (case, (make, message)) in enumerate(BAD.items()):
        with subtests.test(case):
            (folder := tmp_path / str(number)).mkdir()
            with pytest.raises(InvalidRecord, match=message) as caught:
                read_records(make(folder), SCHEME)
            said = str(caught.value)
            assert "\n" not in said
            assert SECRET not in said
            assert caught.value.__cause__ is None


def test_positions_count_from_the_files_start(tmp_path: Path) -> None:
    rows = "".join("1,2\n" for _ in range(25))
    path = text(tmp_path / "a.csv", f"Income,Place\n{rows}x,2\n")
    blocks = read_blocks(path, SCHEME, size=10)
    next(blocks), next(blocks)
    with pytest.raises(InvalidRecord, match="record 26 does not"):
        next(blocks)


def test_a_callers_own_error_passes_through(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", people(3))
    blocks = read_blocks(path, SCHEME, size=1)
    next(blocks)
    with pytest.raises(KeyError):
        blocks.throw(KeyError("mine"))  # type: ignore[attr-defined]


def test_size_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(InvalidRecord, match="size"):
        next(read_blocks(write(tmp_path / "people.csv", people(3)), SCHEME, size=0))


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=5), max_size=12),
    size=st.integers(1, 5),
)
@example(places=["", '"', ",", "\n", " a ", "NA", "null", "0", "'", "\\", '"\n",', "\u2028", "-"], size=5)
def test_any_text_survives_both_formats(tmp_path: Path, places: list[str], size: int) -> None:
    frame = pd.DataFrame({"Place": pd.Series(places, dtype="object"), "Income": np.arange(len(places)) / 3})
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, quoting=csv.QUOTE_ALL)
        rows.writerow(frame.columns)
        rows.writerows(frame.itertuples(index=False))
    frame.astype({"Place": "str"}).to_parquet(tmp_path / "a.parquet")
    for path in (tmp_path / "a.csv", tmp_path / "a.parquet"):
        blocks = list(read_blocks(path, SCHEME, size))
        assert [len(block) for block in blocks[:-1]] == [size] * (len(blocks) - 1)
        found = pa.concat_tables(blocks)
        assert found["Place"].to_pylist() == places
        assert found["Income"].to_pylist() == frame["Income"].tolist()


def test_texts_of_parquet_come_as_categories_whatever_its_row_groups(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for kind in [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]:
        with subtests.test(kind=kind):
            places = ["01", None, "b", "01", "c", "b", "d", "01"]
            table = pa.table(
                {"Place": pa.array(places).cast(kind), "Income": pa.array([1.0] * 8), "who": pa.array(list("abcdefgh"))}
            )
            pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
            blocks = list(read_blocks(tmp_path / "a.parquet", SCHEME, size=5, also=("who",)))
            assert all(pa.types.is_dictionary(block["Place"].type) for block in blocks)
            assert [place for block in blocks for place in block["Place"].to_pylist()] == places
            assert [who for block in blocks for who in block["who"].to_pylist()] == list("abcdefgh")
            assert not any(
                pa.types.is_dictionary(block["who"].type) for block in blocks
            )  # which may be as many as people
