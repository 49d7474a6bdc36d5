"""What lands of what a round's publication tells, and why it may not."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline
from dpcore.audit.publication import central_guarantee
from dpcore.privacy.shuffling.central_epsilon import CONDITION, CONDITION_OF_PAGE, Publication
from dpcore.protocol.aggregates import Aggregate
from dpcore.results.tables.spending import TokenCharges
from dpcore.results.warehouse import open_for_reading
from dpcore.rounds import publication

SCHEME = """name = "told"
clients = 1000
[attributes.a]
type = "categorical"
categories = ["x", "y", "z"]
epsilon = 2
mechanism = "randomized_response"
"""
NOBODY = TokenCharges(known_charges=0, known_clients=0, most_charges=0)


@pytest.fixture(scope="module")
def scheme():
    return dp.Scheme.from_toml(SCHEME)


def aggregate(scheme, many):
    return dp.aggregate(scheme, dp.privatize(scheme, {"a": ["x"] * many}, random=dp.seeded(1)))


def told(scheme, many, batches=(), known=NOBODY, others=NOBODY, before=(), keep_reports=False, monkeypatch=None):
    monkeypatch.setattr(publication.warehouse, "accepted_before", lambda *_: list(before))
    plan = SimpleNamespace(min_clients=0, warehouse="", round="r", run_id="i", keep_reports=keep_reports)
    run = SimpleNamespace(plan=plan, scheme=scheme)
    estimates = pipeline.estimate_all(aggregate(scheme, many), 0)
    cells = publication.alike(estimates)
    parts = publication.gathered([aggregate(scheme, batch) for batch in batches or (many,)], cells)
    return publication.revealed(run, estimates.aggregate, parts, cells, {"a": known, "b": others})


def test_a_round_tells_what_its_crowd_leaves(scheme, monkeypatch):
    found = told(scheme, 1000, monkeypatch=monkeypatch)
    assert found.whole == central_guarantee(scheme, 1000, attacked=True).whole
    tables = {"budgets": pd.DataFrame({"attribute": ["a"]}), "schemes": pd.DataFrame({"epsilon": [2.0]})}
    landed = publication.with_central_epsilon(tables, found)
    assert 0 < landed["budgets"]["published_epsilon"][0] < 2
    assert 1 <= landed["budgets"]["published_epsilon"][0] / landed["budgets"]["published_least"][0] <= 1.02
    assert landed["schemes"]["unpublished"][0] == ""
    assert landed["schemes"]["published_crowd"][0] == 1000


def test_a_batch_is_a_crowd_of_its_own(scheme, monkeypatch):
    found = told(scheme, 1000, batches=(30, 40, 900, 30), monkeypatch=monkeypatch)
    assert found.reports == 70


@pytest.mark.parametrize(
    ("circumstance", "reason"),
    [
        ({"known": TokenCharges(known_charges=9, known_clients=9, most_charges=1)}, "tokens"),
        ({"others": TokenCharges(known_charges=1, known_clients=1, most_charges=1)}, "tokens"),
        ({"keep_reports": True}, "files of reports are kept"),
        ({"before": (990,)}, "the order in which reports came"),
        ({"before": (1000, 1010)}, "the order in which reports came"),
        ({"many": 40}, "40 reports"),
    ],
)
def test_it_is_refused_and_the_reason_lands(scheme, monkeypatch, circumstance, reason):
    found = told(scheme, **{"many": 1000, "monkeypatch": monkeypatch, **circumstance})
    assert found.whole is None
    tables = {"budgets": pd.DataFrame({"attribute": ["a"]}), "schemes": pd.DataFrame({"epsilon": [2.0]})}
    landed = publication.with_central_epsilon(tables, found)
    assert reason in landed["schemes"]["unpublished"][0]
    assert landed["budgets"][["published_epsilon", "published_delta", "published_least"]].isna().all(axis=None)


def test_the_same_reports_landed_again_are_no_order(scheme, monkeypatch):
    assert told(scheme, 1000, before=(1000,), monkeypatch=monkeypatch).whole is not None


def test_remembered_answers_without_tokens_are_named_by_the_condition_alone(scheme, monkeypatch, fresh):
    """Nothing in such reports tells a round, so that whoever reads the figure is told."""
    secret, random = b"0123456789abcdef", dp.seeded(2)
    client = dp.Client(scheme, random, secret=secret)
    first, again = (replace(client.report({"a": "x"}), token=None) for _ in range(2))
    assert first.answers == again.answers
    assert first.id != again.id
    assert told(scheme, 1000, monkeypatch=monkeypatch).whole is not None
    assert "not memoized" in CONDITION
    assert "fresh noise" in CONDITION_OF_PAGE
    assert Publication(memoized=True).refusals
    with open_for_reading(fresh) as connection:
        ((comment,),) = connection.execute(
            "select comment from duckdb_columns() where table_name = 'budgets' and column_name = 'published_epsilon'"
        ).fetchall()
    assert "memoized answers without tokens" in comment


LABELS = {"sex": ["f", "m"], "area": ["1", "2", "3", "4", "5", "6"]}


def labelled(counts, fewest, monkeypatch, extra="", batches=1):
    """Reports of a round with as many clients of each (sex, area) as counts say, (2, 6)."""
    text = "".join(f"[labels.{name}]\ncategories = {json.dumps(values)}\n" for name, values in LABELS.items())
    grouped = dp.Scheme.from_toml(SCHEME + text + extra)
    cells = np.repeat(np.arange(12), np.ravel(counts))
    sex, area = np.array(LABELS["sex"])[cells // 6], np.array(LABELS["area"])[cells % 6]
    records = {"a": np.tile(["x", "y"], len(cells))[: len(cells)], "sex": sex, "area": area}
    parts = [
        dp.aggregate(grouped, dp.privatize(grouped, {k: v[turn::batches] for k, v in records.items()}, dp.seeded(turn)))
        for turn in range(batches)
    ]
    estimates = pipeline.estimate_all(reduce(Aggregate.merge, parts), fewest)
    sets = publication.alike(estimates)
    together = publication.gathered(parts, sets)
    monkeypatch.setattr(publication.warehouse, "accepted_before", lambda *_: [])
    plan = SimpleNamespace(min_clients=fewest, warehouse="", round="r", run_id="i", keep_reports=False)
    run = SimpleNamespace(plan=plan, scheme=grouped)
    return publication.revealed(run, estimates.aggregate, together, sets, {"a": NOBODY}), together


@pytest.mark.parametrize(
    ("counts", "fewest", "extra", "reports"),
    [
        ([[10] * 6, [500] * 6], 50, "", 10),  # ten women of an area are counted with 50 others and with 500 men
        ([[500, 60, 0, 0, 0, 0], [0, 1000, 0, 0, 0, 0]], 50, "", 60),  # women less area 1
        ([[940, 0, 0, 0, 0, 0], [60, 0, 0, 0, 0, 0]], 0, "", 60),
        ([[940, 0, 0, 0, 0, 0], [60, 0, 0, 0, 0, 0]], 100, "", 1000),  # men are hidden, and so are women
        ([[10] * 6, [20] * 6], 200, "", 180),  # nothing by label is shown
        ([[80] * 6, [90] * 6], 500, "", 1020),
        ([[80] * 6, [90] * 6], 500, '[regressions.r]\nformula = "a ~ sex"\n', 1020),
        ([[80] * 6, [90] * 6], 400, '[regressions.r]\nformula = "a ~ sex"\n', 480),
    ],
)
def test_a_respondent_hides_among_those_alike_in_everything_published(monkeypatch, counts, fewest, extra, reports):
    assert labelled(counts, fewest, monkeypatch, extra)[0].reports == reports


def test_the_cells_of_a_regression_and_weights_distinguish_respondents():
    """By label, nothing is shown here."""
    scheme = SimpleNamespace(labels={name: SimpleNamespace(categories=own) for name, own in LABELS.items()})
    places, values = np.arange(12) // 6 * 2 + np.arange(12) % 2, np.repeat([1.0, 2.0, 1.0], 4)
    shown = {"aggregate": SimpleNamespace(scheme=scheme), "labelled": {}, "weights": None, "regressions": {"r": "none"}}
    assert not publication.alike(SimpleNamespace(**shown)).any()
    shown["regressions"] = {"r": SimpleNamespace(cells=places)}
    assert len(set(publication.alike(SimpleNamespace(**shown)))) == 4
    shown["weights"] = SimpleNamespace(values=values)
    assert len(set(publication.alike(SimpleNamespace(**shown)))) == len(set(zip(places, values, strict=True)))


def test_batches_are_compared_once_each_group_in_them_is_large_enough(monkeypatch):
    counts = [[60, 100, 100, 100, 100, 10], [100] * 6]
    figure, parts = labelled(counts, 0, monkeypatch, batches=10)
    assert figure.reports == 10  # of all batches together
    assert [part.n for part in parts] == [sum(map(sum, counts))]
    figure, parts = labelled([[120] * 6, [300] * 6], 0, monkeypatch, batches=10)
    assert len(parts) == 2
    assert figure.reports >= 50
