"""What a file holds is counted as a round would read it, and no value of few records is shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpcore.cli import main
from dpcore.errors import InvalidRecord
from dpcore.populations import read_blocks
from dpcore.populations.inspection import inspect
from dpcore.protocol.scheme import Scheme

LAX = """
name = "lax"
[attributes.minutes]
type = "numeric"
lower = 0
upper = 10
epsilon = 1
missing = "category"
codes = { 99 = "missing" }
[attributes.age]
type = "categorical"
bins = [18, 65]
epsilon = 1
missing = "category"
[attributes.os]
type = "categorical"
categories = ["a", "b", "other"]
outside = "other"
missing = "category"
epsilon = 1
[attributes.paying]
type = "boolean"
missing = "category"
epsilon = 1
"""
STRICT = LAX.replace('outside = "other"\n', "").replace('missing = "category"\n', "").replace("codes = { 99", "#")
STRICT = STRICT.replace("upper = 10\n", 'upper = 10\noutside = "refuse"\n')


BOXES = """
name = "boxes"
[attributes.colours]
type = "set"
categories = ["red", "green", "blue"]
columns = ["R", "G", "B"]
at_most = 2
epsilon = 1
"""


def records(n: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "minutes": random.choice(["1", "2.5", "11", "-1", "99", "", "x"], n),
            "age": random.choice(["17", "18", "70", "NA"], n),
            "os": random.choice(["a", "b ", "c", "", "other"], n),
            "paying": random.choice(["yes", "FALSE", "1.0", "", "perhaps"], n),
        }
    )


def test_counts_are_those_of_a_count_by_hand(tmp_path: Path) -> None:
    frame = records()
    frame.to_csv(tmp_path / "a.csv", index=False)
    lax = {each.attribute: each for each in inspect(tmp_path / "a.csv", Scheme.from_toml(LAX))}
    counts = {name: frame[name].value_counts() for name in frame}
    of = counts["minutes"]
    assert (lax["minutes"].accepted, lax["minutes"].clipped) == (of["1"] + of["2.5"], of["11"] + of["-1"])
    assert (lax["minutes"].missing, lax["minutes"].refused) == (of["99"] + of[""], of["x"])
    assert (lax["age"].accepted, lax["age"].missing, lax["age"].refused) == (
        400 - counts["age"]["NA"],
        counts["age"]["NA"],
        0,
    )
    of = counts["os"]
    assert (lax["os"].accepted, lax["os"].other, lax["os"].missing) == (
        of["a"] + of["b "] + of["other"],
        of["c"],
        of[""],
    )
    assert (lax["paying"].refused, lax["paying"].reasons(1)) == (
        counts["paying"]["perhaps"],
        [f"{counts['paying']['perhaps']} with 'perhaps'"],
    )
    strict = {each.attribute: each for each in inspect(tmp_path / "a.csv", Scheme.from_toml(STRICT))}
    of = counts["minutes"]
    assert strict["minutes"].refused == of["11"] + of["-1"] + of["99"] + of[""] + of["x"]
    assert strict["os"].refused == counts["os"]["c"] + counts["os"][""]


@pytest.mark.parametrize("text", [LAX, STRICT])
def test_a_file_is_refused_exactly_if_a_value_is(tmp_path: Path, text: str) -> None:
    scheme = Scheme.from_toml(text)
    for seed, row in records(60).iterrows():
        path = tmp_path / f"{seed}.csv"
        row.to_frame().T.to_csv(path, index=False)
        is_refused = any(each.refused for each in inspect(path, scheme))
        try:
            for block in read_blocks(path, scheme):
                scheme.encode(block)
            assert not is_refused
        except InvalidRecord:
            assert is_refused


def test_no_value_of_few_records_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = records(100)
    frame.loc[3, "paying"] = "secret"
    (tmp_path / "lax.toml").write_text(LAX)
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(SystemExit) as ended:
        main(["check", str(tmp_path / "lax.toml"), str(tmp_path / "a.csv"), "--min-clients", "5"])
    assert ended.value.code == 1
    shown = capsys.readouterr().out
    assert "with 'perhaps', 1 with values of fewer than 5 records each" in shown
    assert "secret" not in shown


def test_a_file_that_is_accepted(tmp_path: Path) -> None:
    pa.parquet.write_table(
        pa.table({"minutes": [1.0, 2.0], "age": [3, 4], "os": ["a", "b"], "paying": [True, None]}),
        tmp_path / "a.parquet",
    )
    assert not any(each.refused for each in inspect(tmp_path / "a.parquet", Scheme.from_toml(LAX)))


@pytest.mark.parametrize(("missing", "accepted"), [("refuse", 1), ("none", 2)])
def test_sets_with_too_many_ticked_boxes_are_refused(tmp_path: Path, missing: str, accepted: int) -> None:
    (tmp_path / "a.csv").write_text("R,G,B\n1,1,0\nyes,yes,yes\n1,,1\n1,1,maybe\n")
    *boxes, whole = inspect(tmp_path / "a.csv", Scheme.from_toml(f'{BOXES}missing = "{missing}"\n'))
    assert (whole.attribute, whole.column, whole.accepted) == ("colours", "colours", accepted)
    assert whole.reasons(1) == ["1 with '3 options'"]
    assert [box.refused for box in boxes] == [0, int(missing == "refuse"), 1]


def test_a_column_of_two_joint_attributes_is_counted_once_for_each(tmp_path: Path) -> None:
    both = "type = 'categorical'\ncategories = [['x', 'y'], ['x', 'y']]\nepsilon = 1\n"
    text = f"name = 'pairs'\n[attributes.p]\nof = ['a', 'b']\n{both}[attributes.q]\nof = ['a', 'c']\n{both}"
    (tmp_path / "a.csv").write_text("a,b,c\nx,y,x\ny,y,z\n")
    counts = inspect(tmp_path / "a.csv", Scheme.from_toml(text))
    assert [(one.column, one.accepted, one.refused) for one in counts] == [
        ("a", 2, 0),
        ("b", 2, 0),
        ("a", 2, 0),
        ("c", 1, 1),
    ]
