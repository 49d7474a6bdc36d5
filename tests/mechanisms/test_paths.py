"""Compiled loops and numpy give the same bytes for the same words, and take the same words."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcore._random import Source, seeded
from dpcore.mechanisms import (
    DyadicWave,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    Reports,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    _kernels,
)
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from tests.helpers.enumeration import EveryDraw, law_of_clients

BUDGETS = [Budget.parse(text) for text in ("0.1", "1", "ln 3", "5")]
LN_3 = Budget.parse("ln 3")
EDGE = (1 << 31) + 1  # of words below 2^32, nearly half are past the last multiple of it
DESIGNS: dict[str, list[Callable[[Budget], Mechanism]]] = {
    "randomized_response": [
        *(lambda budget, k=k: RandomizedResponse.design(budget, categories=k) for k in (2, 3, 16, 1000, 10_000)),
        lambda _: RandomizedResponse(LN_3, 2, 3 * (EDGE // 4), EDGE - 3 * (EDGE // 4)),
        lambda _: RandomizedResponse(LN_3, 10_000, 3, 1),
    ],
    "hadamard_response": [
        *(lambda budget, k=k: HadamardResponse.design(budget, categories=k) for k in (2, 3, 16, 1000, 10_000)),
        lambda _: HadamardResponse(LN_3, 5, 3 * (EDGE // 4), EDGE - 3 * (EDGE // 4)),
    ],
    "square_wave": [
        SquareWave.design,
        lambda budget: SquareWave.design(budget, cells=2, widths=[1]),
        lambda budget: SquareWave.design(budget, cells=1024, widths=[1]),
        lambda _: SquareWave(LN_3, 4, 1, 3 * (EDGE // 12), EDGE // 12),
    ],
    "local_hashing": [
        *(lambda budget, k=k: LocalHashing.design(budget, categories=k) for k in (2, 3, 16, 1000, 10_000)),
        lambda _: LocalHashing(LN_3, 60_000 // 6, 65_521, 65_521, 3, 1),
    ],
    "subset_selection": [
        *(lambda budget, k=k: SubsetSelection.design(budget, categories=k) for k in (2, 3, 16, 200)),
        lambda budget: SubsetSelection.design(budget, categories=30, size=29),
        lambda budget: SubsetSelection.design(budget, categories=900, size=1),
    ],
    "unary_encoding": [
        *(lambda budget, k=k: UnaryEncoding.design(budget, categories=k) for k in (2, 31, 32, 33, 200)),
    ],
    "wavelet_laplace": [
        lambda budget: WaveletLaplace.design(budget, degree=1, coarsest_level=2, finest_level=3),
        lambda budget: WaveletLaplace.design(budget, degree=0, coarsest_level=1, finest_level=2, allocation="split"),
        lambda budget: WaveletLaplace.design(
            budget, degree=0, coarsest_level=1, finest_level=2, noise="discrete_gaussian", delta=Fraction(1, 10**6)
        ),
    ],
    "dyadic_wave": [
        DyadicWave.design,
        lambda budget: DyadicWave.design(budget, levels=1, cells=16),
        lambda budget: DyadicWave.design(budget, cells=32, level_law=[1] * 6, widths=[9, 7, 5, 3, 1, 21]),
        lambda budget: DyadicWave.design(budget, cells=2, levels=12, widths=[1] * 12),
        lambda budget: DyadicWave.design(budget, purpose="curve"),
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


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops as they are written: numba takes a second for each."""
    monkeypatch.setattr(_kernels, "_machine_code", lambda loop: loop)
    monkeypatch.setattr(discrete_laplace, "_LOOPED", 1)


def test_the_loops_do_what_numpy_does(uncompiled: None, subtests: pytest.Subtests) -> None:
    for name in DESIGNS:
        with subtests.test(name=name):
            for number, design in enumerate(DESIGNS[name]):
                for n in (0, 1, 40):
                    assert paths_agree(design(LN_3), n, number), (number, n)


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_compiled_they_do_so_too(name: str) -> None:
    for number, design in enumerate(DESIGNS[name]):
        for budget in BUDGETS:
            for n in (0, 1, 7, 5000):
                assert paths_agree(design(budget), n, number), (number, budget.text, n)


def statistics_agree(mechanism: Mechanism, n: int) -> bool:
    reports = mechanism.privatize(np.arange(n) % mechanism.inputs, seeded(n))
    with _kernels.compiled(True):
        counted = mechanism.statistics(reports)
    with _kernels.compiled(False):
        return counted.dtype == np.int64 and np.array_equal(counted, mechanism.statistics(reports))


