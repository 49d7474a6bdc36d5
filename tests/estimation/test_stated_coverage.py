"""Intervals of channels of others hold, whose reports are made here as their documents tell it, one after another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms.categorical.unary_encoding import packed
from dpcore.mechanisms.reports import Reports
from dpcore.protocol.aggregates import Aggregate

CLIENTS, K = 1500, 6
LAW = np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
F, P, Q = 0.5, 0.5, 0.75
RATE = 0.4


def scheme(form: str, rates: str) -> dp.Scheme:
    return dp.Scheme.from_toml(
        f'name = "s"\n[attributes.a]\ntype = "categorical"\ncategories = {[f"c{i}" for i in range(K)]}\nmechanism = "stated"\n'
        f'form = "{form}"\nrates = {rates}\n'
    )


def rappor(value: int, random: np.random.Generator) -> list[int]:
    """One report of the paper [Erlingsson2014, section 2]: signal B, permanent bits B', and what is sent, S."""
    report = []
    for bit, (u, v) in enumerate(random.random((K, 2)).tolist()):
        b = int(bit == value)
        permanent = 1 if u < F / 2 else 0 if u < F else b
        report.append(int(v < (Q if permanent else P)))
    return report


def attribution(value: int, random: np.random.Generator) -> int:
    """One report of the documents: with probability RATE one of all outputs alike, else the true one."""
    return int(random.integers(K)) if random.random() < RATE else value


def of_bits(reports: list[list[int]]) -> Reports:
    return Reports(np.zeros(len(reports), dtype=np.uint8), packed(np.array(reports, dtype=bool)))


def of_outputs(reports: list[int]) -> Reports:
    return Reports(np.zeros(len(reports), dtype=np.uint8), np.array(reports))


TWINS: dict[str, tuple[dp.Scheme, Callable[..., object], Callable[..., Reports]]] = {
    "rappor": (scheme("rappor", f"{{ f = {F}, p = {P}, q = {Q} }}"), rappor, of_bits),
    "attribution_reporting": (scheme("attribution_reporting", f"{{ rate = {RATE} }}"), attribution, of_outputs),
}


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [200, pytest.param(600, marks=pytest.mark.nightly("a study"))])
@pytest.mark.parametrize("name", TWINS)
def test_the_intervals_hold_as_often_as_they_say(name: str, rounds: int) -> None:
    """Errors 30 % too small hold .87, which 200 rounds reject in all but one of a million times; those too large hold .99."""
    asked, one, together = TWINS[name]
    mechanism, held = asked.attributes["a"].mechanism, 0
    random = np.random.default_rng(5)
    for _ in range(rounds):
        values = random.choice(K, CLIENTS, p=LAW)
        statistics = mechanism.statistics(together([one(value, random) for value in values.tolist()]))
        low, high = dp.estimate(Aggregate(asked, CLIENTS, {"a": statistics}, {}, {"a": CLIENTS}), "a").interval(0.95)
        held += int(np.sum((low <= LAW) & (high >= LAW)))
    assert 0.93 <= held / (rounds * K) <= 0.97


def test_the_mechanism_draws_as_the_documents_do(subtests: pytest.Subtests) -> None:
    """Each share of what is said, given the value, is that of the twin, to five standard errors."""
    for name in TWINS:
        with subtests.test(name=name):
            asked, one, together = TWINS[name]
            mechanism, random, n = asked.attributes["a"].mechanism, np.random.default_rng(6), 4000
            for value in (0, K - 1):
                theirs = mechanism.statistics(together([one(value, random) for _ in range(n)])) / n
                ours = mechanism.statistics(mechanism.privatize(np.full(n, value), dp.seeded(7))) / n
                assert np.all(np.abs(theirs - ours) < 5 * np.sqrt(0.5 / n))
                counts = np.zeros(K, dtype=np.int64)
                counts[value] = n
                assert np.all(np.abs(theirs - mechanism.simulate(counts, dp.seeded(8)) / n) < 5 * np.sqrt(0.5 / n))
