"""Compiled loops and numpy give the same bytes for the same words, and take the same words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpcore import _kernels
from dpcore._random import Source, seeded
from dpcore.mechanisms import Mechanism, RandomizedResponse
from dpcore.privacy.budget import Budget

BUDGETS = [Budget.parse(text) for text in ("0.1", "1", "ln 3", "5")]
# Totals just above 2^31 reject nearly half of all words.
DESIGNS: dict[str, list[Callable[[Budget], Mechanism]]] = {
    "randomized_response": [
        *(lambda budget, k=k: RandomizedResponse.design(budget, categories=k) for k in (2, 3, 16, 1000, 10_000)),
        lambda budget: RandomizedResponse(Budget.parse("22"), 3, (1 << 31) - 1, 1 + (1 << 10)),
    ],
}


class Counted(Source):
    """A seeded source that says how many words were asked for, call after call."""

    def __init__(self, seed: int) -> None:
        self._source, self.calls = seeded(seed), list[int]()

    def words(self, count: int) -> np.ndarray:
        self.calls.append(count)
        return self._source.words(count)

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


def reports_of(mechanism: Mechanism, n: int, seed: int, compiled: bool) -> tuple[bytes, bytes, list[int]]:
    source = Counted(seed)
    with _kernels.compiled(compiled):
        reports = mechanism.privatize(np.random.default_rng(seed).integers(0, mechanism.inputs, n), source)
    assert reports.values.dtype == np.int64
    assert mechanism.accepts(reports).all()
    return reports.level.tobytes(), reports.values.tobytes(), source.calls


def paths_agree(mechanism: Mechanism, n: int, seed: int) -> bool:
    return reports_of(mechanism, n, seed, True) == reports_of(mechanism, n, seed, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_both_paths_give_the_same_bytes(name: str) -> None:
    for number, design in enumerate(DESIGNS[name]):
        for budget in BUDGETS:
            for n in (0, 1, 7, 3001):
                assert paths_agree(design(budget), n, number), (number, budget.text, n)
