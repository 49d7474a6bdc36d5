"""Which reports of wavelet coefficients are taken: integer by integer, beside the same thing said plainly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcore import seeded
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget


def test_one_integer_beyond_its_bound_is_seen_wherever_it_is(subtests: pytest.Subtests) -> None:
    for allocation in ["sample", "split"]:
        with subtests.test(allocation=allocation):
            mechanism = WaveletLaplace.design(Budget.parse("1"), clients=1000, finest_level=3, allocation=allocation)
            n = 40
            honest = mechanism.privatize(np.arange(n) * 7 % mechanism.inputs, seeded(1))
            assert mechanism.accepts(honest).all()
            owners = np.repeat(np.arange(n), np.asarray(mechanism.sizes)[honest.level])
            highest = np.concatenate([mechanism.ranges(level)[1] for level in honest.level.tolist()])
            for position in range(0, len(owners), 3):
                for value, taken in (
                    (highest[position], True),
                    (-highest[position], True),
                    (highest[position] + 1, False),
                    (-highest[position] - 1, False),
                    (np.iinfo(np.int64).min, False),
                ):
                    values = honest.values.copy()
                    values[position] = value
                    good = mechanism.accepts(replace(honest, values=values))
                    assert good[owners[position]] == taken
                    assert good.sum() == n - (not taken)


def test_a_report_of_an_unknown_level_among_others_is_refused_alone() -> None:
    mechanism = WaveletLaplace.design(Budget.parse("1"), clients=1000, finest_level=3)
    honest = mechanism.privatize(np.zeros(20, dtype=np.int64), seeded(1))
    level = np.insert(honest.level, [0, 7, 20], 200).astype(np.uint8)
    values = honest.values.copy()
    values[0] = 2**62  # of the first that is known
    for good in (
        mechanism.accepts(replace(honest, level=level)),
        mechanism.is_likely(replace(honest, level=level), 10**6),
    ):
        assert np.flatnonzero(~good).tolist() == [0, 8, 22]
    found = mechanism.accepts(replace(honest, level=level, values=values))
    assert np.flatnonzero(~found).tolist() == [0, 1, 8, 22]
