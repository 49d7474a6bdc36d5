"""The exact sampler against its exact law; sums against theirs; no float on the client's path."""

from __future__ import annotations

import ast
import inspect
import math
import time
from collections.abc import Callable

import numpy as np
import pytest
import scipy
from scipy import stats

from dpcore._random import WORD, Source, secure, seeded
from dpcore.errors import SchemeError
from dpcore.mechanisms import _kernels
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.mechanisms.noise.discrete_laplace import sample, simulate_sums, variance
from tests.helpers.statistical import (
    draws_for_law,
    draws_for_mean,
    draws_for_variance,
    law_agrees,
    mean_agrees,
    variance_agrees,
)

LAPLACE = 6.0  # the kurtosis
EDGES = stats.laplace.ppf(np.linspace(0, 1, 33))  # of 32 cells, equally likely at scale one


def histogram(drawn: np.ndarray, reach: int) -> np.ndarray:
    """Counts of -reach..reach, the tails folded into the two ends."""
    return np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)


def folded(t: float, reach: int) -> np.ndarray:
    q = math.exp(-1 / t)
    law = (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1.0))
    law[[0, -1]] /= 1 - q
    return law


def continuous(scale: float) -> np.ndarray:
    return np.diff(stats.laplace(scale=scale).cdf(EDGES))


def follow(counts: np.ndarray, law: Callable[[float], np.ndarray]) -> bool:
    """Whether counts are of the law of scale one, and of none whose scale is off by 30 %."""
    assert counts.sum() >= draws_for_scale(law)
    return law_agrees(counts, law(1)) and not law_agrees(counts, law(1.3)) and not law_agrees(counts, law(0.7))


def draws_for_scale(law: Callable[[float], np.ndarray]) -> int:
    return max(draws_for_law(law(1), law(scale)) for scale in (1.3, 0.7))


def test_large_scales_follow_the_continuous_law_they_approach(subtests: pytest.Subtests) -> None:
    """Beyond 2^32 / k the Bernoulli(u / (t k)) is drawn as two: both branches are seen here."""
    for t in [230_000, WORD // 3, WORD - 1, WORD]:
        with subtests.test(t=t):
            drawn = sample(t, max(draws_for_scale(continuous), draws_for_variance(1.3, LAPLACE)), seeded([t, 2])) / t
            assert follow(np.histogram(drawn, EDGES)[0], continuous)
            assert variance_agrees(drawn * t, variance(t))
            assert not variance_agrees(drawn * t, 1.3 * variance(t))


def test_the_operating_systems_randomness_gives_the_same_law() -> None:
    def law(scale: float) -> np.ndarray:
        return folded(4 * scale, 24)

    counts = histogram(sample(4, draws_for_law(law(1), law(1.3)), secure()), 24)
    assert law_agrees(
        counts, law(1)
    )  # what is drawn anew each time is held to the truth alone, which it misses once in 1e9


def test_low_bits_say_nothing_about_the_centre() -> None:
    """Float noise is porous; here every residue modulo 16 is equally likely, whatever the shift."""
    porous = np.tile([1.3, 0.7], 8)  # odd and even
    drawn = sample(10_000, draws_for_law(np.ones(16), porous), seeded(8))
    for shift in (0, 1, 7):
        residues = np.bincount((drawn + shift) % 16, minlength=16)
        assert law_agrees(residues, np.ones(16))
        assert not law_agrees(residues, porous)


def test_the_variance_stays_accurate_for_large_scales() -> None:
    for t in (10**6, 2**32):  # 2 q / (1 - q)^2 = 2 t^2 - 1/6 + O(t^-2)
        assert variance(t) == pytest.approx(2.0 * t * t - 1 / 6, rel=1e-13)


class Spy(Source):
    """A source that notes the type of whatever it hands out, and has no generator."""

    def __init__(self) -> None:
        self._source = seeded(3)
        self.types: set[np.dtype] = set()

    def words(self, count: int) -> np.ndarray:
        return self._source.words(count)

    def residues(self, bound: int, count: int) -> np.ndarray:
        assert isinstance(bound, int)
        drawn = super().residues(bound, count)
        self.types.add(drawn.dtype)
        return drawn

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


def test_the_sampler_sees_integers_only() -> None:
    spy = Spy()
    drawn = sample(1000, 5000, spy)
    assert drawn.dtype == np.int64
    assert spy.types == {np.dtype(np.uint32)}


def test_the_samplers_source_holds_no_float_and_no_division() -> None:
    clients_half = [sample, *(getattr(discrete_laplace, name) for name in ("_propose", "bernoulli_exp", "_geometric"))]
    clients_half += [discrete_laplace.first_failure_is_odd, discrete_laplace._bernoulli_inverse_e]
    clients_half += [discrete_laplace._settled, _kernels.settled]
    called = set()
    for function in clients_half:
        tree = ast.parse(inspect.getsource(function))
        for node in ast.walk(tree):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), function.__name__
            assert not isinstance(node, ast.Div), function.__name__
            assert not (isinstance(node, ast.Attribute) and node.attr.startswith("float")), function.__name__
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called.add(node.func.id)
    # and what they call is in the list
    assert {name for name in called if name.startswith("_")} <= {function.__name__ for function in clients_half}


