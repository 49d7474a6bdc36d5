"""What two reports lose together: enumerated, beside every ratio one by one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

import dpcore as dp
from dpcore.audit import audit_mechanism, audit_scheme, to_json, to_markdown
from dpcore.audit.enumeration.exact_loss import audit_pair
from dpcore.audit.enumeration.loss import Loss
from dpcore.audit.findings import PairAudit
from dpcore.mechanisms import (
    DyadicWave,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from dpcore.privacy.budget import Budget

ONE, LN_3 = Budget.parse("1"), Budget.parse("ln 3")
SMALL = {
    "response": RandomizedResponse.design(LN_3, categories=3),
    "bits": UnaryEncoding.design(ONE, categories=2),
    "symbols": HadamardResponse.design(ONE, categories=3),
    "subset": SubsetSelection.design(ONE, categories=5),
    "hash": LocalHashing.design(ONE, categories=3),
    "wave": SquareWave.design(ONE, cells=4),
}


def _both(one: Mechanism, other: Mechanism) -> PairAudit:
    return audit_pair(("a", "b"), (one, other), (_kept(one), _kept(other)))


@cache
def _kept(mechanism: Mechanism) -> Loss:
    return audit_mechanism(mechanism).loss


def _every_ratio(one: Mechanism, other: Mechanism) -> Fraction:
    """The largest ratio of two probabilities of two reports of level 0, over any two records, one by one."""
    laws = []
    for mechanism in (one, other):
        (weights,) = mechanism.channel() or ()
        laws.append([[Fraction(int(w), int(sum(row))) for w in row] for row in weights])
    rows = [[p * q for p, q in product(left, right)] for left, right in product(*laws)]
    return max(max(column) / min(column) for column in zip(*rows, strict=True))


def test_two_reports_lose_the_product_of_both_ratios(subtests: pytest.Subtests) -> None:
    for one, other in [("response", "bits"), ("symbols", "response"), ("wave", "subset"), ("hash", "wave")]:
        with subtests.test(one=one, other=other):
            found = _both(SMALL[one], SMALL[other])
            assert found.loss == Loss(ratio=_every_ratio(SMALL[one], SMALL[other])) == found.spent
            assert found.holds
            assert found.how.startswith("all ")
            assert "at most the sum of both losses" in found.words


def test_every_two_that_can_be_listed_spend_nothing_together(subtests: pytest.Subtests) -> None:
    for one, other in list(product(SMALL, SMALL)):
        with subtests.test(one=one, other=other):
            found = _both(SMALL[one], SMALL[other])
            assert found.loss == found.spent
            assert found.how.startswith("all ")


def test_levels_are_listed_with_levels() -> None:
    waves = DyadicWave.design(ONE, cells=4, levels=3), DyadicWave.design(Budget.parse("1/2"), cells=4, levels=2)
    uneven = replace(waves[0], weights=((4, 3), waves[0].weights[1], (4, 3)))
    assert len(waves[0].sizes) > 1
    for wave in (waves[0], uneven):
        found = _both(wave, waves[1])
        assert found.loss == found.spent


def test_what_cannot_be_listed_is_the_sum_of_both() -> None:
    noise = (
        dp.Scheme.from_toml(
            'name = "s"\n[attributes.a]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = "1"\n'
            'mechanism = "wavelet_laplace"\ndegree = 1\nfinest_level = 3\ncells = 256\n'
        )
        .attributes["a"]
        .mechanism
    )
    for other in (noise, UnaryEncoding.design(ONE, categories=400)):
        found = _both(SMALL["response"], other)
        assert found.loss == _kept(SMALL["response"]) + _kept(other)
        assert "drawn independently" in found.how


SCHEME = """name = "s"
pairs = [["a", "b"]]
[attributes.a]
type = "categorical"
categories = ["x", "y", "z"]
epsilon = 1
[attributes.b]
type = "categorical"
categories = ["u", "v"]
epsilon = "ln 3"
"""


def test_a_certificate_says_that_a_pair_costs_nothing() -> None:
    audit = audit_scheme(dp.Scheme.from_toml(SCHEME))
    (pair,) = audit.pairs
    assert audit.holds
    assert pair.loss == audit.loss == Loss(ratio=Fraction(3 * 178145, 65536))
    page = to_markdown([audit], "2026-11-24", "1")
    assert "a pair has no epsilon of its own" in page
    assert "- a and b together: ln(534435/65536), at most the sum of both losses; all 6 x 6 weights" in page
    assert '"pair": [' in to_json([audit], "2026-11-24", "1")
    alone = audit_scheme(dp.Scheme.from_toml(SCHEME.replace('pairs = [["a", "b"]]\n', "")))
    assert alone.pairs == ()
    assert "Pairs of attributes" not in to_markdown([alone], "2026-11-24", "1")


def test_two_reports_that_lose_more_than_one_by_one_break_the_scheme() -> None:
    audit = audit_scheme(dp.Scheme.from_toml(SCHEME))
    worse = replace(audit.pairs[0], spent=Loss(ratio=Fraction(8)))
    broken = replace(audit, pairs=(worse,))
    assert not broken.proven
    assert not broken.holds
    assert "s: a and b together: ln(534435/65536), MORE than the sum of both losses" in broken.broken[0]
    shared = audit_pair(
        ("a", "b"), (SMALL["response"], SMALL["bits"]), (Loss(ratio=Fraction(2)), Loss(ratio=Fraction(2)))
    )
    assert not shared.holds
