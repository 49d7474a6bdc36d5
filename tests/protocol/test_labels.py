"""Labels: seen in clear, counted by cell, and no attribute's answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.functionals import group
from dpcore.protocol.domain import label
from dpcore.protocol.label_sums import members
from dpcore.protocol.report import Answers, ReportBatch
from dpcore.protocol.revision import revise
from dpcore.wire import read_aggregate, read_report, read_reports, write_aggregate, write_report, write_reports

ASKED = """name = "s"
pairs = [["income", "urban"]]
[attributes.income]
type = "numeric"
lower = 0
upper = 100
epsilon = 1
[attributes.urban]
type = "categorical"
categories = ["u", "r"]
epsilon = 1
[attributes.savings]
type = "numeric"
mechanism = "wavelet_laplace"
lower = 0
upper = 100
epsilon = 1
[attributes.pet]
type = "categorical"
mechanism = "unary_encoding"
categories = ["cat", "dog", "none"]
epsilon = 1
[attributes.colour]
type = "categorical"
mechanism = "hadamard_response"
categories = ["red", "green", "blue"]
epsilon = 1
"""
LABELS = """[labels.region]
categories = ["north", "south", "west"]
column = "Region"
[labels.sex]
categories = ["f", "m"]
"""
N = 3_000


@pytest.fixture(scope="module")
def scheme() -> dp.Scheme:
    return dp.Scheme.from_toml(ASKED + LABELS)


@pytest.fixture(scope="module")
def records() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    return {
        "income": random.random(N) * 100,
        "urban": random.choice(["u", "r"], N),
        "savings": random.random(N) * 100,
        "pet": random.choice(["cat", "dog", "none"], N),
        "colour": random.choice(["red", "green", "blue"], N),
        "Region": random.choice(["north", "south", "west"], N, p=[0.1, 0.4, 0.5]),
        "sex": random.choice(["f", "m"], N),
    }


@pytest.fixture(scope="module")
def batch(scheme: dp.Scheme, records: dict[str, np.ndarray]) -> ReportBatch:
    return dp.privatize(scheme, records, random=dp.seeded(3))


def part(batch: ReportBatch, clients: np.ndarray, scheme: dp.Scheme) -> ReportBatch:
    """Some clients' reports, found the slow way."""
    answers = {
        name: Answers(np.arange(len(clients)), batch.of(name).reports.take(clients, attribute.mechanism.sizes))
        for name, attribute in scheme.reported.items()
    }
    return ReportBatch(batch.digest, len(clients), answers)


def test_a_scheme_with_labels_reads_back_and_without_them_is_as_it_was(scheme: dp.Scheme) -> None:
    assert dp.Scheme.from_toml(scheme.canonical).digest == scheme.digest
    assert scheme.epsilon == dp.Scheme.from_toml(ASKED).epsilon
    assert "labels" not in dp.Scheme.from_toml(ASKED).canonical


def test_answers_are_those_of_the_scheme_without_labels(
    scheme: dp.Scheme, batch: ReportBatch, records: dict[str, np.ndarray]
) -> None:
    plain = dp.Scheme.from_toml(ASKED)
    without = dp.aggregate(plain, dp.privatize(plain, records, random=dp.seeded(3)))
    whole = dp.aggregate(scheme, batch)
    for name in plain.attributes:
        assert np.array_equal(whole.statistics[name], without.statistics[name])
    assert np.array_equal(whole.pairs["income", "urban"], without.pairs["income", "urban"])


def test_tables_by_label_are_those_of_the_labels_reports_alone(
    scheme: dp.Scheme, batch: ReportBatch, records: dict[str, np.ndarray]
) -> None:
    whole = dp.aggregate(scheme, batch)
    for name, column in (("region", "Region"), ("sex", "sex")):
        for category in scheme.labels[name].categories:
            clients = np.flatnonzero(records[column] == category)
            alone = dp.aggregate(scheme, part(batch, clients, scheme))
            held = whole.within(members(scheme, name, category))
            assert held.n == alone.n == len(clients)
            assert all(np.array_equal(held.statistics[one], alone.statistics[one]) for one in scheme.attributes)
            assert np.array_equal(held.pairs["income", "urban"], alone.pairs["income", "urban"])
            assert held.answered == alone.answered
    assert whole.labelled is not None
    assert whole.labelled.n.sum() == whole.n


def test_any_split_merges_to_the_same_bits(scheme: dp.Scheme, batch: ReportBatch) -> None:
    whole = dp.aggregate(scheme, batch)
    halves = [dp.aggregate(scheme, part(batch, clients, scheme)) for clients in np.array_split(np.arange(N), 3)]
    merged = halves[2].merge(halves[0]).merge(halves[1])
    assert merged.equals(whole)
    assert merged.fingerprint == whole.fingerprint
    assert not halves[0].equals(halves[1])


def test_files_and_messages_keep_labels(scheme: dp.Scheme, batch: ReportBatch, tmp_path: Path) -> None:
    whole = dp.aggregate(scheme, batch)
    write_aggregate(tmp_path / "aggregate.parquet", whole)
    assert read_aggregate(tmp_path / "aggregate.parquet", scheme).equals(whole)
    write_reports(tmp_path / "reports.parquet", scheme, batch)
    assert dp.aggregate(scheme, read_reports(tmp_path / "reports.parquet", scheme)).equals(whole)
    record = {"income": 3, "urban": "u", "savings": 4, "pet": "cat", "colour": "red", "Region": "west", "sex": "f"}
    report = dp.Client(scheme, dp.secure()).report(record)
    assert report.answers["region"] == (0, (2,))
    assert read_report(write_report(report, scheme), scheme).answers == report.answers


