"""What a sum of many alike numbers exceeds a line by, beside every sum there is."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest

from dpcore.privacy.shuffling.sums import excess


def test_it_is_what_all_sums_together_are_above(subtests: pytest.Subtests) -> None:
    """A line just above the mean tilts by next to nothing: a difference of one and the ratio of a geometric sum cancels there.

    Plainly taken it is off by 7e-8 of 2^17 waves, of the 1e-6 that a published figure allows for rounding.
    """
    for length in [1 << 12, 1 << 17]:
        for part in [0.0, 1e-6, 1e-2]:
            with subtests.test(length=length, part=part):
                random = np.random.default_rng(4)
                for many in (1, 2, 5):
                    grid = np.array([-7.0, -2.0, 1.0, 6.0])
                    law = random.dirichlet(np.ones(4))
                    mean = float(law @ grid)
                    line = many * (mean + part * (float(grid.max()) - mean))
                    sums = np.array([sum(each) for each in product(grid, repeat=many)])
                    chances = np.array([prod(each) for each in product(law, repeat=many)])
                    found, beside = excess(grid, law, many, length, line)
                    assert found == pytest.approx(chances @ np.maximum(sums - line, 0), rel=2e-9)
                    assert 0 <= beside < 1e-9