def test_single_draws_of_a_simulation_have_the_same_law_at_large_scales() -> None:
    drawn = simulate_sums(1, 20_000, draws_for_scale(continuous), seeded(31)) / 20_000
    assert follow(np.histogram(drawn, EDGES)[0], continuous)


def test_the_difference_of_two_poisson_variables_is_the_rounded_gaussian_it_is_drawn_as() -> None:
    mean = discrete_laplace._GAUSSIAN_MEAN
    spread = math.sqrt(2 * mean)
    y = np.arange(-12_000, 12_001)
    poissons = scipy.special.ive(np.abs(y), 2 * mean)  # Skellam's law with equal means
    gaussian = scipy.stats.norm.cdf((y + 0.5) / spread) - scipy.stats.norm.cdf((y - 0.5) / spread)
    assert poissons.sum() == pytest.approx(1, abs=1e-12)
    assert np.abs(poissons - gaussian).sum() / 2 < 2.0**-24


def test_sums_of_many_draws_keep_mean_and_variance(subtests: pytest.Subtests) -> None:
    for n, t in [(10**6, 230_000), (10**10, 230_000), (10**10, 1), (10**10, WORD), (3, WORD), (4_000_000, 262_144)]:
        with subtests.test(n=n, t=t):
            kurtosis = 3 + (LAPLACE - 3) / n
            draws = max(draws_for_mean(0.3), *(draws_for_variance(stated, kurtosis) for stated in (1.3, 0.7)))
            sums = simulate_sums(n, t, draws, seeded([n, t, 9])).astype(float)
            spread = n * variance(t)
            assert mean_agrees(sums, 0)
            assert variance_agrees(sums, spread)
            assert not variance_agrees(sums, spread * 1.3)
            assert not variance_agrees(sums, spread * 0.7)


def test_nobody_adds_nothing() -> None:
    assert simulate_sums(0, 100, 3, seeded(1)).tolist() == [0, 0, 0]
    assert sample(5, 0, seeded(1)).shape == (0,)


@pytest.mark.parametrize("t", [0, -3, WORD + 1])
def test_scales_out_of_range_are_refused(t: int) -> None:
    for call in (lambda: sample(t, 1, seeded(1)), lambda: simulate_sums(1, t, 1, seeded(1))):
        with pytest.raises(SchemeError, match="noise_scale"):
            call()


def test_a_million_draws_take_about_a_quarter_second() -> None:
    """Measured 0.17 s seeded, 0.24 s secure, of the processor, whatever else the machine does; the bound leaves room."""
    start = time.process_time()
    sample(230_000, 250_000, seeded(1))
    assert time.process_time() - start < 1.5 / 4


class Far(Source):
    """Words by which every trial of 1/e succeeds so many times, and then none; the sign is minus."""

    def __init__(self, successes: int) -> None:
        self._asked, self._last = 0, 2 * successes + 1

    def words(self, count: int) -> np.ndarray:
        self._asked += 1
        is_zero = self._asked - 1 <= self._last and self._asked % 2
        return np.full(count, 0 if is_zero else 1, dtype=np.uint32)

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


def test_noise_has_no_end(subtests: pytest.Subtests) -> None:
    """A report that one value cannot lead to tells it from all others, however seldom it is sent."""
    for t in [1, 7, 1 << 20, WORD]:
        with subtests.test(t=t):
            assert sample(t, 3, Far(300)).tolist() == [-300 * t] * 3