def test_the_loops_count_as_numpy_does(uncompiled: None, subtests: pytest.Subtests) -> None:
    for mechanism in [
        DyadicWave.design(LN_3, levels=1, cells=16),
        DyadicWave.design(LN_3, cells=32, levels=3),
        LocalHashing(LN_3, 2, 2, 2, 3, 1),
        LocalHashing(LN_3, 16, 17, 3, 3, 1),
        UnaryEncoding.design(LN_3, categories=2),
        UnaryEncoding.design(LN_3, categories=33),
    ]:
        with subtests.test(mechanism=mechanism):
            for n in (0, 1, 255, 600):
                assert statistics_agree(mechanism, n)


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_compiled_they_count_so_too(name: str) -> None:
    for design in DESIGNS[name][:4]:
        for n in (1, 256, 70_000 if name in ("dyadic_wave", "unary_encoding") else 3000):
            assert statistics_agree(design(LN_3), n)


def test_what_no_client_could_send_is_not_counted_out_of_bounds(uncompiled: None) -> None:
    waves, lines = DyadicWave.design(LN_3, cells=8, levels=2), LocalHashing(LN_3, 5, 5, 2, 3, 1)
    outputs = [wave.outputs for wave in waves.waves]
    bad = [
        *((waves, level, (cell,)) for level, cell in ((0, -1), (0, outputs[0]), (1, outputs[1]), (1, -1), (2, 0))),
        *((lines, 0, report) for report in ((0, 0, 0), (5, 0, 0), (1, -1, 0), (1, 5, 0), (1, 0, -1), (1, 0, 2))),
    ]
    for mechanism, level, values in bad:
        with _kernels.compiled(True), pytest.raises(ValueError, match="could not have been sent by any client"):
            mechanism.statistics(Reports(np.array([level], dtype=np.uint8), np.array(values)))


def test_a_loop_with_a_wrong_bound_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = _kernels.randomized_response

    def bound_off_by_one(drawn: Any, values: Any, weight_in: int, weight_out: int, said: Any) -> None:
        honest(drawn, values, weight_in + 1, weight_out, said)

    monkeypatch.setattr(_kernels, "_machine_code", lambda loop: bound_off_by_one)
    assert not paths_agree(RandomizedResponse(LN_3, 7, 3, 1), 150, 1)


def test_either_path_has_exactly_the_channel_that_is_certified(uncompiled: None, subtests: pytest.Subtests) -> None:
    for compiled in [True, False]:
        for mechanism in [
            RandomizedResponse(LN_3, 4, 3, 1),
            HadamardResponse(LN_3, 3, 3, 1),
            LocalHashing(LN_3, 3, 3, 2, 3, 1),
            SquareWave(LN_3, 4, 1, 3, 1),
            DyadicWave(LN_3, 4, (1, 1), (1 << 15, 1 << 15), ((3, 1), (3, 1))),
        ]:
            with subtests.test(compiled=compiled, mechanism=mechanism):
                weights = mechanism.channel()
                assert weights is not None
                for level, table in enumerate(weights):
                    total = int(table[0].sum())
                    for true in range(mechanism.inputs):
                        source = EveryDraw()
                        with _kernels.compiled(compiled):
                            reports = mechanism.privatize(np.full(total, true), source, np.full(total, level))
                        assert source.combinations == total
                        assert (
                            np.bincount(outputs_of(mechanism, reports), minlength=table.shape[1]).tolist()
                            == table[true].tolist()
                        )


def outputs_of(mechanism: Mechanism, reports: Reports) -> np.ndarray:
    """The column of the channel that each report is in."""
    if not isinstance(mechanism, LocalHashing):
        return reports.values
    slope, shift, said = reports.values.reshape(-1, 3).T
    return ((slope - 1) * mechanism.prime + shift) * mechanism.bins + said


def test_a_loop_draws_every_subset_as_often_as_is_certified(uncompiled: None) -> None:
    mechanism = SubsetSelection(LN_3, 4, 2, 3, 1)
    (weights,) = mechanism.channel() or ()
    draws = mechanism.total * 2 * 3  # whether it holds the truth, and Floyd's two numbers
    for true in range(4):
        with _kernels.compiled(True):
            law = law_of_clients(mechanism, true, draws)
        subsets = itertools.combinations(range(4), 2)
        seen = [Fraction(law.get(subset, 0), draws) for subset in subsets]
        assert seen == [Fraction(int(weight), int(weights[true].sum())) for weight in weights[true]]
