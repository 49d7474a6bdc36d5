"""The aggregate is a commutative monoid, bit for bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore import wire
from dpcore.errors import SchemeMismatch
from dpcore.mechanisms import Reports
from dpcore.protocol import tokens
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.report import Answers, Report, ReportBatch, batch_of, concatenate
from dpcore.protocol.scheme import Scheme

People = Callable[..., dict[str, np.ndarray]]


@pytest.fixture(params=["all", "one"])
def scheme(request: pytest.FixtureRequest, small_text: str) -> Scheme:
    return Scheme.from_toml(f'reporting = "{request.param}"\n' + small_text)


@pytest.fixture
def batches(scheme: Scheme, people: People) -> list[ReportBatch]:
    return [dp.privatize(scheme, people(n, n), dp.seeded(n)) for n in (1, 17, 400, 3)]


def test_zero_is_neutral(scheme: Scheme, batches: list[ReportBatch]) -> None:
    zero, some = Aggregate.zero(scheme), dp.aggregate(scheme, *batches)
    assert zero.merge(some).equals(some)
    assert some.merge(zero).equals(some)
    assert zero.is_empty
    assert some.n == 421


def test_order_and_grouping_do_not_matter(scheme: Scheme, batches: list[ReportBatch]) -> None:
    a, b, c, d = (dp.aggregate(scheme, batch) for batch in batches)
    whole = dp.aggregate(scheme, *batches)
    assert d.merge(b).merge(a.merge(c)).equals(whole)
    assert a.merge(b.merge(c.merge(d))).equals(whole)
    assert c.merge(a).equals(a.merge(c))
    assert not a.merge(a).equals(a)  # an aggregate is not idempotent


def test_adding_is_merging_singletons(scheme: Scheme, people: People) -> None:
    columns = people(40)
    client = dp.Client(scheme, random=dp.seeded(5))
    reports = [client.report({name: column[i] for name, column in columns.items()}) for i in range(40)]
    one_by_one = Aggregate.zero(scheme)
    if scheme.reporting == "all":  # a batch has the same attributes throughout
        for report in reports:
            one_by_one = one_by_one.add(batch_of([report]))
        assert one_by_one.equals(dp.aggregate(scheme, batch_of(reports)))
        assert one_by_one.n == 40


def test_a_pair_sums_to_its_parts(scheme: Scheme, batches: list[ReportBatch]) -> None:
    whole = dp.aggregate(scheme, *batches)
    assert np.array_equal(whole.pairs["height", "side"].sum(axis=0), whole.statistics["height"])
    mechanism = scheme.attributes["height"].mechanism
    blocks = len(mechanism.model().tables)
    by_category = whole.pairs["height", "side"][:, :blocks].sum(axis=1)
    assert np.array_equal(by_category, whole.statistics["side"])


def test_reporting_one_answers_one_unit_each(small_text: str, people: People) -> None:
    scheme = Scheme.from_toml('reporting = "one"\n' + small_text)
    whole = dp.aggregate(scheme, dp.privatize(scheme, people(2000), dp.seeded(1)))
    assert whole.reports("height") == whole.reports("side")
    assert whole.reports("height") + whole.reports("colour") == whole.n == 2000
    assert 850 < whole.reports("colour") < 1150


def test_another_scheme_is_refused(scheme: Scheme, small_text: str, people: People) -> None:
    other = Scheme.from_toml(small_text.replace("0.5", "0.6"))
    batch = dp.privatize(other, people(5), dp.seeded(1))
    with pytest.raises(SchemeMismatch, match="reports: made under scheme"):
        dp.aggregate(scheme, batch)
    with pytest.raises(SchemeMismatch):
        Aggregate.zero(scheme).merge(Aggregate.zero(other))


def test_what_no_client_could_send_is_refused_whole_and_counted(small: Scheme, people: People) -> None:
    batch = dp.privatize(small, people(10), dp.seeded(1))
    clean = dp.aggregate(small, batch)
    batch.answers["colour"].reports.values[4] = 99
    batch.answers["colour"].reports.values[7] = -1
    batch.answers["side"].reports.values[7] = 2
    dirty = dp.aggregate(small, batch)
    assert clean.n == 10
    assert dirty.n == 8
    assert dirty.rejected == {"side: out of range": 1, "colour: out of range": 1}
    assert dirty.examples == {"side: out of range": 7, "colour: out of range": 4}
    assert list(dirty.rejected) == list(dirty.examples) == sorted(dirty.rejected)
    assert all(dirty.reports(name) == 8 for name in small.attributes)


RECORD = {"side": "left", "colour": "red", "height": 1.2}
TOKENS = [tokens.to_text(bytes([client + 1] * 16)) for client in range(12)]


def of_tokens(scheme: Scheme) -> list[Report]:
    """Honest reports of a dozen clients with tokens."""
    return [dp.Client(scheme, dp.seeded(client), token).report(RECORD) for client, token in enumerate(TOKENS)]


def test_what_a_token_does_not_say_is_refused(small: Scheme) -> None:
    honest = of_tokens(small)
    assert dp.aggregate(small, batch_of(honest)).n == 12
    without = [replace(report, token=None) for report in honest]
    swapped = [replace(report, token=honest[11 - place].token) for place, report in enumerate(honest)]
    refused = sum(
        report.answers["height"][0] != honest[11 - place].answers["height"][0] for place, report in enumerate(honest)
    )
    assert 0 < refused < 12
    assert dp.aggregate(small, batch_of(without)).n == 12
    found = dp.aggregate(small, batch_of(swapped))
    assert (found.n, dict(found.rejected)) == (12 - refused, {"height: not for its token": refused})


def test_of_units_the_tokens_own_is_counted_whole_and_alone(small_text: str) -> None:
    scheme = Scheme.from_toml(f'reporting = "one"\n{small_text}')
    honest = of_tokens(scheme)
    answered = [set(report.answers) for report in honest]
    assert {"colour"} in answered
    assert {"side", "height"} in answered
    assert dp.aggregate(scheme, batch_of(honest)).n == 12
    for report in honest:
        answers, other = report.answers, next(each for each in honest if set(each.answers) != set(report.answers))
        nothing_said = replace(report, token=None)
        for wrong, why in (
            (replace(report, answers=other.answers), "not for its token"),
            (replace(nothing_said, answers={**answers, **other.answers}), "incomplete"),
            (replace(nothing_said, answers={}), "incomplete"),
            (replace(nothing_said, answers={"side": (0, (0,))}), "incomplete"),
            (replace(nothing_said, answers={"side": (0, (0,)), "colour": (0, (0,))}), "incomplete"),
        ):
            found = dp.aggregate(scheme, batch_of([wrong]))
            assert (found.n, sum(found.rejected.values())) == (0, 1)
            assert why in next(iter(found.rejected))


def test_a_token_says_the_unit_though_no_attribute_has_levels() -> None:
    text = 'name = "coins"\nreporting = "one"\nclients = 100\n'
    for name in ("x", "y"):
        text += f'[attributes.{name}]\ntype = "categorical"\ncategories = ["a", "b"]\nepsilon = 1\n'
    scheme = Scheme.from_toml(text)
    honest = [dp.Client(scheme, dp.seeded(1), token).report({"x": "a", "y": "b"}) for token in TOKENS]
    other = {name: (0, (0,)) for name in scheme.attributes if name not in honest[0].answers}
    found = dp.aggregate(scheme, batch_of([*honest, replace(honest[0], answers=other)]))
    assert (found.n, sum(found.rejected.values())) == (12, 1)


def test_what_is_left_out_of_a_report_or_beyond_honest_noise_is_refused(small: Scheme) -> None:
    first, *rest = (replace(report, token=None) for report in of_tokens(small))
    fewer = replace(first, answers={name: first.answers[name] for name in ("side", "height")})
    level, _ = first.answers["height"]
    limit = small.attributes["height"].mechanism.ranges(level)[1]
    far = replace(first, answers={**first.answers, "height": (level, tuple(limit.tolist()))})
    for wrong, why in ((fewer, "incomplete"), (far, "height: beyond honest noise")):
        found = dp.aggregate(small, batch_of([*rest, wrong]))
        assert (found.n, dict(found.rejected), dict(found.examples)) == (11, {why: 1}, {why: 11})
        assert found.fingerprint == dp.aggregate(small, batch_of(rest)).fingerprint
    both = dp.aggregate(small, batch_of([fewer])).add(batch_of([far, rest[0]]), 1)
    assert (both.n, dict(both.rejected)) == (1, {"height: beyond honest noise": 1, "incomplete": 1})


def test_an_unknown_level_is_refused_and_the_rest_kept(small: Scheme, people: People) -> None:
    batch = dp.privatize(small, people(10), dp.seeded(1))
    answers = batch.answers["height"]
    sizes = np.asarray(small.attributes["height"].mechanism.sizes)[answers.reports.level]
    start = int(sizes[:3].sum())
    answers.reports.level[3] = 200
    shorter = np.delete(answers.reports.values, np.arange(start, start + sizes[3]))
    odd = Answers(answers.clients, Reports(answers.reports.level, shorter))
    whole = dp.aggregate(small, ReportBatch(batch.digest, 10, {**batch.answers, "height": odd}))
    assert whole.n == 9
    assert whole.rejected == {"height: out of range": 1}
    answers = batch.answers["colour"]
    answers.reports.level[3] = 200  # with an integer, so that nobody's can be told from the next one's
    none = dp.aggregate(small, batch)
    assert none.n == 0
    assert sum(none.rejected.values()) == 10
    assert not any(table.any() for table in none.statistics.values())


def test_the_file_of_an_aggregate_does_not_depend_on_how_reports_were_split(tmp_path: Path) -> None:
    text = 'name = "order"\nclients = 100\n'
    for name in ("z", "a"):  # both show something beside the truth
        text += f'[attributes.{name}]\ntype = "categorical"\ncategories = ["0", "1"]\nepsilon = 1\n'
        text += 'mechanism = "unary_encoding"\n'
    scheme = Scheme.from_toml(text)
    parts = [dp.privatize(scheme, {"z": ["0", "1"], "a": ["1", "1"]}, dp.seeded(seed)) for seed in (1, 2)]
    files = {"whole": dp.aggregate(scheme, concatenate(parts)), "parts": dp.aggregate(scheme, *parts)}
    for name, aggregate in files.items():
        wire.write_aggregate(tmp_path / name, aggregate)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 200), max_size=6), order=st.randoms(use_true_random=False))
def test_any_split_in_any_order_gives_the_same_bits(
    small: Scheme, people: People, cuts: list[int], order: random.Random
) -> None:
    scheme, (batch, whole) = small, _two_hundred(small, people)
    edges = [0, *sorted(cuts), 200]
    parts = [(a, b) for a, b in pairwise(edges) if a < b]
    pieces = [_rows(batch, a, b, scheme) for a, b in parts]
    order.shuffle(pieces)
    assert dp.aggregate(scheme, *pieces).equals(whole)


@cache
def _two_hundred(scheme: Scheme, people: People) -> tuple[ReportBatch, Aggregate]:
    batch = dp.privatize(scheme, people(200), dp.seeded(2))
    return batch, dp.aggregate(scheme, batch)


def _rows(batch: ReportBatch, first: int, last: int, scheme: Scheme) -> ReportBatch:
    answers = {}
    for name, column in batch.answers.items():
        sizes = np.asarray(scheme.attributes[name].mechanism.sizes)[column.reports.level]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        reports = Reports(column.reports.level[first:last], column.reports.values[ends[first] : ends[last]])
        answers[name] = Answers(np.arange(last - first), reports)
    return ReportBatch(batch.digest, last - first, answers)
