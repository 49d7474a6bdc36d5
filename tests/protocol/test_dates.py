"""Dates are numbers of days: read from every type that holds a date, shown as dates wherever a place on the axis is shown."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpcore.errors import InvalidRecord, SchemeError
from dpcore.protocol.domain import dates
from dpcore.protocol.scheme import Scheme
from dpcore.results.text.phrases import read

TEXT = 'name = "s"\n[attributes.day]\ntype = "date"\nepsilon = 1\nlower = 2026-01-01\nupper = 2026-01-31\n'
AT = 'name = "s"\n[attributes.at]\ntype = "datetime"\nepsilon = 1\nlower = 2026-01-01T00:00:00Z\nupper = 2026-01-02T00:00:00Z\n'
HOURS = AT + 'step = "1 hour"\n'
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
INSTANTS: dict[str, Any] = {
    "texts": ["2026-01-01T12:00Z", " 2026-01-01 13:30:00.000+0130"],
    "times of zones": [NOON, NOON.astimezone(datetime.timezone(datetime.timedelta(hours=-11)))],
    "pandas": pd.Series(pd.to_datetime([NOON, NOON])).dt.tz_convert("Asia/Tokyo"),
    "Arrow": pa.array([NOON, NOON], pa.timestamp("ns", "America/Lima")),
    "days": [20454.5, 20454.5],
}
STEPS = TEXT + 'step = "1 day"\n'
DAY = datetime.date(2026, 1, 20)
ZONE = datetime.timezone(datetime.timedelta(hours=-11))
HELD: dict[str, Any] = {
    "texts": ["2026-01-20", "2026-01-20T23:59:59Z"],
    "dates": [DAY, DAY],
    "times of a zone": [datetime.datetime(2026, 1, 20, 23, 59, tzinfo=ZONE)] * 2,
    "pandas": pd.Series(pd.to_datetime(["2026-01-20 00:00", "2026-01-20 12:00"])),
    "pandas with a zone": pd.Series(pd.to_datetime(["2026-01-20 00:00", "2026-01-20 23:00"])).dt.tz_localize(
        "Asia/Tokyo"
    ),
    "numpy": np.array(["2026-01-20", "2026-01-20T12"], dtype="datetime64[h]"),
    "Arrow dates": pa.array([DAY, DAY]),
    "Arrow times": pa.array([datetime.datetime(2026, 1, 20, 12)] * 2),
    "Arrow times of a zone": pa.array(
        [datetime.datetime(2026, 1, 19, 12)] * 2, pa.timestamp("us", "Pacific/Kiritimati")
    ),
    "days": [20473, 20473.0],
}


def test_every_type_that_holds_a_date_is_read_alike(subtests: pytest.Subtests) -> None:
    scheme = Scheme.from_toml(STEPS)
    for name, column in HELD.items():
        with subtests.test(name=name):
            assert scheme.encode({"day": column})["day"].tolist() == [int(scheme.attributes["day"].cells[19])] * 2


def test_what_is_no_date_is_refused(subtests: pytest.Subtests) -> None:
    scheme = Scheme.from_toml(TEXT)
    for value in ["20.01.2026", "2026-02-30", "20473", "2026-01-20T", True, b"2026-01-20"]:
        with subtests.test(value=value), pytest.raises(InvalidRecord, match="must hold dates such as 2026-01-31"):
            scheme.encode({"day": [value]})
    with pytest.raises(InvalidRecord, match=r"no value at record 2 .*a date from 2026-01-01 to 2026-01-31"):
        scheme.encode({"day": ["2026-01-01", None]})


def test_every_type_that_holds_an_instant_is_read_alike(subtests: pytest.Subtests) -> None:
    scheme = Scheme.from_toml(HOURS)
    for name, column in INSTANTS.items():
        with subtests.test(name=name):
            assert scheme.encode({"at": column})["at"].tolist() == [int(scheme.attributes["at"].cells[12])] * 2


def test_a_time_without_its_zone_is_refused(subtests: pytest.Subtests) -> None:
    scheme = Scheme.from_toml(AT)
    naive = NOON.replace(tzinfo=None)
    for value in [
        "2026-01-01T12:00",
        "2026-01-01",
        "2026-01-01T24:00Z",
        naive,
        np.datetime64(naive),
        NOON.date(),
        True,
    ]:
        with subtests.test(value=value), pytest.raises(InvalidRecord, match="must hold times with their zone such as"):
            scheme.encode({"at": [value]})
    with pytest.raises(InvalidRecord, match="a time from 2026-01-01 00:00 to 2026-01-02 00:00 UTC"):
        scheme.encode({"at": [None]})


def test_the_canonical_text_of_instants_is_exact() -> None:
    text = AT.replace("01T00:00:00Z", "01T08:20:00+02:00") + 'functionals = ["cdf(2026-01-01T12:00:00Z)"]\n'
    scheme = Scheme.from_toml(text)
    attribute = scheme.attributes["at"]
    assert (attribute.unit, attribute.lower) == (dates.INSTANTS, 20454 + Fraction(380, 24 * 60))
    assert attribute.functionals == ("cdf(20454.5)",)
    assert Scheme.from_toml(scheme.canonical).digest == scheme.digest
    assert len(Scheme.from_toml(HOURS).attributes["at"].points or ()) == 25


def test_instants_read_with_their_time() -> None:
    row = {"functional": "quantile(0.5)", "estimate": 20454.5, "low": 20454.25, "high": 20454.75, "attribute": "at"}
    assert read(row, dates.INSTANTS).value == "2026-01-01 12:00 UTC"
    assert read(row | {"functional": "variance"}, dates.INSTANTS).unit == "days²"
    assert read({"functional": "frequency(245455/12)", "estimate": 0.5}, dates.INSTANTS).text == "2026-01-01 14:00 UTC"


def test_a_scheme_says_dates_and_its_canonical_text_days() -> None:
    scheme = Scheme.from_toml(TEXT + 'functionals = ["mean", "cdf(2026-01-15)"]\n')
    attribute = scheme.attributes["day"]
    assert (attribute.type, attribute.unit) == ("numeric", dates.DAYS)
    assert (attribute.lower, attribute.upper, attribute.functionals) == (20454, 20484, ("mean", "cdf(20468)"))
    assert Scheme.from_toml(scheme.canonical).digest == scheme.digest
    assert len(Scheme.from_toml(STEPS).attributes["day"].points or ()) == 31


WRONG = {
    TEXT.replace("2026-01-01", "20454"): "attributes.day.lower must be a date, such as 2026-01-31, got '20454'",
    TEXT.replace("2026-01-01", '""'): "attributes.day.lower must be a date, such as 2026-01-31, got ''",
    AT.replace("2026-01-01T00:00:00Z", '"2026-W01-4T00:00Z"'): "attributes.at.lower must be a time with its zone",
    TEXT.replace("2026-01-01", "2026-01-01T00:00:00Z"): "attributes.day.lower must be a date",
    TEXT + "step = 7\n": 'step must be a number of days, such as "1 day" or "7 days"',
    TEXT + 'step = "0 days"\n': "step must be a number of days",
    AT.replace("2026-01-01T00:00:00Z", "2026-01-01T00:00:00"): "attributes.at.lower must be a time with its zone",
    AT + 'step = "1 week"\n': 'step must be a number of days, hours or minutes, such as "15 minutes"',
    AT + 'functionals = ["cdf(2026-01-01T12:00)"]\n': "functionals must contain times with their zone",
    TEXT + 'unit = "d"\n': 'attributes.day.unit is not a key of type = "date"; remove it',
}


def test_what_a_date_cannot_say(subtests: pytest.Subtests) -> None:
    for text, message in WRONG.items():
        with subtests.test(message=message), pytest.raises(SchemeError, match=message):
            Scheme.from_toml(text)


def test_places_read_as_dates_and_lengths_as_days() -> None:
    row = {"functional": "mean", "estimate": 20468.7, "low": 20467.0, "high": 20470.2, "attribute": "day"}
    assert (read(row, dates.DAYS).value, read(row, dates.DAYS).interval) == ("2026-01-15", "2026-01-14 to 2026-01-17")
    assert read(row | {"functional": "quantile(0.5)"}, dates.DAYS).value == "2026-01-15"
    assert read(row | {"functional": "variance", "estimate": 9.0, "low": 8.0, "high": 10.0}, dates.DAYS).unit == "days²"
    share = {"functional": "cdf(20468)", "estimate": 0.5, "low": 0.4, "high": 0.6}
    assert (read(share, dates.DAYS).text, read(share, dates.DAYS).unit) == ("share at or below 2026-01-15", "%")
    moved = {"functional": "mean", "difference": 2.0, "low": 1.0, "high": 3.0, "differs": True}
    assert read(moved, dates.DAYS).value == "+2.0 days"


@pytest.mark.parametrize("days", [0, -1, 20468, 20468.99, -719162, 2932896])
def test_the_text_of_a_day_is_read_as_that_day(days: float) -> None:
    assert dates.day_number(dates.date_text(days)) == np.floor(days)
