from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore import wire
from dpcore.errors import InvalidReport, RefusedReport, SchemeError
from dpcore.mechanisms import Reports
from dpcore.protocol import tokens
from dpcore.protocol.report import Report, batch_of
from dpcore.protocol.scheme import Scheme
from dpcore.wire.json_report import layouts
from tests.helpers import client_cases
from tests.helpers.schemes import Parsed

SCHEMES = Parsed(client_cases.SCHEMES)
SECRET = bytes(range(16))


def report_of(name: str, seed: int, token: bool = True) -> Report:
    scheme, records = SCHEMES[name], client_cases.RECORDS[name]
    client = dp.Client(scheme, dp.seeded(seed), tokens.token_of(SECRET, scheme.digest) if token else None)
    return client.report(records[seed % len(records)], "2026-11-20" if seed % 2 else "")


def same(left: Report, right: Report) -> bool:
    return vars(left) == vars(right)


@lru_cache
def sent_by(name: str, seed: int) -> bytes:
    return wire.write_report(report_of(name, seed), SCHEMES[name])


def reason_or_none(content: bytes, scheme: Scheme) -> str | None:
    try:
        wire.read_report(content, scheme)
    except RefusedReport as refused:
        return refused.reason
    return None


def reason_of(content: bytes, scheme: Scheme) -> str:
    with pytest.raises(RefusedReport) as refused:
        wire.read_report(content, scheme)
    assert "\n" not in str(refused.value)
    return refused.value.reason


def test_a_report_comes_back_as_it_was_sent(subtests: pytest.Subtests) -> None:
    for name in SCHEMES:
        for token in [True, False]:
            with subtests.test(name=name, token=token):
                for seed in range(8):
                    report = report_of(name, seed, token)
                    content = wire.write_report(report, SCHEMES[name])
                    assert len(content) <= wire.most_bytes(SCHEMES[name])
                    assert same(wire.read_report(content, SCHEMES[name]), report)
                    assert "client" in json.loads(content) or not token


def test_a_dyadic_wave_report_is_at_most_four_bytes_of_payload() -> None:
    from dpcore.mechanisms import DyadicWave
    from dpcore.privacy.budget import Budget
    from dpcore.wire.json_report import Layout

    for epsilon in ("0.1", "1", "8"):
        for cells in (2, 64, 1024):
            assert Layout(DyadicWave.design(Budget.parse(epsilon), cells=cells, levels=2)).longest <= 3


@settings(max_examples=30)
@given(st.data())
def test_payloads_are_what_the_mechanism_accepts(data: st.DataObject) -> None:
    """Whatever has the right length is taken exactly where the aggregator's check takes it, and has that one spelling."""
    layout = data.draw(st.sampled_from(list(layouts(SCHEMES["everything"]).values())))
    level = data.draw(st.integers(0, len(layout.levels) - 1))
    size = layout.lengths[level]
    payload = bytes([level] * layout.head) + data.draw(st.binary(min_size=size, max_size=size))
    values, start = [], layout.head
    for low, _, width in layout.levels[level]:
        values.append(low + int.from_bytes(payload[start : start + width], "little"))
        start += width
    sent = Reports(np.array([level], dtype=np.uint8), np.array(values, dtype=np.int64))
    if layout.mechanism.accepts(sent)[0]:
        assert layout.unpack(payload) == (level, tuple(values))
        assert layout.pack((level, tuple(values))) == payload
    else:
        with pytest.raises(RefusedReport, match="out_of_range"):
            layout.unpack(payload)
        with pytest.raises(InvalidReport):
            layout.pack((level, tuple(values)))


