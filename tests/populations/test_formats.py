"""Files as people have them: the same records in every format, delimiter, encoding and spelling are read alike."""

from __future__ import annotations

import bz2
import datetime
import decimal
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyreadstat
import pytest

from dpcore.errors import InvalidRecord
from dpcore.populations import Dialect, read_blocks
from dpcore.protocol.scheme import Scheme

SCHEME = Scheme.from_toml("""
name = "files"
[attributes.income]
type = "numeric"
lower = -10
upper = 100
epsilon = 1
missing = "category"
[attributes.place]
type = "categorical"
categories = ["café", "Łódź", "1", "2"]
codes = { 9 = "2" }
epsilon = 1
missing = "category"
[attributes.flag]
type = "boolean"
epsilon = 1
missing = "category"
[attributes.since]
type = "date"
lower = 2020-01-01
upper = 2029-12-31
epsilon = 1
missing = "category"
""")
RECORDS = [
    {"income": 12.5, "place": "café", "flag": True, "since": datetime.date(2026, 1, 31)},
    {"income": -3.25, "place": "Łódź", "flag": False, "since": datetime.date(2020, 2, 29)},
    {"income": None, "place": "1", "flag": True, "since": None},
    {"income": 99.0, "place": None, "flag": None, "since": datetime.date(2031, 1, 1)},
    {"income": 0.0, "place": "2", "flag": False, "since": datetime.date(2024, 12, 31)},
]
NARROW = [record | ({"place": "café"} if record["place"] == "Łódź" else {}) for record in RECORDS]  # latin-1 has no Ł
TRUTH = {name: SCHEME.encode(pd.DataFrame(RECORDS, dtype=object))[name].tolist() for name in SCHEME.attributes}
NARROW_TRUTH = TRUTH | {"place": [0, 0, *TRUTH["place"][2:]]}


def lines(
    records: list[dict[str, Any]] = RECORDS,
    *,
    delimiter: str = ",",
    comma: bool = False,
    nothing: str = "",
    quote: bool = False,
    blank: str = "",
    end: str = "\n",
    flags: tuple[str, str] = ("False", "True"),
    whole: str = "",
    order: tuple[str, ...] = ("income", "note", "place", "flag", "since"),
) -> str:
    """The records as a text file, with a column that nobody asks for."""
    rows = [delimiter.join(order)]
    for record in records:
        number = nothing if record["income"] is None else f"{record['income']:g}".replace(".", "," if comma else ".")
        flag = nothing if record["flag"] is None else flags[record["flag"]]
        place = record["place"] or nothing
        place = place + whole if place.isdigit() else place
        since = nothing if record["since"] is None else record["since"].isoformat()
        cells = {
            "income": number,
            "note": f"a{delimiter} b" if quote else "ab",
            "place": place,
            "flag": flag,
            "since": since,
        }
        texts = [blank + cells[name] + blank for name in order]
        rows.append(delimiter.join(f'"{text}"' if quote or (comma and delimiter == ",") else text for text in texts))
    return end.join([*rows, ""])


