"""Records with labels on their way out: columns, keys, ledgers and simulated people."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import dpcore as dp
from dpcore import wire
from dpcore.errors import InvalidRecord
from dpcore.populations import respondents_of
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.exchange.outgoing_reports import Keeping, send
from tests.protocol.test_labels import LABELS

TEXT = """name = "told"
[attributes.pet]
type = "categorical"
categories = ["cat", "dog", "none"]
epsilon = 1
[attributes.income]
type = "numeric"
lower = 0
upper = 100
epsilon = 1
"""
SCHEME = Scheme.from_toml(TEXT + LABELS)
PEOPLE = pd.DataFrame(
    {
        "badge": ["a", "b", "c", "d"],
        "pet": ["cat", "dog", "none", "cat"],
        "income": [1, 50, 99, 7],
        "Region": ["west", "north", "west", "south"],
        "sex": ["f", "m", "f", "m"],
        "unasked": 1,
    }
)


def _write(people: pd.DataFrame, file: Path) -> Path:
    if file.suffix == ".parquet":
        people.to_parquet(file)
    elif file.suffix == ".csv":
        people.to_csv(file, index=False)
    else:
        people.to_json(file, orient="records", lines=True)
    return file


def _sent(file: Path) -> list[dict[str, tuple[int, tuple[int, ...]]]]:
    return [dict(wire.read_report(line, SCHEME).answers) for line in file.read_bytes().splitlines()]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("keyed", [False, True])
def test_labels_are_read_from_every_kind_of_file(ending: str, keyed: bool, tmp_path: Path) -> None:
    keeping = Keeping(key=tmp_path / "key", person="badge", sends_token=True) if keyed else Keeping()
    send(SCHEME, _write(PEOPLE, tmp_path / f"people{ending}"), tmp_path / "sent.parquet", keeping=keeping)
    found = dp.aggregate(SCHEME, wire.read_reports(tmp_path / "sent.parquet", SCHEME))
    assert found.labelled is not None
    assert found.labelled.n.tolist() == [0, 1, 0, 1, 2, 0]  # (region, sex), sex the faster
    assert found.rejected == {}


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_a_label_that_is_not_there_is_one_clear_line(ending: str, keyed: bool, tmp_path: Path) -> None:
    records = _write(PEOPLE.drop(columns="Region"), tmp_path / f"people{ending}")
    keeping = Keeping(key=tmp_path / "key", person="badge") if keyed else Keeping()
    with pytest.raises(InvalidRecord, match="'Region'") as refused:
        send(SCHEME, records, tmp_path / "sent.parquet", keeping=keeping)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "sent.parquet").exists()
    with pytest.raises(InvalidRecord, match=r"column 'Region' \(label region\) is missing"):
        SCHEME.encode(PEOPLE.drop(columns="Region"))


def test_who_moves_answers_the_same_and_pays_nothing_and_the_label_follows(tmp_path: Path) -> None:
    one = PEOPLE[:1]
    keeping = Keeping(key=tmp_path / "key", sends_token=True, ledger=tmp_path / "spent", total=Budget.parse("2"))
    sent = []
    for number, region in enumerate(("west", "north")):
        records = _write(one.assign(Region=region), tmp_path / f"{number}.csv")
        spent = send(SCHEME, records, tmp_path / f"{number}.jsonl", keeping=keeping).spent
        assert spent is not None
        assert float(spent) == 2
        sent += _sent(tmp_path / f"{number}.jsonl")
    assert [report.pop("region") for report in sent] == [(0, (2,)), (0, (0,))]
    assert sent[0] == sent[1]


def test_a_scheme_with_more_than_its_people_know_has_default_respondents(root: Path) -> None:
    text = (root / "data/schemes/consumer_expenditure.toml").read_text("utf-8")
    assert "region" not in respondents_of(Scheme.from_toml(text)).attributes
    more = Scheme.from_toml(text + '[labels.region]\ncategories = ["n", "s"]\n')
    assert respondents_of(more).shares() == pytest.approx({"n": 2 / 3, "s": 1 / 3})
