"""What lands of what a round's publication tells, and why it may not."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

import dpcore as dp
from dpcore.audit.crowd import crowd
from dpcore.results.account import Known
from dpcore.rounds import revealed

SCHEME = """name = "told"
clients = 1000
[attributes.a]
type = "categorical"
categories = ["x", "y", "z"]
epsilon = 2
mechanism = "randomized_response"
"""
NOBODY = Known(known_charges=0, known_clients=0, most_charges=0)


@pytest.fixture(scope="module")
def scheme():
    return dp.Scheme.from_toml(SCHEME)


def aggregate(scheme, many):
    return dp.aggregate(scheme, dp.privatize(scheme, {"a": ["x"] * many}, random=dp.seeded(1)))


def told(scheme, many, batches=(), known=NOBODY, before=(), keep_reports=False, monkeypatch=None):
    monkeypatch.setattr(revealed.warehouse, "accepted_before", lambda *_: list(before))
    plan = SimpleNamespace(min_clients=0, warehouse="", round="r", run_id="i", keep_reports=keep_reports)
    run = SimpleNamespace(plan=plan, scheme=scheme)
    parts = [aggregate(scheme, batch) for batch in batches or (many,)]
    return revealed.revealed(run, aggregate(scheme, many), parts, {"a": known})


def test_a_round_tells_what_its_crowd_leaves(scheme, monkeypatch):
    found = told(scheme, 1000, monkeypatch=monkeypatch)
    assert found.whole == crowd(scheme, 1000).whole
    tables = {"budgets": pd.DataFrame({"attribute": ["a"]}), "schemes": pd.DataFrame({"epsilon": [2.0]})}
    landed = revealed.beside(tables, found)
    assert 0 < landed["budgets"]["published_epsilon"][0] < 2
    assert landed["schemes"]["unpublished"][0] == ""
    assert landed["schemes"]["published_crowd"][0] == 1000


def test_a_batch_is_a_crowd_of_its_own(scheme, monkeypatch):
    found = told(scheme, 1000, batches=(30, 40, 900, 30), monkeypatch=monkeypatch)
    assert found.reports == 70


@pytest.mark.parametrize(
    ("circumstance", "reason"),
    [
        ({"known": Known(known_charges=9, known_clients=9, most_charges=1)}, "tokens"),
        ({"keep_reports": True}, "files of reports are kept"),
        ({"before": (990,)}, "the order in which reports came"),
        ({"many": 40}, "40 reports"),
    ],
)
def test_it_is_refused_and_the_reason_lands(scheme, monkeypatch, circumstance, reason):
    found = told(scheme, **{"many": 1000, "monkeypatch": monkeypatch, **circumstance})
    assert found.whole is None
    tables = {"budgets": pd.DataFrame({"attribute": ["a"]}), "schemes": pd.DataFrame({"epsilon": [2.0]})}
    landed = revealed.beside(tables, found)
    assert reason in landed["schemes"]["unpublished"][0]
    assert landed["budgets"]["published_epsilon"].isna().all()


def test_the_same_reports_landed_again_are_no_order(scheme, monkeypatch):
    assert told(scheme, 1000, before=(1000,), monkeypatch=monkeypatch).whole is not None
