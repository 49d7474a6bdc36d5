"""Reports with labels at a collector: what is wrong with a label has its reason, and what is right is counted by it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore import wire
from dpcore._random import seeded
from dpcore.collector.backend import Collector
from dpcore.collector.store.sealing import landing
from dpcore.errors import RefusedReport
from dpcore.protocol import tokens
from dpcore.protocol.report import ReportBatch, batch_of, with_ids
from dpcore.protocol.scheme import Scheme
from tests.helpers import collectors

TEXT = (
    collectors.TEXT
    + '[labels.region]\ncategories = ["north", "south", "west"]\n[labels.sex]\ncategories = ["f", "m"]\n'
)
SCHEME = Scheme.from_toml(TEXT)
RECORD = {"colour": "red", "height": 1, "region": "west", "sex": "f"}


def _report(*, token: bool = False, scheme: Scheme = SCHEME) -> str:
    name = tokens.token_of(bytes(16), scheme.digest) if token else None
    return wire.write_report(dp.Client(scheme, dp.secure(), name).report(RECORD), scheme).decode()


def _put(text: str, label: str, payload: bytes | None) -> str:
    put = "" if payload is None else f',"{label}":"{tokens.to_text(payload)}"'
    return re.sub(rf',"{label}":"[^"]*"', put, text)


CHANGES = {
    "out_of_range": lambda text: _put(text, "region", b"\x03"),
    "incomplete": lambda text: _put(text, "sex", None),
    "wrong_length": lambda text: _put(text, "region", b"\x00\x00"),
    "malformed_payload": lambda text: re.sub(r'"region":"[^"]*"', '"region":"A"', text),
    "not_canonical": lambda text: re.sub(r'("region":"[^"]*"),("sex":"[^"]*")', r"\2,\1", text),
}


@pytest.mark.parametrize("token", [False, True])
@pytest.mark.parametrize("reason", CHANGES)
def test_what_is_wrong_with_a_label_has_its_reason(reason: str, token: bool) -> None:
    with pytest.raises(RefusedReport) as refused:
        wire.read_report(CHANGES[reason](_report(token=token)).encode(), SCHEME)
    assert refused.value.reason == reason


def test_one_label_too_many_and_one_of_another_scheme_are_refused() -> None:
    plain = Scheme.from_toml(collectors.TEXT)
    other = Scheme.from_toml(TEXT.replace("labels.sex", "labels.gender"))
    for sent, scheme in (
        (_put(_report(), "sex", b"\x00").replace('"sex"', '"gender"'), SCHEME),
        (_report().replace("}}", ',"gender":"AA"}}'), SCHEME),
        (_report().replace(SCHEME.digest, plain.digest), plain),
        (_report().replace(SCHEME.digest, other.digest), other),
    ):
        with pytest.raises(RefusedReport) as refused:
            wire.read_report(sent.encode(), scheme)
        assert refused.value.reason == "incomplete"


def test_streams_are_judged_by_the_same_reasons() -> None:
    rows = 40
    people = {name: [value] * rows for name, value in RECORD.items()}
    batch = with_ids(dp.privatize(SCHEME, people, seeded(1)), seeded(2))
    faults = wire.judge(wire.read_stream(wire.write_stream(batch, SCHEME), SCHEME))
    assert not faults.any()
    region = batch.answers["region"]
    odd = np.array([3, -1, *region.reports.values[2:]])
    answers = {**batch.answers, "region": type(region)(region.clients, type(region.reports)(region.reports.level, odd))}
    found = wire.judge(
        wire.read_stream(wire.write_stream(ReportBatch(batch.digest, rows, answers, batch.ids), SCHEME), SCHEME)
    )
    assert [wire.REASONS[fault - 1] for fault in found[:2]] == ["out_of_range"] * 2
    assert not found[2:].any()
    fewer = type(region)(region.clients[1:], type(region.reports)(region.reports.level[1:], region.reports.values[1:]))
    answers = {**batch.answers, "region": fewer}
    found = wire.judge(
        wire.read_stream(wire.write_stream(ReportBatch(batch.digest, rows, answers, batch.ids), SCHEME), SCHEME)
    )
    assert wire.REASONS[found[0] - 1] == "incomplete"
    assert not found[1:].any()


def test_what_came_is_sealed_in_the_order_of_ids_and_counted_by_label(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    people = {
        "colour": random.choice(["red", "green", "blue"], 500),
        "height": 2 * random.random(500),
        "region": np.sort(random.choice(["north", "south", "west"], 500)),  # they come region by region
        "sex": random.choice(["f", "m"], 500),
    }
    batch = with_ids(dp.privatize(SCHEME, people, seeded(3)), seeded(4))
    with collectors.collector(tmp_path, SCHEME) as sender:
        said = sender.stream(wire.write_stream(batch, SCHEME), collectors.PATH)
        assert (said.status, said.said["accepted"]) == (200, 500)
        one = _report()
        assert sender.one(one.encode(), collectors.PATH).status == 201
        refused = sender.one(CHANGES["out_of_range"](_report()).encode(), collectors.PATH)
        assert (refused.status, refused.said["reason"]) == (422, "out_of_range")
    (sealed,) = landing(tmp_path, SCHEME.digest).glob("*.parquet")
    held = wire.read_reports(sealed, SCHEME)
    assert held.ids is not None
    names = [bytes(row) for row in held.ids]
    assert names == sorted(names)
    found = dp.aggregate(SCHEME, held)
    assert found.equals(dp.aggregate(SCHEME, batch, batch_of([wire.read_report(one.encode(), SCHEME)])))
    assert (
        len(np.flatnonzero(np.diff(held.of("region").reports.values))) > 100
    )  # nothing of the order of coming is left
    assert wire.read_refused(sealed, SCHEME) == {"out_of_range": 1}


def test_the_bundle_and_the_page_are_those_of_a_scheme_with_labels(tmp_path: Path) -> None:
    served = Collector(tmp_path, [SCHEME], seconds=60)
    scheme = served.schemes["colours"]
    assert scheme.bundle["scheme.toml"].decode() == SCHEME.canonical
    assert set(json.loads(scheme.bundle["manifest.json"])["tables"]) <= set(SCHEME.attributes)
    assert b"labels.mjs" in scheme.page["ldpflow.mjs"]
