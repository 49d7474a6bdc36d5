"""What lands of what a round's publication tells, and why it may not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

import dpcore as dp
from dpcore.audit.publication import central_guarantee
from dpcore.privacy.shuffling.condition import CONDITION, CONDITION_OF_PAGE, Publication
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
    parts = [aggregate(scheme, batch) for batch in batches or (many,)]
    return publication.revealed(run, aggregate(scheme, many), parts, {"a": known, "b": others})


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


@pytest.mark.parametrize(("fewest", "reports"), [(0, 60), (100, 940)])
def test_the_crowd_is_the_smallest_label_that_is_shown(monkeypatch, fewest, reports):
    labelled = dp.Scheme.from_toml(SCHEME + '[labels.region]\ncategories = ["n", "s"]\n')
    records = {"a": ["x"] * 1000, "region": ["n"] * 940 + ["s"] * 60}
    sums = dp.aggregate(labelled, dp.privatize(labelled, records, random=dp.seeded(1)))
    monkeypatch.setattr(publication.warehouse, "accepted_before", lambda *_: [])
    plan = SimpleNamespace(min_clients=fewest, warehouse="", round="r", run_id="i", keep_reports=False)
    found = publication.revealed(SimpleNamespace(plan=plan, scheme=labelled), sums, [sums], {"a": NOBODY})
    assert found.reports == reports


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


def test_a_shown_category_counts_although_its_combinations_are_too_small(monkeypatch):
    """Sixty women in six cells of ten are a group of their own; 500 men of either region are not their crowd."""
    labels = '[labels.sex]\ncategories = ["f", "m"]\n[labels.area]\ncategories = ["1", "2", "3", "4", "5", "6"]\n'
    grouped = dp.Scheme.from_toml(SCHEME + labels)
    sexes = ["f"] * 60 + ["m"] * 3000
    areas = [str(place % 6 + 1) for place in range(60)] + [str(place % 6 + 1) for place in range(3000)]
    records = {"a": ["x"] * len(sexes), "sex": sexes, "area": areas}
    whole = dp.aggregate(grouped, dp.privatize(grouped, records, random=dp.seeded(1)))
    monkeypatch.setattr(publication.warehouse, "accepted_before", lambda *_: [])
    plan = SimpleNamespace(min_clients=50, warehouse="", round="r", run_id="i", keep_reports=False)
    landed = publication.revealed(SimpleNamespace(plan=plan, scheme=grouped), whole, [whole], {"a": NOBODY})
    assert landed.reports == 60