def test_of_one_unit_a_report_has_all_labels() -> None:
    scheme = dp.Scheme.from_toml(ASKED.replace('name = "s"', 'name = "s"\nreporting = "one"') + LABELS)
    record = {"income": 3, "urban": "u", "savings": 4, "pet": "cat", "colour": "red", "Region": "west", "sex": "f"}
    client = dp.Client(scheme, dp.secure())
    reports = [client.report(record) for _ in range(40)]
    assert {frozenset(report.answers) for report in reports} >= {frozenset({"savings", "region", "sex"})}
    assert all({"region", "sex"} < set(report.answers) for report in reports)
    assert all(read_report(write_report(report, scheme), scheme).answers == report.answers for report in reports)
    drawn = dp.aggregate(
        scheme, dp.privatize(scheme, {name: [value] * 90 for name, value in record.items()}, dp.seeded(1))
    )
    assert drawn.labelled is not None
    assert drawn.labelled.answered["pet"].sum() == drawn.answered["pet"] < 90


def test_a_simulated_aggregate_has_the_law_of_counted_reports(
    scheme: dp.Scheme, records: dict[str, np.ndarray]
) -> None:
    drawn = dp.simulate(scheme, records, random=dp.seeded(3))
    counted = dp.aggregate(scheme, dp.privatize(scheme, records, random=dp.seeded(4)))
    assert drawn.labelled is not None
    assert counted.labelled is not None
    assert np.array_equal(drawn.labelled.n, counted.labelled.n)
    for name in scheme.attributes:
        assert np.array_equal(drawn.labelled.statistics[name].sum(axis=0), drawn.statistics[name])
    assert np.array_equal(drawn.labelled.pairs["income", "urban"].sum(axis=0), drawn.pairs["income", "urban"])


def test_what_has_no_label_or_none_of_its_categories_is_refused(scheme: dp.Scheme, batch: ReportBatch) -> None:
    bare = ReportBatch(batch.digest, N, {name: batch.of(name) for name in scheme.attributes})
    assert dp.aggregate(scheme, bare).rejected == {"incomplete": N}
    odd = batch.of("region").reports.values.copy()
    odd[:7] = 3
    answers = {
        **batch.answers,
        "region": Answers(np.arange(N), type(batch.of("sex").reports)(np.zeros(N, np.uint8), odd)),
    }
    found = dp.aggregate(scheme, ReportBatch(batch.digest, N, answers))
    assert found.rejected == {"region: out of range": 7}
    record = {"income": [3], "urban": ["u"], "savings": [4], "pet": ["cat"], "colour": ["red"], "sex": ["f"]}
    for region in ({}, {"Region": ["east"]}, {"Region": [None]}):
        with pytest.raises(InvalidRecord, match="Region"):
            dp.privatize(scheme, {**record, **region}, random=dp.seeded(1))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('[labels.income]\ncategories = ["low", "high"]', "income is also an attribute"),
        ('[labels.where]\ncolumn = "urban"\ncategories = ["u", "r"]', "urban is also an attribute"),
        ('[labels.weighted]\ncategories = ["u", "r"]', "weighted is reserved"),
        ('[labels.where]\ncategories = ["u"]', "at least 2"),
        ('[labels.where]\ncategories = ["u", "r"]\nepsilon = 1', "unknown key 'epsilon'"),
        ('[labels.a]\ncategories = ["u", "u"]', "must differ"),
        (
            '[labels.arm]\ncategories = ["u", "r"]\ncontrol = "v"',
            "labels.arm: control must be one of the categories u, r; got 'v'",
        ),
        ('[labels.arm]\ncategories = ["u", "r"]\ncontrol = ""', "control must be one of the categories u, r; got ''"),
        ("[labels.Where]\ncategories = ['u', 'r']", "lower-case"),
        ("labels = 3", "labels"),
        (f"[labels.a]\ncategories = {[str(i) for i in range(5000)]}", "at most 4,096 combinations"),
        ('[labels.savings_level]\ncategories = ["u", "r"]', "savings_level"),
    ],
)
def test_a_table_that_is_no_label_is_refused(more: str, message: str) -> None:
    text = f"{more}\n{ASKED}" if more.startswith("labels =") else f"{ASKED}\n{more}"
    with pytest.raises(SchemeError, match=message):
        dp.Scheme.from_toml(text)


def test_a_control_arm_is_part_of_the_digest_and_without_one_the_text_is_as_before() -> None:
    arms = f'{ASKED}\n[labels.arm]\ncategories = ["old", "new"]\n'
    plain, experiment = dp.Scheme.from_toml(arms), dp.Scheme.from_toml(arms + 'control = "old"\n')
    assert "control" not in plain.canonical
    assert experiment.digest != plain.digest
    again = dp.Scheme.from_toml(experiment.canonical)
    assert again.canonical == experiment.canonical
    assert again.labels["arm"].control == "old"
    assert revise(plain, experiment).in_clear == ()


def test_one_name_is_kept_for_the_weighted_population() -> None:
    assert label.WEIGHTED == group.WEIGHTED
