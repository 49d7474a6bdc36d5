"""The draft of a scheme: names and types of columns, value labels, and no value of the file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

from dpcore.cli import main
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.populations.inspection import proposed_scheme
from dpcore.protocol.scheme import Scheme

FRAME = pd.DataFrame(
    {
        "Income (EUR)": ["98765,5", "12,25", ""],
        "2nd answer": ["secret a", "secret b", "secret a"],
        "paying": ["yes", "no", ""],
        "since": ["2026-01-31", "", "2025-12-01"],
        "since_": ["1", "7", "9"],
    }
)
TYPES = {
    "income_eur": ("numeric", "Income (EUR)"),
    "column_2nd_answer": ("categorical", "2nd answer"),
    "paying": ("boolean", None),
    "since": ("date", None),
    "since_2": ("numeric", "since_"),
}


def found(text: str) -> dict[str, tuple[str, str | None]]:
    return {name: (table["type"], table.get("column")) for name, table in tomllib.loads(text)["attributes"].items()}


def test_types_of_columns_are_found_and_no_value_is_shown(tmp_path: Path, subtests: pytest.Subtests) -> None:
    FRAME.to_csv(tmp_path / "a.csv", sep=";", index=False)
    rows = "\n".join(json.dumps(row) for row in FRAME.to_dict("records"))
    (tmp_path / "a.jsonl").write_text(rows)
    FRAME.to_excel(tmp_path / "a.xlsx", index=False)
    typed = FRAME.assign(
        since=pd.to_datetime(FRAME["since"]), paying=FRAME["paying"].map({"yes": True, "no": False}).astype("boolean")
    )
    typed["Income (EUR)"] = [98765.5, 12.25, None]
    typed["since_"] = [1, 7, 9]
    typed.to_parquet(tmp_path / "a.parquet")
    typed.to_feather(tmp_path / "a.feather")
    for file in ("a.csv", "a.jsonl", "a.xlsx", "a.parquet", "a.feather"):
        with subtests.test(file=file):
            text = proposed_scheme(tmp_path / file, "survey")
            assert found(text) == TYPES
            assert not any(value in text for value in ("98765", "secret", "12.25", "12,25", "2025"))


def test_value_labels_are_categories(tmp_path: Path) -> None:
    frame = pd.DataFrame({"home": [1.0, 2.0], "age": [30.0, 40.0]})
    labels: dict[str, dict[float | int | str, str]] = {"home": {1.0: "urban", 2.0: "rural", 3.0: "none"}}
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), variable_value_labels=labels)  # type: ignore[arg-type]
    document = tomllib.loads(proposed_scheme(tmp_path / "a.sav", "survey"))
    assert document["attributes"]["home"]["categories"] == ["urban", "rural", "none"]
    assert document["attributes"]["age"]["type"] == "numeric"


def test_a_draft_is_refused_until_it_is_filled_in(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "a.csv", sep=";", index=False)
    text = proposed_scheme(tmp_path / "a.csv", "survey")
    with pytest.raises(SchemeError, match=r"income_eur.lower must be a number.*got '\?'"):
        Scheme.from_toml(text)
    filled = text.replace('lower = "?"', "lower = 0").replace('upper = "?"', "upper = 1")
    filled = filled.replace('["?"]', '["a", "b"]')
    since = filled.index("[attributes.since]")
    filled = filled[:since] + filled[since:].replace("= 0", "= 2020-01-01", 1).replace("= 1", "= 2026-12-31", 1)
    assert list(Scheme.from_toml(filled).attributes) == list(TYPES)


def test_a_project_begins_with_a_draft(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FRAME.to_csv(tmp_path / "a.csv", sep=";", index=False)
    with pytest.raises(SystemExit, match="0"):
        main(["init", str(tmp_path / "own"), "--from", str(tmp_path / "a.csv")])
    assert "replace each" in capsys.readouterr().out
    assert found((tmp_path / "own/schemes/survey.toml").read_text("utf-8")) == TYPES


def test_what_is_no_file_of_records_makes_no_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("")
    for file in ("a.csv", "none.csv", "a.toml"):
        with pytest.raises(InvalidRecord):
            proposed_scheme(tmp_path / file, "survey")
        with pytest.raises(SystemExit, match="1"):
            main(["init", str(tmp_path / "own"), "--from", str(tmp_path / file)])
    assert capsys.readouterr().err.count("\n") == 3
    assert not (tmp_path / "own").exists()
