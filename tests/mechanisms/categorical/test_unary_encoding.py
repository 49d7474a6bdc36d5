from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore._random import Source, seeded
from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms import _kernels
from dpcore.mechanisms.categorical import unary_encoding
from dpcore.mechanisms.categorical.unary_encoding import VARIANTS, UnaryEncoding
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.budget import Budget
from tests.helpers.cases import every_value_once
from tests.helpers.enumeration import law_of_clients


def _bits(mechanism: UnaryEncoding, reports: Reports) -> np.ndarray:
    """The reports' bits, (n, k), the obvious way."""
    rows = reports.values.reshape(len(reports), -1)
    return np.array([[int(row[x // 32]) >> (x % 32) & 1 for x in range(mechanism.categories)] for row in rows])


def test_the_clients_code_has_exactly_the_channel_it_certifies(subtests: pytest.Subtests) -> None:
    for true, other in [(2, 1), (3, 1), (3, 2)]:
        for k in [2, 3]:
            with subtests.test(true=true, other=other, k=k):
                mechanism = UnaryEncoding(
                    Budget.parse("ln 9"), k, 2, true, other
                )  # bits of two random bits: all can be tried
                (weights,) = mechanism.channel()
                combinations = 4 * (1 << k) ** 2  # the true bit's draw, and two words of which k bits matter
                for x in range(k):
                    law = law_of_clients(mechanism, x, combinations, width=k)
                    said = [law.get((z,), 0) for z in range(1 << k)]
                    wasted = combinations // 4**k  # the coin of the true category's bit, overwritten
                    assert said == [int(weight) * wasted for weight in weights[x]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_coin_is_a_comparison_with_the_weight(variant: str) -> None:
    """32 comparisons at once against one after the other, over the very words."""
    mechanism = UnaryEncoding.design(Budget.parse("1"), categories=64, variant=variant)
    words = np.random.default_rng(1).integers(0, 1 << 32, (32, 50), dtype=np.uint32)
    # the first word ties with the weight in all but its last bits, so that all bits are looked at
    words[:, 0] = [0xFFFFFFFF if mechanism.weight_other >> bit & 1 else 0 for bit in range(32)]
    words[0, 0] = 0x0000FFFF

    class Given(Source):
        def __init__(self) -> None:
            self.left = list(words)

        def words(self, count: int) -> np.ndarray:
            return self.left.pop(0)

        def generator(self) -> np.random.Generator:
            raise AssertionError

        def spawn(self, *key: int) -> Source:
            return self

    coins = mechanism._coins(50, Given())
    for integer in range(50):
        for place in range(32):
            uniform = sum(int(words[bit, integer] >> place & 1) << bit for bit in range(32))
            assert coins[integer] >> place & 1 == (uniform < mechanism.weight_other)


@pytest.mark.parametrize(("k", "variant"), every_value_once([2, 31, 32, 33, 64, 10_000], VARIANTS))
def test_bits_are_packed_and_counted_as_they_were_set(k: int, variant: str) -> None:
    mechanism = UnaryEncoding.design(Budget.parse("3"), categories=k, variant=variant)
    n = 40 if k == 10_000 else 2000
    values = np.random.default_rng(k).integers(0, k, n)
    values[:2] = 0, k - 1
    reports = mechanism.privatize(values, seeded(k))
    assert reports.values.shape == (n * mechanism.sizes[0],)
    bits = _bits(mechanism, reports)
    assert np.array_equal(mechanism.statistics(reports), bits.sum(axis=0))
    own = bits[np.arange(n), values]
    p, q = float(mechanism.truth_probability), float(mechanism.other_probability)
    assert abs(own.mean() - p) < 6 * np.sqrt(p * (1 - p) / n)
    others = (bits.sum() - own.sum()) / (n * (k - 1))
    assert abs(others - q) < 6 * np.sqrt(q * (1 - q) / (n * (k - 1)))


def test_however_many_reports_each_bit_is_counted(subtests: pytest.Subtests) -> None:
    for n, k in [(1, 2), (255, 32), (257, 33), (700, 2), (3, 10_000), (300, 200)]:
        for is_compiled in [False, True]:
            with subtests.test(n=n, k=k, is_compiled=is_compiled), pytest.MonkeyPatch.context() as monkeypatch:
                monkeypatch.setattr(_kernels, "_machine_code", lambda loop: loop)  # the loop as it is written
                mechanism = UnaryEncoding.design(Budget.parse("1"), categories=k)
                rows = np.random.default_rng(n).integers(0, 2, (n, k))
                words = np.packbits(np.pad(rows, ((0, 0), (0, -k % 32))).astype(np.uint8), axis=1, bitorder="little")
                sent = Reports(np.zeros(n, dtype=np.uint8), words.view("<u4").astype(np.int64).reshape(-1))
                with _kernels.compiled(is_compiled):
                    assert mechanism.statistics(sent).tolist() == rows.sum(axis=0).tolist()
                assert mechanism.marginals(sent).tolist() == np.bincount(rows.sum(axis=1), minlength=k + 1).tolist()
                monkeypatch.setattr(unary_encoding, "_COUNTED", 64)
                monkeypatch.setattr(unary_encoding, "_DRAWN", 64)
                with _kernels.compiled(is_compiled):
                    assert mechanism.statistics(sent).tolist() == rows.sum(axis=0).tolist()
                assert mechanism.marginals(sent).tolist() == np.bincount(rows.sum(axis=1), minlength=k + 1).tolist()


def test_unused_bits_are_zero_and_no_client_sends_others() -> None:
    mechanism = UnaryEncoding.design(Budget.parse("0.5"), categories=35)
    reports = mechanism.privatize(np.arange(35), seeded(1))
    assert mechanism.accepts(reports).all()
    assert (reports.values[1::2] < 8).all()
    for position, bad in [(5, 8), (5, -1), (4, 1 << 32), (4, -1)]:
        values = reports.values.copy()
        values[position] = bad
        accepted = mechanism.accepts(Reports(reports.level, values))
        assert np.flatnonzero(~accepted).tolist() == [2]
    assert not mechanism.accepts(Reports(reports.level, reports.values[:-1])).any()
    level = reports.level.copy()
    level[3] = 1
    accepted = mechanism.accepts(Reports(level, np.delete(reports.values, [6, 7])))
    assert np.flatnonzero(~accepted).tolist() == [3]


def test_the_variances_of_the_literature() -> None:
    e = np.exp(2.0)
    optimized = UnaryEncoding.design(Budget.parse("2"), categories=9)
    symmetric = UnaryEncoding.design(Budget.parse("2"), categories=9, variant="symmetric")
    assert optimized.variance(0.0, 1) == pytest.approx(4 * e / (e - 1) ** 2, rel=1e-6)
    assert symmetric.variance(0.0, 1) == pytest.approx(np.exp(1.0) / (np.exp(1.0) - 1) ** 2, rel=1e-6)


def test_weights_that_break_the_promise_are_refused() -> None:
    kept = UnaryEncoding.design(Budget.parse("1"), categories=4)
    with pytest.raises(CalibrationError, match="weight_other < weight_true"):
        replace(kept, weight_true=kept.total)  # the true bit always one: its absence would tell
    with pytest.raises(SchemeError, match="variant"):
        UnaryEncoding.design(Budget.parse("1"), categories=4, variant="best")


def test_any_budget_is_kept(subtests: pytest.Subtests) -> None:
    for variant in VARIANTS:
        for epsilon in ["0.0001", "8", "20", "45"]:
            with subtests.test(variant=variant, epsilon=epsilon):
                mechanism = UnaryEncoding.design(Budget.parse(epsilon), categories=4, variant=variant)
                assert 1 < mechanism.certificate().kept <= mechanism.budget.ratio_floor


def test_a_budget_too_small_for_the_weights_is_refused() -> None:
    with pytest.raises(SchemeError, match="too small"):
        UnaryEncoding.design(Budget.parse("0.0000000001"), categories=4)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("k", [64, 10_000])
def test_one_pair_of_coordinates_shows_the_whole_loss(variant: str, k: int) -> None:
    """Given x or y the other bits have one law, so the four outcomes of the two coordinates' bits show every ratio."""
    mechanism = UnaryEncoding.design(Budget.parse("1"), categories=k, variant=variant)
    total, one, other = 1 << mechanism.coin_bits, mechanism.weight_true, mechanism.weight_other

    def weight(true: int, bits: tuple[int, int]) -> int:
        weights = [one if position == true else other for position in (0, 1)]
        return int(np.prod([w if bit else total - w for w, bit in zip(weights, bits, strict=True)], dtype=object))

    outcomes = [(a, b) for a in (0, 1) for b in (0, 1)]
    ratio = max(Fraction(weight(0, bits), weight(1, bits)) for bits in outcomes)
    assert ratio == mechanism.certificate().kept <= mechanism.budget.ratio_floor