PLAIN = Dialect()
TEXTS: dict[str, tuple[str, bytes]] = {
    "comma": ("a.csv", lines().encode()),
    "semicolon, decimal comma, byte-order mark": ("a.csv", lines(delimiter=";", comma=True).encode("utf-8-sig")),
    "semicolon, decimal point": ("a.csv", lines(delimiter=";").encode()),
    "tab": ("a.csv", lines(delimiter="\t").encode()),
    "tab, decimal comma": ("a.tsv", lines(delimiter="\t", comma=True).encode()),
    "bar": ("a.csv", lines(delimiter="|").encode()),
    "tsv with commas": ("a.tsv", lines().encode()),
    "UTF-16": ("a.csv", lines().encode("utf-16")),
    "UTF-16, big end first": ("a.csv", b"\xfe\xff" + lines(delimiter=";", comma=True).encode("utf-16-be")),
    "quoted, with delimiters within": ("a.csv", lines(quote=True).encode()),
    "quoted semicolons": ("a.csv", lines(quote=True, delimiter=";", comma=True).encode()),
    "lines of Windows": ("a.csv", lines(end="\r\n").encode()),
    "other order": ("a.csv", lines(order=("since", "flag", "place", "income")).encode()),
    "upper-case ending": ("a.CSV", lines().encode()),
    "gzip": ("a.csv.gz", gzip.compress(lines().encode())),
    "bzip2": ("a.csv.bz2", bz2.compress(lines(delimiter=";", comma=True).encode())),
    "gzip of tabs": ("a.tsv.gz", gzip.compress(lines(delimiter="\t").encode())),
    "zstandard": ("a.csv.zst", pa.compress(lines().encode(), codec="zstd", asbytes=True)),
    "decomposed accents": ("a.csv", lines().replace("é", "e\u0301").encode()),
    "no-break blanks": ("a.csv", lines().replace("café", "café\xa0").encode()),
    "whole numbers with a point": ("a.csv", lines(whole=".0").encode()),
    **{
        f"nothing is {word!r}": ("a.csv", lines(nothing=word).encode())
        for word in ("", "NA", "N/A", "nan", "NULL", "None")
    },
    **{
        f"flags are {flags}": ("a.csv", lines(flags=flags).encode())
        for flags in [
            ("0", "1"),
            ("no", "yes"),
            ("FALSE", "TRUE"),
            ("f", "t"),
            ("N", "Y"),
            ("0.0", "1.0"),
            ("false", "true"),
        ]
    },
    **{f"blanks {blank!r} around": ("a.csv", lines(blank=blank).encode()) for blank in (" ", "  ", "\u3000")},
    "codes for categories": ("a.csv", lines().replace(",2,", ",9,").encode()),
    "exponents": ("a.csv", lines().replace("12.5", "1.25e1").encode()),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_files_are_read_alike(tmp_path: Path, name: str) -> None:
    file, content = TEXTS[name]
    (tmp_path / file).write_bytes(content)
    assert cells(tmp_path / file) == TRUTH


def test_dialects_that_are_said(tmp_path: Path, subtests: pytest.Subtests) -> None:
    cases: list[tuple[bytes, Dialect, Any]] = [
        (lines(NARROW).encode("latin-1"), Dialect(encoding="latin-1"), NARROW_TRUTH),
        (lines(NARROW, delimiter=";", comma=True).encode("cp1252"), Dialect(encoding="cp1252"), NARROW_TRUTH),
        (lines(delimiter=":").encode(), Dialect(delimiter=":"), TRUTH),
        (lines(delimiter="\t").encode(), Dialect(delimiter="tab"), TRUTH),
        (lines(comma=True).encode(), Dialect(decimal=","), TRUTH),
        (lines(delimiter=";", comma=True).replace("-3,25", "-3,250").encode(), Dialect(decimal=","), TRUTH),
        (lines().encode("utf-16-le"), Dialect(encoding="utf-16-le"), TRUTH),
    ]
    for content, dialect, truth in cases:
        with subtests.test(dialect=dialect):
            (tmp_path / "a.csv").write_bytes(content)
            assert cells(tmp_path / "a.csv", dialect) == truth


FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "objects": lambda frame: frame,
    "nullable types": lambda frame: frame.assign(
        flag=frame["flag"].astype("boolean"), income=frame["income"].astype("Float64")
    ),
    "decimals": lambda frame: frame.assign(
        income=[None if x is None else decimal.Decimal(str(x)) for x in frame["income"].tolist()]
    ),
    "categories": lambda frame: frame.assign(
        place=frame["place"].astype("category"), flag=frame["flag"].astype("boolean").astype("category")
    ),
    "whole flags": lambda frame: frame.assign(flag=frame["flag"].astype("boolean").astype("Int64")),
    "float flags": lambda frame: frame.assign(flag=frame["flag"].astype("boolean").astype("Int64").astype("float64")),
    "texts": lambda frame: frame.assign(
        income=frame["income"].map(lambda x: None if x is None else str(x)).astype("str")
    ),
}


