"""Both noises against their exact laws: every branch of their draws in fractions, tails and scales off by 2 % by counting.

Laws are sums of exp(-|y| / t) and exp(-y^2 / (2 s^2)), to 50 digits, and for large scales in doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

from dpcore._random import WORD, Source, seeded
from dpcore.mechanisms.noise import discrete_gaussian, discrete_laplace
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from tests.helpers.branching import Branching, law_of
from tests.helpers.cases import of_each_kind
from tests.helpers.statistical import draws_for_law, law_agrees

POWER = {discrete_laplace: 1, discrete_gaussian: 2}  # of |y| in the exponent
LAST = {discrete_laplace: 5, discrete_gaussian: 3}  # scales, beyond which a planted tail is half of what is due
LEFT = {
    discrete_laplace: 2e-3,
    discrete_gaussian: 0.03,
}  # probability that is not followed: a Gaussian's many coins branch
EDGES = np.array([-10, -8, -6, -5, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10])  # in scales
ONE = Budget.parse("1")
NOISY = {
    "laplace": WaveletLaplace.design(ONE, degree=1, finest_level=3, cells=128),
    "split": WaveletLaplace.design(ONE, degree=1, finest_level=3, cells=128, allocation="split"),
    "gaussian": WaveletLaplace.design(
        ONE, degree=1, finest_level=3, cells=128, noise="discrete_gaussian", delta=Fraction(1, 10**6)
    ),
}
both = pytest.mark.parametrize("noise", [discrete_laplace, discrete_gaussian], ids=["laplace", "gaussian"])


def exponential(x: Fraction) -> Fraction:
    """exp(-x), to 50 digits."""
    with localcontext(prec=60):
        return Fraction((-Decimal(x.numerator) / Decimal(x.denominator)).exp())


def exponent(noise: ModuleType, y: int, scale: int) -> Fraction:
    return Fraction(abs(y), scale) if noise is discrete_laplace else Fraction(y * y, 2 * scale * scale)


def is_within(probability: Fraction, seen: Fraction, unknown: Fraction) -> bool:
    return seen <= probability <= seen + unknown


def law(noise: ModuleType, scale: float, reach: int) -> np.ndarray:
    """Probabilities of -reach..reach, in doubles."""
    weights = np.exp(-((np.abs(np.arange(-reach, reach + 1)) / scale) ** POWER[noise]) / POWER[noise])
    return np.asarray(weights / weights.sum())


def cells_of(y: np.ndarray, scale: int) -> np.ndarray:
    return np.searchsorted(np.floor(EDGES * scale), y, side="right")


def agrees_and_tells_planted(noise: ModuleType, scale: int, n: int, draw: Callable[[int], np.ndarray]) -> bool:
    """Whether sums of n draws are of their law, and of none 2 % off, nor of one with half its tails."""
    reach = 45 * scale
    y = np.arange(-reach, reach + 1)
    single = law(noise, scale, reach)
    laws = [single, *(law(noise, scale * off, reach) for off in (0.98, 1.02))]
    laws.append(np.where(np.abs(y) > LAST[noise] * scale, single / 2, single))
    width = round(scale * math.sqrt(n))
    true, *planted = (np.bincount(cells_of(_added(each, n), width), _powered(each, n), len(EDGES) + 1) for each in laws)
    planted = planted if n == 1 else planted[:2]
    counts = np.bincount(cells_of(draw(max(draws_for_law(true, each) for each in planted)), width), minlength=len(true))
    return law_agrees(counts, true) and not any(law_agrees(counts, each) for each in planted)


def _added(single: np.ndarray, n: int) -> np.ndarray:
    reach = n * (len(single) // 2)
    return np.arange(-reach, reach + 1)


def _powered(single: np.ndarray, n: int) -> np.ndarray:
    powered = single
    for _ in range(n - 1):
        powered = np.convolve(powered, single)
    return powered


@pytest.mark.parametrize("t", [1, 2, 5, (1 << 31) + 1, WORD])
def test_a_coin_is_exp_of_its_fraction(t: int) -> None:
    """From 2^31 on no word holds t k, and trial k is two draws."""
    for u in {0, t // 3, t // 2, t - 1}:
        seen, unknown = law_of(lambda source, u=u: bool(discrete_laplace.bernoulli_exp(np.array([u]), t, source)[0]))
        assert is_within(exponential(Fraction(u, t)), seen[True], unknown)


def test_a_coin_of_one_is_one_in_e() -> None:
    seen, unknown = law_of(lambda source: bool(discrete_laplace._bernoulli_inverse_e(1, source)[0]))
    assert is_within(exponential(Fraction(1)), seen[True], unknown)


@pytest.mark.parametrize("s", [1, 2, 5, discrete_gaussian.LARGEST])
def test_a_coin_is_exp_of_half_its_square(s: int) -> None:
    for v in {0, s // 3, s // 2, s - 1}:
        seen, unknown = law_of(
            lambda source, v=v: bool(discrete_gaussian._bernoulli_half_square(np.array([v]), s, source)[0])
        )
        assert is_within(exponential(Fraction(v * v, 2 * s * s)), seen[True], unknown)


def test_a_geometric_has_powers_of_one_in_e() -> None:
    seen, unknown = law_of(lambda source: int(discrete_laplace._geometric(1, source)[0]), 4e-3)
    for times in range(8):
        assert is_within(
            exponential(Fraction(times)) * (1 - exponential(Fraction(1))), seen.get(times, Fraction(0)), unknown
        )


def one_draw(noise: ModuleType, scale: int, source: Source) -> int | None:
    """One proposal of a client's sampler, None where it is refused."""
    proposed = discrete_laplace._propose(scale, 1, source)
    if noise is discrete_gaussian:
        proposed = proposed[discrete_gaussian._keeps(proposed, scale, source)]
    return int(proposed[0]) if len(proposed) else None


