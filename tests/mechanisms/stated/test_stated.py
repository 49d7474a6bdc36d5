"""Stated channels: what they keep is exact, ours written down are read as ours, and nobody is asked by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore import pipeline, wire
from dpcore._random import seeded
from dpcore.audit.enumeration.exact_loss import audit_mechanism
from dpcore.collector.serve import Settings, serve
from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms import Mechanism, Reports
from dpcore.mechanisms.registry import CATEGORICAL
from dpcore.mechanisms.stated.bit_vectors import StatedBits
from dpcore.mechanisms.stated.stated_channel import Stated
from dpcore.privacy.budget import INFINITE, Budget
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.odds import scheme_odds, unbounded
from dpcore.rounds.exchange.outgoing_reports import send
from dpcore.rounds.planning.planner import Planner
from dpcore.rounds.steps.preparation import prepare

SMOKED = 'categories = ["yes", "no"]'


def scheme(*lines: str, type_: str = "categorical", epsilon: str = "") -> dp.Scheme:
    told = [f'type = "{type_}"', 'mechanism = "stated"', *([f"epsilon = {epsilon}"] if epsilon else []), *lines]
    return dp.Scheme.from_toml("\n".join(['name = "s"', "[attributes.a]", *told, ""]))


def mechanism_of(*lines: str, type_: str = "categorical", epsilon: str = "") -> Any:
    return scheme(*lines, type_=type_, epsilon=epsilon).attributes["a"].mechanism


def probabilities(mechanism: Mechanism) -> list[list[Fraction]]:
    (table,) = mechanism.channel() or ()
    return [[Fraction(int(weight), int(row.sum())) for weight in row] for row in table]


# What it is


FORMS = [
    ('form = "attribution_reporting"\nrates = { rate = "1/4" }', [["7/8", "1/8"], ["1/8", "7/8"]]),
    ('form = "opendp_randomized_response"\nrates = { prob = 0.8 }', [["4/5", "1/5"], ["1/5", "4/5"]]),
    ('form = "forced_response"\nrates = { yes = "1/6", no = "1/12" }', [["11/12", "1/12"], ["1/6", "5/6"]]),
    ('form = "warner"\nrates = { prob = 0.7 }', [["7/10", "3/10"], ["3/10", "7/10"]]),
    ('form = "crosswise"\nrates = { share = 0.25 }', [["1/4", "3/4"], ["3/4", "1/4"]]),
    ('form = "kuk"\nrates = { yes = 0.8, no = 0.2 }', [["1/5", "4/5"], ["4/5", "1/5"]]),
    ('form = "kuk"\nrates = { yes = "3/4", no = "1/2", cards = 2 }', [["1/16", "3/8", "9/16"], ["1/4", "1/2", "1/4"]]),
    ('form = "unrelated_question"\nrates = { unrelated = 0.3, share = 0.25 }', [["31/40", "9/40"], ["3/40", "37/40"]]),
]


def test_a_form_is_the_channel_that_its_rates_say(subtests: pytest.Subtests) -> None:
    for said, rows in FORMS:
        with subtests.test(said=said, rows=rows):
            mechanism = mechanism_of(SMOKED, said)
            assert probabilities(mechanism) == [[Fraction(share) for share in row] for row in rows]
            outputs = range(len(rows[0]))
            ratios = [Fraction(rows[x][z]) / Fraction(rows[y][z]) for x in (0, 1) for y in (0, 1) for z in outputs]
            assert mechanism.certificate().kept == max(ratios)
            assert mechanism.budget == Budget(ratio=max(ratios))
            assert audit_mechanism(mechanism).loss.ratio == max(ratios)


# Design, number of reports of each output, and the closed form of its paper: (proportion of yes, standard error).
def _two(first: int, second: int, own: float, other: float) -> tuple[float, float]:
    """First output with probability `own` of yes and `other` of no: the estimate that every design of two outputs has."""
    n = first + second
    rate = first / n
    return (rate - other) / (own - other), (rate * (1 - rate) / n) ** 0.5 / abs(own - other)


DESIGNS = [
    ('form = "warner"\nrates = { prob = 0.7 }', (420, 580), _two(420, 580, 0.7, 0.3)),
    ('form = "crosswise"\nrates = { share = 0.25 }', (660, 340), _two(660, 340, 0.25, 0.75)),
    ('form = "triangular"\nrates = { share = 0.25 }', (400, 600), _two(400, 600, 1, 0.25)),
    ('form = "mangat"\nrates = { prob = 0.8 }', (400, 600), _two(400, 600, 1, 0.2)),
    ('form = "kuk"\nrates = { yes = 0.8, no = 0.2 }', (650, 350), _two(350, 650, 0.8, 0.2)),
]


def test_survey_designs_have_the_estimates_of_their_papers(subtests: pytest.Subtests) -> None:
    for design, counts, (share, error) in DESIGNS:
        with subtests.test(design=design):
            asked = scheme(SMOKED, design)
            mechanism, n = asked.attributes["a"].mechanism, sum(counts)
            reports = Reports(np.zeros(n, dtype=np.uint8), np.repeat([0, 1], counts))
            estimate = dp.estimate(Aggregate(asked, n, {"a": mechanism.statistics(reports)}, {}, {"a": n}), "a")
            assert estimate.raw[0] == pytest.approx(share, rel=1e-12)
            assert estimate.standard_errors[0] == pytest.approx(error, rel=1e-12)


def test_a_channel_of_decimals_is_that_of_their_whole_numbers() -> None:
    decimals = mechanism_of(SMOKED, "channel = [[0.75, 0.25], ['1/3', '2/3']]")
    assert decimals.weights == ((9, 3), (4, 8))
    with pytest.raises(
        SchemeError, match=r"channel must be whole numbers, or rows that sum to 1; got a sum of 0\.9999"
    ):
        mechanism_of(SMOKED, "channel = [[0.75, 0.25], [0.3333, 0.6666]]")


def test_twenty_five_cards_are_drawn_as_their_binomial_distribution() -> None:
    """Kuk (1990): of 25 cards from one of two packs, 4 and 1 in 5 of them red, the number of red ones is reported."""
    rows = [[comb(25, red) * 4 ** (red if row else 25 - red) for red in range(26)] for row in (0, 1)]
    mechanism = mechanism_of(SMOKED, f"channel = {rows}")
    assert mechanism.certificate().kept == 4**25 == audit_mechanism(mechanism).loss.ratio
    reports = mechanism.privatize(np.repeat([0, 1], 100_000), seeded(7)).values.reshape(2, -1)
    for row, seen in zip(rows, reports, strict=True):
        expected = np.array(row, dtype=float) / 5**25
        likely = expected > 1e-4
        error = np.sqrt(expected * (1 - expected) / 100_000)
        assert np.all(np.abs(np.bincount(seen, minlength=26) / 100_000 - expected)[likely] < 4.5 * error[likely])


def test_rappors_bits_have_the_probabilities_of_its_paper() -> None:
    mechanism = mechanism_of('categories = ["a", "b", "c"]', 'form = "rappor"\nrates = { f = 0.5, p = 0.5, q = 0.75 }')
    assert (mechanism.truth_probability, mechanism.other_probability) == (Fraction(11, 16), Fraction(9, 16))
    assert mechanism.budget == Budget(ratio=Fraction(77, 45))
    assert audit_mechanism(mechanism).loss.ratio == Fraction(77, 45)
    permanent = mechanism_of('categories = ["a", "b", "c"]', 'form = "rappor"\nrates = { f = 0.5 }')
    assert (permanent.truth_probability, permanent.other_probability) == (Fraction(3, 4), Fraction(1, 4))


def test_a_row_is_over_its_own_total() -> None:
    mechanism = mechanism_of(SMOKED, "channel = [[3, 1], [1, 1]]")
    assert mechanism.certificate().kept == Fraction(2)  # no: 1/2 over 1/4, and yes 3/4 over 1/2
    assert audit_mechanism(mechanism).loss.ratio == Fraction(2)


def test_the_canonical_text_reads_back() -> None:
    for said in [
        *(f"{SMOKED}\n{form}" for form, _ in FORMS),
        f"{SMOKED}\nchannel = [[1, 0], [1, 1]]\nnames = ['u', 'v']",
    ]:
        asked = scheme(said)
        again = dp.Scheme.from_toml(asked.canonical)
        assert (again.digest, again.canonical) == (asked.digest, asked.canonical)
        assert again.attributes["a"].mechanism == asked.attributes["a"].mechanism


# What it keeps


def test_a_stated_epsilon_is_a_promise_that_less_would_break() -> None:
    assert mechanism_of(SMOKED, "channel = [[3, 1], [1, 3]]", epsilon='"ln 3"').budget == Budget(ratio=Fraction(3))
    assert mechanism_of(SMOKED, "channel = [[3, 1], [1, 3]]", epsilon="2").budget == Budget.parse("2")
    with pytest.raises(CalibrationError, match=r"give a ratio of 3 and exceed e\^epsilon at epsilon = 1"):
        mechanism_of(SMOKED, "channel = [[3, 1], [1, 3]]", epsilon="1")
    with pytest.raises(SchemeError, match="epsilon must be a number here, got infinite"):
        mechanism_of(SMOKED, "channel = [[3, 1], [1, 3]]", epsilon='"infinite"')
    with pytest.raises(CalibrationError, match="ratio of inf"):
        mechanism_of(SMOKED, "channel = [[1, 0], [1, 1]]", epsilon="20")


def test_no_mechanism_of_ours_can_have_an_infinite_epsilon() -> None:
    for name in ("randomized_response", "unary_encoding", "auto"):
        text = (
            f'name = "s"\n[attributes.a]\ntype = "categorical"\n{SMOKED}\nmechanism = "{name}"\nepsilon = "infinite"\n'
        )
        with pytest.raises(SchemeError, match="epsilon"):
            dp.Scheme.from_toml(text)


def test_what_is_certain_has_an_infinite_epsilon_and_a_near_design_that_is_not(subtests: pytest.Subtests) -> None:
    for said in ["channel = [[1, 0], [1, 1]]", 'form = "rappor"\nrates = { f = 0, p = 0.25, q = 1 }']:
        with subtests.test(said=said):
            asked = scheme(SMOKED, said)
            mechanism: Any = asked.attributes["a"].mechanism
            assert mechanism.certificate().kept == inf
            assert asked.budget == INFINITE == asked.budget + Budget.parse("1")
            assert asked.epsilon == inf
            assert audit_mechanism(mechanism).loss.ratio is None
            (sentence,) = unbounded(asked)
            assert mechanism.nearest.text in sentence
            odds = scheme_odds(asked, rounds=2)
            assert odds.all.worst == 1
            assert odds.after.variation == 1 - (1 - odds.all.variation) ** 2
            again = dp.Scheme.from_toml(asked.canonical)
            assert again.budget == INFINITE


def test_the_near_design_is_what_mixing_gives() -> None:
    mechanism = mechanism_of(SMOKED, "channel = [[1, 0], [1, 1]]")
    rows = [[Fraction(99, 100) * share + Fraction(1, 200) for share in row] for row in probabilities(mechanism)]
    total = 200
    mixed = mechanism_of(SMOKED, f"channel = {[[int(share * total) for share in row] for row in rows]}")
    assert mechanism.nearest == mixed.budget == Budget(ratio=rows[1][1] / rows[0][1])


# What is refused


def test_what_is_no_channel_is_refused_in_a_line(subtests: pytest.Subtests) -> None:
    for said, why in [
        ("", "needs channel, a table of weights, or form"),
        ("channel = [[3, 1], [1, 3]]\nform = 'rappor'\nrates = { f = 0.5 }", "and not both"),
        ("channel = [[3, 1], [1, 3], [1, 1]]", "a row for each of the 2 values, got 3"),
        ("channel = [[3, 1], [1]]", "all of one length"),
        ("channel = [[3, 1], [0, 0]]", r"channel\[1\] must be weights"),
        ("channel = [[3, 0], [1, 0]]", "output 1 of the channel has weight 0 for every value"),
        ("channel = [[3, 1], [3, 1]]", "the same distribution for every value"),
        ("channel = [[3, -1], [1, 3]]", "weights of at least 0"),
        ("channel = [[3, 1], [1, 3]]\nnames = ['u', 'u']", "names must be 2, one for each output, and differ"),
        ("channel = [[3, 1], [1, 3]]\nrates = { f = 1 }", "rates go with form"),
        ("form = 'rappor'\nrates = { g = 0.5 }", "rates of rappor are f, p, q, got g"),
        ("form = 'rappor'\nrates = { f = 1 }", "a true bit must be one more often|the same distribution"),
        ("form = 'opendp_randomized_response'\nrates = { prob = 1.5 }", "must lie between 0 and 1"),
        ("form = 'forced_response'\nrates = { yes = 0.6, no = 0.6 }", "must lie between 0 and 1"),
        (
            "form = 'kuk'\nrates = { yes = 0.6, no = 0.4, cards = 1.5 }",
            "cards of kuk must be a whole number from 1 to 62",
        ),
        ("form = 'kuk'\nrates = { yes = 0.8, no = 0.3, cards = 25 }", "common denominator of at most 2\\^62"),
        ("form = 'opendp_randomized_response'\nrates = { prob = 'half' }", "prob must be a number"),
        ("cells = 8\nform = 'rappor'", "unknown key 'cells'|cells"),
    ]:
        with subtests.test(said=said, why=why):
            with pytest.raises(SchemeError, match=why) as refused:
                scheme(SMOKED, said)
            assert "\n" not in str(refused.value)


def test_a_scheme_is_stated_or_is_asked() -> None:
    asked = '[attributes.b]\ntype = "categorical"\ncategories = ["x", "y"]\nepsilon = 1'
    with pytest.raises(SchemeError, match="cannot be combined with others"):
        scheme(SMOKED, "channel = [[3, 1], [1, 3]]", asked)


def test_nobody_is_asked_by_it(tmp_path: Path) -> None:
    asked, file = scheme(SMOKED, "channel = [[3, 1], [1, 3]]"), tmp_path / "s.toml"
    file.write_text(asked.canonical, encoding="utf-8")
    records = tmp_path / "records.csv"
    records.write_text("a\nyes\nno\n", encoding="utf-8")
    ways = [
        lambda: dp.Client(asked, dp.secure()),
        lambda: pipeline.privatize(asked, {"a": ["yes"]}, dp.secure()),
        lambda: send(asked, records, tmp_path / "reports.parquet"),
        lambda: prepare(file, records=records, data=tmp_path / "var"),
        lambda: serve([file], tmp_path / "store", Settings(port=0)),
        lambda: wire.write_bundle(tmp_path / "bundle", asked),
        lambda: Planner.read(file),
    ]
    for way in ways:
        with pytest.raises(SchemeError, match="scheme 's': its channels are stated"):
            way()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["records.csv", "s.toml"]


def test_categories_that_are_not_told_apart_alike_are_estimated_by_the_channels_inverse() -> None:
    asked = scheme('categories = ["a", "b", "c"]', "channel = [[3, 3, 1], [1, 3, 1], [1, 1, 3]]")
    mechanism = asked.attributes["a"].mechanism
    counts, people = mechanism.model().response() @ [0.5, 0.3, 0.2], 35_000  # of which each expected count is whole
    aggregate = Aggregate(asked, people, {"a": np.rint(counts * people).astype(np.int64)}, {}, {"a": people})
    assert mechanism.counts_outputs
    assert np.allclose(dp.estimate(aggregate, "a").raw, [0.5, 0.3, 0.2], atol=1e-4)


def test_outputs_may_be_turned_around() -> None:
    asked = scheme(SMOKED, "channel = [[1, 3], [3, 1]]")
    mechanism = asked.attributes["a"].mechanism
    said = mechanism.privatize(np.zeros(1000, dtype=np.int64), seeded(1))
    assert not mechanism.counts_outputs
    assert mechanism.statistics(said).tolist() == [np.sum(said.values == 1), np.sum(said.values == 0)]
    assert np.array_equal(mechanism.scores(said).sum(axis=0), mechanism.statistics(said))
    assert mechanism.furthest(np.array([1.0, -1.0]), 1).values.tolist() == [1]


# Ours, written down


K = 5
OURS = [(name, "") for name in CATEGORICAL] + [("unary_encoding", 'variant = "symmetric"')]


def reports_of(mechanism: Mechanism, outputs: np.ndarray) -> Reports:
    """The reports of one of our oracles that its `channel` lists at these places."""
    zeros = np.zeros(len(outputs), dtype=np.uint8)
    if mechanism.name == "subset_selection":
        subsets = np.array(list(combinations(range(K), mechanism.sizes[0])))
        return Reports(zeros, subsets[outputs].ravel())
    if mechanism.name == "local_hashing":
        prime, bins = mechanism.parameters()["prime"], mechanism.parameters()["bins"]
        slope, rest = np.divmod(outputs, prime * bins)
        return Reports(zeros, np.stack([slope + 1, *np.divmod(rest, bins)], axis=1).ravel())
    return Reports(zeros, outputs)


def written(name: str, mechanism: Any) -> str:
    """One of our oracles as a stated channel: its weights, or the rates of its bits."""
    if name == "unary_encoding":
        rates = f"p = '{mechanism.other_probability}', q = '{mechanism.truth_probability}'"
        return f"form = 'rappor'\nrates = {{ f = 0, {rates} }}"
    return f"channel = {[list(map(int, row)) for row in mechanism.channel()[0]]}"


def test_each_of_our_oracles_written_down_gives_the_same_numbers(subtests: pytest.Subtests) -> None:
    for name, variant in OURS:
        with subtests.test(name=name, variant=variant):
            # five, a prime: on which lines tell three categories alike
            categories = f"categories = {[f'c{i}' for i in range(K)]}"
            said = (
                f'name = "s"\n[attributes.a]\ntype = "categorical"\n{categories}\nepsilon = 1\n'
                f'mechanism = "{name}"\n{variant}\n'
            )
            ours = dp.Scheme.from_toml(said)
            theirs = scheme(categories, written(name, ours.attributes["a"].mechanism))
            our, their = ours.attributes["a"].mechanism, theirs.attributes["a"].mechanism
            assert their.certificate().kept == our.certificate().kept
            assert isinstance(their, StatedBits if name == "unary_encoding" else Stated)
            values = np.random.default_rng(1).choice(K, 4000, p=[0.6, 0.3, 0.1, 0.0, 0.0])
            said_by = their.privatize(values, seeded(2))
            both = [our.statistics(reports_of(our, said_by.values)), their.statistics(said_by)]
            assert np.array_equal(*both)
            found = []
            for asked, statistics in zip((ours, theirs), both, strict=True):
                aggregate = Aggregate(asked, 4000, {"a": statistics}, {}, {"a": 4000})
                found.append(dp.estimate(aggregate, "a"))
            for each in ("raw", "values", "low", "high", "standard_errors", "covariance"):
                assert np.allclose(getattr(found[0], each), getattr(found[1], each), rtol=1e-12, atol=1e-15), each
            unions = [estimate.share_of(["c0", "c2"]) for estimate in found]
            assert np.isclose(unions[0].low, unions[1].low, rtol=1e-12)