def test_tables_are_read_alike(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for name, change in FRAMES.items():
        table = pa.Table.from_pandas(change(pd.DataFrame(RECORDS, dtype=object)))
        for file, write in {
            "a.parquet": lambda path, table=table: pq.write_table(table, path),
            "a.feather": lambda path, table=table: feather.write_feather(table, path),
            "a.arrow": lambda path, table=table: stream(table, path),
        }.items():
            with subtests.test(name=name, file=file):
                write(str(tmp_path / file))
                assert cells(tmp_path / file) == TRUTH


def stream(table: pa.Table, path: str) -> None:
    with pa.ipc.new_stream(path, table.schema) as out:
        out.write_table(table)


def test_json_lines_are_read_alike(tmp_path: Path, subtests: pytest.Subtests) -> None:
    rows = [json.dumps(record, ensure_ascii=False, default=str) for record in RECORDS]
    for file, content in {
        "a.jsonl": "\n".join(rows).encode(),
        "mark.jsonl": ("\n".join(rows) + "\n").encode("utf-8-sig"),
        "empty lines.jsonl": ("\n\n".join(rows) + "\n \n").encode(),
        "windows.jsonl": "\r\n".join(rows).encode(),
        "a.jsonl.gz": gzip.compress("\n".join(rows).encode()),
    }.items():
        with subtests.test(file=file):
            (tmp_path / file).write_bytes(content)
            assert cells(tmp_path / file) == TRUTH


def test_workbooks_are_read_alike(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["income", "note", "place", "flag", "since"])
    for record in RECORDS:
        place = record["place"]
        sheet.append(
            [record["income"], "ab", int(place) if place in ("1", "2") else place, record["flag"], record["since"]]
        )
    book.save(tmp_path / "a.xlsx")
    assert cells(tmp_path / "a.xlsx") == TRUTH
    sheet.title = "answers"
    book.create_sheet("notes").append(["x"])
    book.save(tmp_path / "a.xlsx")
    assert cells(tmp_path / "a.xlsx", Dialect(sheet="answers")) == TRUTH
    with pytest.raises(InvalidRecord, match="has 2 sheets; choose one with --sheet"):
        cells(tmp_path / "a.xlsx")


def test_survey_files_are_read_by_their_value_labels(tmp_path: Path, subtests: pytest.Subtests) -> None:
    codes = {"café": 1.0, "Łódź": 2.0, "1": 3.0, "2": 4.0}
    frame = pd.DataFrame(
        {
            "income": [record["income"] for record in RECORDS],
            "place": [codes.get(str(record["place"])) for record in RECORDS],
            "flag": [None if record["flag"] is None else float(record["flag"]) for record in RECORDS],
        },
        dtype="float64",
    ).assign(since=[record["since"] for record in RECORDS])
    labels = {"place": {code: name for name, code in codes.items()}, "flag": {0.0: "No", 1.0: "Yes"}}
    for file, write in {"a.sav": pyreadstat.write_sav, "a.dta": pyreadstat.write_dta}.items():
        with subtests.test(file=file):
            write(frame, str(tmp_path / file), variable_value_labels=labels)
            assert cells(tmp_path / file) == TRUTH
            assert cells(tmp_path / file, size=2) == TRUTH


REFUSED: dict[str, tuple[bytes, str]] = {
    "ambiguous commas": (lines(delimiter=";").replace("12.5", "1,234").replace("-3.25", "3").encode(), "say --decimal"),
    "decimal commas among commas": (lines(comma=True).encode(), "with the decimal mark of --decimal"),
    "thousands": (lines(comma=True).replace('"12,5"', '"1,234.5"').encode(), "without a thousands separator"),
    "latin-1": (lines(NARROW).encode("latin-1"), "say --encoding"),
    "unknown delimiter": (lines(delimiter=":").encode(), "say --delimiter"),
    "a word for a number": (lines().replace("12.5", "much").encode(), "record 1 does not"),
    "a date for a number": (lines().replace("12.5", "2026-01-01").encode(), "record 1 does not"),
    "a row too short": (lines().replace("12.5,", "").encode(), "has 4 fields where the header has 5"),
    "a damaged archive": (b"\x1f\x8b" + lines().encode(), "cannot be read"),
    "no date": (
        lines().replace("2026-01-31", "31.01.2026").encode(),
        "must hold dates such as 2026-01-31; record 1 does not",
    ),
    "an unknown category": (
        lines().replace("café", "thé").encode(),
        "is not one of the scheme's categories at record 1",
    ),
    "an unknown flag": (lines(flags=("nay", "yea")).encode(), "is not one of the scheme's categories at record 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_line_that_names_the_remedy(tmp_path: Path, name: str) -> None:
    content, expected = REFUSED[name]
    path = tmp_path / ("a.csv.gz" if "archive" in name else "a.csv")
    path.write_bytes(content)
    with pytest.raises(InvalidRecord, match=expected) as refused:
        cells(path)
    assert "\n" not in str(refused.value)
    assert "much" not in str(refused.value)


def test_a_dialect_that_is_none(subtests: pytest.Subtests) -> None:
    for said, words in [
        ({"delimiter": ";;"}, "one character"),
        ({"decimal": "'"}, "'.' or ','"),
        ({"encoding": "x"}, "unknown"),
    ]:
        with subtests.test(said=said), pytest.raises(InvalidRecord, match=words):
            Dialect(**said)


def test_a_time_is_of_the_day_that_its_own_zone_writes(tmp_path: Path) -> None:
    scheme = Scheme.from_toml(
        'name = "s"\n[attributes.since]\ntype = "date"\nepsilon = 1\nlower = 2026-01-25\nupper = 2026-02-05\nstep = "1 day"\n'
    )
    moments = pd.to_datetime(["2026-01-31 01:00"]).tz_localize("Asia/Tokyo")  # the 30th in Greenwich
    pq.write_table(pa.table({"since": pa.Array.from_pandas(moments)}), tmp_path / "a.parquet")
    (block,) = read_blocks(tmp_path / "a.parquet", scheme, 1)
    assert scheme.encode(block)["since"].tolist() == scheme.encode({"since": ["2026-01-31"]})["since"].tolist()


def test_columns_of_dates_are_no_numbers_in_any_format(tmp_path: Path) -> None:
    frame = pd.DataFrame(RECORDS, dtype=object).assign(income=[datetime.date(2026, 1, 1)] * 5)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    with pytest.raises(InvalidRecord, match="must hold numbers"):
        cells(tmp_path / "a.parquet")


def cells(path: Path, dialect: Dialect = PLAIN, size: int = 1 << 16) -> dict[str, list[int]]:
    """The input cells of every attribute of a file's records."""
    found: dict[str, list[int]] = {name: [] for name in SCHEME.attributes}
    for block in read_blocks(path, SCHEME, size, dialect=dialect):
        for name, each in SCHEME.encode(block).items():
            found[name] += each.tolist()
    return found


INSTANT = Scheme.from_toml(
    'name = "s"\n[attributes.at]\ntype = "datetime"\nlower = 2026-01-01T00:00:00Z\nupper = 2026-12-31T00:00:00Z\nepsilon = 1\n'
    'missing = "category"\n'
)


WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    ".csv": lambda frame, path: frame.to_csv(path),
    ".parquet": lambda frame, path: frame.to_parquet(path),
    ".arrow": lambda frame, path: frame.to_feather(path),
    ".jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    ".xlsx": lambda frame, path: frame.to_excel(path),
}


@pytest.mark.parametrize("ending", WRITERS)
def test_times_are_instants_by_their_zone_or_by_the_one_of_the_file(tmp_path: Path, ending: str) -> None:
    """Of a file's own type of times, and of texts: 13:30 in Paris in winter, and in summer."""
    naive = [datetime.datetime(2026, 1, 31, 13, 30), None, datetime.datetime(2026, 7, 31, 13, 30, 0, 250_000)]
    expected = INSTANT.encode({"at": ["2026-01-31T12:30Z", None, "2026-07-31T11:30:00.25Z"]})["at"].tolist()
    path, paris = tmp_path / f"a{ending}", ZoneInfo("Europe/Paris")
    for times, dialect in (
        (naive, Dialect(zone="Europe/Paris")),
        ([time and time.replace(tzinfo=paris) for time in naive], PLAIN),
    ):
        if ending == ".xlsx" and times[0].tzinfo:
            continue  # Excel's times have no zone
        column = times if ending in (".parquet", ".arrow", ".xlsx") else [time and time.isoformat() for time in times]
        WRITERS[ending](pd.DataFrame({"at": column, "n": range(3)}), path)
        read = pd.concat(block.to_pandas() for block in read_blocks(path, INSTANT, dialect=dialect))
        assert INSTANT.encode(read)["at"].tolist() == expected
        if dialect != PLAIN:
            with pytest.raises(
                InvalidRecord, match=r"times with their zone such as .*; record 1 .*; write the zone, or say --zone"
            ):
                list(read_blocks(path, INSTANT))