def mutated(content: bytes, rng: random.Random) -> bytes:
    """One to three small changes: a bit, a byte, a piece left out, put in or repeated."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        at, kind = rng.randrange(len(changed) + 1), rng.randrange(5)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[at : at + 1] = bytes([rng.choice(b'AQ_-9=/+ \\",:{}[]0.e')])
        elif kind == 2:
            del changed[at : at + rng.randint(1, 20)]
        elif kind == 3:
            changed[at:at] = rng.randbytes(rng.randrange(8))
        else:
            changed[at:at] = changed[at : at + rng.randint(1, 60)]
    return bytes(changed)


@pytest.mark.parametrize("count", [400, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_mutated_report_is_refused_or_is_another_honest_one(count: int) -> None:
    """Never a traceback, never two spellings of one report."""
    rng = random.Random(14)
    sent = [(SCHEMES[name], sent_by(name, seed)) for name in SCHEMES for seed in range(4)]
    refused, taken = dict.fromkeys(wire.REASONS, 0), {name: list[Report]() for name in SCHEMES}
    for number in range(count):
        scheme, content = sent[number % len(sent)]
        content = mutated(content, rng)
        reason = reason_or_none(content, scheme)
        if reason is not None:
            refused[reason] += 1
        else:
            report = wire.read_report(content, scheme)
            assert wire.write_report(report, scheme) == content
            taken[scheme.name].append(report)
    assert sum(refused.values()) > 0.9 * count
    counted = 0
    for name, reports in taken.items():
        if reports:  # what is whole may still be of a level that is not its token's, or too far out to be honest noise
            aggregate = dp.aggregate(SCHEMES[name], batch_of(reports))
            assert all(
                reason.endswith((": not for its token", ": beyond honest noise")) for reason in aggregate.rejected
            )
            counted += aggregate.n
            assert aggregate.n + sum(aggregate.rejected.values()) == len(reports)
    assert counted > 0.9 * sum(map(len, taken.values()))
    assert count < 1000 or sum(number > 0 for number in refused.values()) >= 14


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=6),
    max_leaves=12,
)


@settings(max_examples=30)
@given(st.binary(max_size=600) | JSON.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_report_is_refused(content: bytes) -> None:
    assert reason_of(content, SCHEMES["everything"]) in wire.REASONS


@settings(max_examples=30)
@given(st.sampled_from(["format", "scheme", "report", "client", "round", "answers", "coin", "extra"]), JSON)
def test_another_value_in_any_place_is_refused(key: str, value: object) -> None:
    scheme = SCHEMES["everything"]
    document = json.loads(sent_by("everything", 1))
    place = document["answers"] if key == "coin" else document
    if value != place.get(key) and not (key == "round" and value == ""):
        place[key] = value
        content = json.dumps(document, separators=(",", ":")).encode()
        if key == "coin" and value in ("AA", "AQ"):
            return
        if key == "round" and type(value) is str and value.isascii() and value.isalnum():
            return  # another round
        assert reason_of(content, scheme) in wire.REASONS


def test_every_reason_is_given_and_names_the_first_fault() -> None:
    scheme, content = SCHEMES["everything"], sent_by("everything", 1)
    whole = json.loads(content)

    def say(**changes: object) -> bytes:
        changed = {key: value for key, value in (whole | changes).items() if value is not ...}
        return json.dumps(changed, separators=(",", ":")).encode()

    def answer(**changes: object) -> bytes:
        return say(answers=whole["answers"] | changes)

    dyadic = tokens.public_levels(scheme, whole["client"])["dyadic"]
    other_level = tokens.to_text(bytes([1 - dyadic if dyadic < 2 else 0, 0]))
    one = SCHEMES["one_of_three"]
    sent = json.loads(wire.write_report(report_of("one_of_three", 1), one))
    wrong_unit = {"colour": "AA"} if "colour" not in sent["answers"] else {"place": "AA", "income": "AAA"}
    cases = {
        "too_large": say(round="x" * 9000),
        "not_json": content[:-1],
        "unknown_key": say(extra=1),
        "missing_key": say(round=...),
        "wrong_type": say(format=True),
        "unknown_format": say(format=2),
        "wrong_scheme": say(scheme="0" * 64),
        "malformed_id": say(report="A" * 22),
        "malformed_token": say(client=whole["client"][:-1]),
        "malformed_round": say(round="last week"),
        "malformed_payload": answer(coin="AB"),  # the last four bits are no part of a byte
        "incomplete": say(answers={}),
        "wrong_unit": json.dumps(sent | {"answers": wrong_unit}, separators=(",", ":")).encode(),
        "wrong_length": answer(coin="AAA"),
        "unknown_level": answer(dyadic="_wA"),
        "wrong_level": answer(dyadic=other_level),
        "out_of_range": answer(coin="Ag"),
        "not_canonical": content.replace(b":1,", b": 1,", 1),
    }
    assert list(cases) == list(wire.REASONS)
    for reason, case in cases.items():
        assert reason_of(case, one if reason == "wrong_unit" else scheme) == reason
    assert reason_of(content.replace(b'"format"', b'"f\\u006frmat"'), scheme) == "not_canonical"
    assert reason_of(content.replace(b'"round"', b'"round":"","round"', 1), scheme) == "not_canonical"
    assert (
        reason_of(json.dumps(whole | {"format": 1}, separators=(",", ":"), sort_keys=True).encode(), scheme)
        == "not_canonical"
    )
    assert reason_of(b"[" * wire.most_bytes(scheme), scheme) == "not_json"
    assert reason_of(b"\xef\xbb\xbf" + content, scheme) == "not_json"
    assert reason_of(content.decode().encode("utf-16"), scheme) in ("not_json", "too_large")


def test_a_token_is_the_clients_own_and_tells_nobody_across_schemes() -> None:
    first, second, *_ = (scheme.digest for scheme in SCHEMES.values())
    assert tokens.token_of(SECRET, first) == tokens.token_of(SECRET, first) != tokens.token_of(SECRET, second)
    assert tokens.token_of(SECRET, first) != tokens.token_of(SECRET[::-1], first)
    with pytest.raises(SchemeError, match="bytes_of_the_secret"):
        tokens.token_of(b"short", first)


def test_a_report_without_an_id_or_with_another_kind_of_token_does_not_travel_alone() -> None:
    report, scheme = report_of("everything", 1), SCHEMES["everything"]
    for odd in (replace(report, id=""), replace(report, token="7"), replace(report, sent_for="a b")):
        with pytest.raises(InvalidReport):
            wire.write_report(odd, scheme)


def test_ids_and_tokens_travel_in_bulk(tmp_path: Path) -> None:
    scheme = SCHEMES["everything"]
    reports = [report_of("everything", seed, token=seed % 2 == 0) for seed in range(5)]
    batch = batch_of([*reports, replace(reports[0], id="", token=None)])
    wire.write_reports(tmp_path / "r.parquet", scheme, batch)
    again = wire.read_reports(tmp_path / "r.parquet", scheme)
    assert again.ids is not None
    assert again.tokens is not None
    names = [tokens.to_text(row.tobytes()) if row.any() else "" for row in again.ids]
    sent = sorted(reports, key=lambda report: tokens.from_text(report.id) or b"")
    assert names == ["", *(report.id for report in sent)]
    assert [row.any() for row in again.tokens] == [False, *(report.token is not None for report in sent)]
    assert dp.aggregate(scheme, again).equals(dp.aggregate(scheme, batch))
    only = batch_of([report_of("everything", 1, token=False)])
    wire.write_reports(tmp_path / "o.parquet", scheme, only)
    assert wire.read_reports(tmp_path / "o.parquet", scheme).tokens is None


def test_ids_are_drawn_fresh() -> None:
    client = dp.Client(SCHEMES["one_of_three"], dp.secure())
    assert len({client.report(client_cases.RECORDS["one_of_three"][0]).id for _ in range(50)}) == 50
