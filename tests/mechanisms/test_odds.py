"""The odds of every mechanism's reports, against the audit's enumeration and an obvious one of pairs of rows."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest

from dpcore.audit import audit_mechanism
from dpcore.mechanisms import DyadicWave, LocalHashing, Mechanism, SquareWave, SubsetSelection
from dpcore.mechanisms.calibration.level_sampling import TOTAL
from dpcore.mechanisms.categorical.text_hashing import TextHashing
from dpcore.mechanisms.numeric.crossed_wave import CrossedWave
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.odds import odds_of, total_variation
from dpcore.mechanisms.registry import BY_TYPE
from dpcore.privacy.budget import Budget

ONE, TOLD = Budget.parse("1"), {"categories": 6, "points": 0, "clients": 10_000, "at_most": 2, "least_size": 1}
OWN = {
    "dyadic_wave": {"cells": 16, "levels": 3, "widths": [7, 9, 5]},
    "square_wave": {"cells": 32},
    "wavelet_laplace": {"cells": 128, "degree": 1, "finest_level": 3},
}
KINDS = {name: kind for kinds in BY_TYPE.values() for name, kind in kinds.items()}
FINITE = [name for name in KINDS if name != "wavelet_laplace"]


def made(name: str, epsilon: str, **told: Any) -> Mechanism:
    kind = KINDS[name]
    options = {key: TOLD[key] for key in kind.declared.scheme_facts} | OWN.get(name, {}) | told
    return kind.design(Budget.parse(epsilon), **options)


def by_pairs(mechanism: Mechanism) -> Fraction:
    """The largest total variation over all pairs of input cells, of the rows of the listed channel and the law of levels."""
    channel = mechanism.channel()
    assert channel is not None
    law = getattr(mechanism, "level_law", (TOTAL,))
    levels = []
    for share, weights in zip(law, channel, strict=True):
        rows = weights.astype(object)
        (total,) = set(rows.sum(axis=1))  # of every cell the same
        differences = np.concatenate(
            [np.abs(rows[cell + 1 :] - rows[cell]).sum(axis=1) for cell in range(len(rows) - 1)]
        )
        levels.append([Fraction(share * int(each), sum(law) * int(total)) for each in differences])
    return max(map(sum, zip(*levels, strict=True))) / 2  # type: ignore[arg-type]


def test_oracles_of_few_categories(subtests: pytest.Subtests) -> None:
    for name in [
        each for each in FINITE if not each.endswith("wave") and each not in ("set_selection", "text_hashing")
    ]:
        for categories in [2, 3, 5]:
            with subtests.test(name=name, categories=categories):
                mechanism = made(name, "2", categories=categories)
                assert total_variation(mechanism) == by_pairs(mechanism)


def test_other_designs(subtests: pytest.Subtests) -> None:
    for mechanism in [
        SubsetSelection.design(ONE, categories=7, size=3),
        LocalHashing.design(ONE, categories=5, bins=3),
        SquareWave.design(ONE, cells=8, widths=[15]),
        SquareWave.design(ONE, cells=8, widths=[1]),
        CrossedWave.design(ONE, cells=8),
        CrossedWave.design(ONE, cells=8, widths=[3, 31, 3, 3]),
        DyadicWave.design(ONE, cells=8, widths=[3, 5, 7]),
        DyadicWave(ONE, 8, (1, 2, 1), (30000, 20000, 15536), ((178145, 65536),) * 3, (1, 0, 4)),  # of no octaves
        DyadicWave.design(ONE, cells=8, widths=[5, 5, 3, 5]),  # no pair is as far apart as can be at every level
    ]:
        with subtests.test(mechanism=mechanism):
            assert total_variation(mechanism) == by_pairs(mechanism)


def test_texts_have_the_odds_of_their_buckets() -> None:
    mechanism = TextHashing.design(Budget.parse("2"), symbols=26, length=8, buckets=16)
    texts = mechanism.symbols_of(np.array([bytes([a, b]) for a in range(1, 27) for b in range(1, 27)], dtype="S8"))
    buckets = np.stack([mechanism.hashed(texts, row) for row in range(len(mechanism.sizes))])
    apart = int((buckets[:, 1:] != buckets[:, :1]).sum(axis=0).max())
    assert apart == len(buckets)  # in every row
    oracle = mechanism.oracle
    assert total_variation(mechanism) == by_pairs(oracle) == total_variation(oracle)
    assert odds_of(mechanism).ratio == oracle.certificate().kept


def test_a_mechanism_of_another_kind_is_read_by_its_channel() -> None:
    mechanism = made("randomized_response", "1")
    assert Mechanism.total_variation(mechanism) == total_variation(mechanism)


def test_noise_tells_no_more_than_its_bound(subtests: pytest.Subtests) -> None:
    """By the likelihoods of drawn noise: for pairs of cells, the mean of max(0, 1 - Pr'(z) / Pr(z)) is the total variation."""
    for told in [{}, {"allocation": "split"}, {"noise": "discrete_gaussian", "delta": Fraction(1, 10**6)}]:
        with subtests.test(told=told):
            mechanism = made("wavelet_laplace", "2", **told)
            assert isinstance(mechanism, WaveletLaplace)
            odds = odds_of(mechanism)
            kept = audit_mechanism(mechanism).loss.rational
            assert (
                0 <= mechanism.loss - kept <= (1e-5 if mechanism.is_gaussian else 0)
            )  # the audit's order is a better one
            assert exp(mechanism.loss) * (1 - 1e-12) < odds.ratio < exp(mechanism.loss) * (1 + 1e-12)
            most, generator = 0.0, np.random.default_rng(3)
            tables, scales = mechanism.tables, mechanism.noise_scales
            shares = np.array(mechanism.level_law) / TOTAL if mechanism.is_sampled else None
            for first, second in generator.integers(0, mechanism.cells, (40, 2)):
                steps = [(table[first] - table[second]) / scale for table, scale in zip(tables, scales, strict=True)]
                each = [
                    _told(step, mechanism.is_gaussian, generator)
                    for step in (steps if shares is not None else [np.concatenate(steps)])
                ]
                most = max(most, float(shares @ each) if shares is not None else each[0])
            assert 0.4 * float(odds.variation) < most < float(odds.variation) + 0.01
            assert not odds.is_exact
            assert odds.delta == mechanism.delta


def _told(step: np.ndarray, is_gaussian: bool, generator: np.random.Generator) -> float:
    """The total variation of noise of scale one, and the same moved, by 5,000 draws."""
    shape = (5000, len(step))
    noise = generator.standard_normal(shape) if is_gaussian else generator.laplace(size=shape)
    losses = ((noise - step) ** 2 - noise**2) / 2 if is_gaussian else np.abs(noise - step) - np.abs(noise)
    return float(np.maximum(0, -np.expm1(-losses.sum(axis=1))).mean())


def test_one_integer_with_laplace_noise_is_told_as_its_law_says() -> None:
    """An odd step of small noise, of which the total variation is a sum of few terms; the bound is above it by little."""
    from dpcore.mechanisms.odds import _laplace

    for step, scale in ((1, 1), (3, 1), (4, 1), (7, 3), (20, 7)):
        law = [exp(-abs(z) / scale) for z in range(-60 * scale, 60 * scale)]
        total = sum(law)
        exact = sum(abs(p - q) for p, q in zip(law, [0.0] * step + law, strict=False)) / (2 * total)
        found = float(_laplace(Fraction(step, scale), [(1, scale)]))
        assert exact - 1e-12 < found < exact + 0.2 / scale**2