@both
@pytest.mark.parametrize("scale", of_each_kind([1, 2, 3, 4], 2))
def test_a_proposal_has_the_exact_law(noise: ModuleType, scale: int) -> None:
    """U is one of t, V successes of 1/e and the sign a half; kept, it has exp(-(|y| - s)^2 / (2 s^2)) beside."""
    seen, unknown = law_of(lambda source: one_draw(noise, scale, source), LEFT[noise])
    share = (1 - exponential(Fraction(1))) / (2 * scale)
    if noise is discrete_gaussian:
        share *= exponential(Fraction(1, 2))
    assert max(abs(y) for y in seen if y is not None) > scale
    for y in range(-8 * scale, 8 * scale + 1):
        assert is_within(share * exponential(exponent(noise, y, scale)), seen.get(y, Fraction(0)), unknown), y


@pytest.mark.parametrize("s", of_each_kind([1, 2, 3, 7], 2))
def test_far_proposals_of_a_gaussian_are_kept_as_they_should(s: int) -> None:
    for y in {0, s - 1, -s, s + 1, 2 * s - 1, -2 * s, 3 * s - 1, -3 * s, 4 * s}:
        seen, unknown = law_of(lambda source, y=y: bool(discrete_gaussian._keeps(np.array([y]), s, source)[0]), 4e-3)
        assert is_within(exponential(Fraction((abs(y) - s) ** 2, 2 * s * s)), seen.get(True, Fraction(0)), unknown)


@both
@pytest.mark.parametrize("scale", of_each_kind([1, 2, 5, 50, 20_000], 5))
def test_draws_have_the_exact_tails_and_no_scale_two_hundredths_off(noise: ModuleType, scale: int) -> None:
    assert agrees_and_tells_planted(noise, scale, 1, lambda count: noise.sample(scale, count, seeded([scale, 1])))


@both
@pytest.mark.parametrize(("n", "scale"), of_each_kind([(1, 5), (2, 5), (10, 3), (20, 1)], (1, 5), (10, 3)))
def test_simulated_sums_have_the_convolved_law_to_two_hundredths(noise: ModuleType, n: int, scale: int) -> None:
    assert agrees_and_tells_planted(
        noise, scale, n, lambda count: noise.simulate_sums(n, scale, count, seeded([scale, n]))
    )


@both
@pytest.mark.parametrize("scale", [1, 2, 10])
def test_laws_and_variances_are_sums(noise: ModuleType, scale: int) -> None:
    y = range(-50 * scale, 50 * scale + 1)
    weights = [exponential(exponent(noise, value, scale)) for value in y]
    total = sum(weights)
    exact = np.array([float(weight / total) for weight in weights])
    assert noise.pmf(np.array(y), scale) == pytest.approx(exact, rel=1e-12)
    variance = float(sum(weight * value * value for weight, value in zip(weights, y, strict=True)) / total)
    assert noise.variance(scale) == pytest.approx(variance, rel=1e-6)


def test_each_block_has_the_noise_of_its_scale_and_nothing_else(subtests: pytest.Subtests) -> None:
    """What clients send, less their rows, is what the sampler draws of the same words."""
    for name in NOISY:
        with subtests.test(name=name):
            mechanism = NOISY[name]
            noise = discrete_gaussian if mechanism.is_gaussian else discrete_laplace
            values, sizes = np.arange(5), [mechanism.basis.size(block) for block in range(mechanism.basis.blocks)]
            for level, blocks in enumerate(
                [[block] for block in range(len(sizes))] if mechanism.is_sampled else [range(len(sizes))]
            ):
                sent = mechanism.privatize(values, seeded(level), np.full(5, level, dtype=np.uint8)).values.reshape(
                    5, -1
                )
                rows = np.concatenate([mechanism.tables[block][values] for block in blocks], axis=1)
                source = seeded(level)
                drawn = [
                    noise.sample(mechanism.noise_scales[block], 5 * sizes[block], source).reshape(5, -1)
                    for block in blocks
                ]
                assert np.array_equal(sent - rows, np.concatenate(drawn, axis=1))


def test_what_is_followed_adds_up_and_what_is_compared_is_not_drawn_again() -> None:
    def bounded(source: Branching) -> tuple[int, bool]:
        return int(source.residues(3, 1).astype(np.int64)[0]), bool((source.below(WORD, 1) >= np.array([1 << 30]))[0])

    seen, unknown = law_of(bounded, 0)
    assert unknown == 0
    assert seen == {(digit, above): Fraction(3 if above else 1, 12) for digit in range(3) for above in (False, True)}
    drawn = Branching().residues(5, 1)
    assert not (drawn < 0)[0]
    with pytest.raises(AssertionError):
        np.asarray(drawn)
