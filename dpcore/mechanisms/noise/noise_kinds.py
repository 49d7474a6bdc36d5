"""The two kinds of noise of wavelet coefficients, and how far an honest one goes."""

from __future__ import annotations

import math
from fractions import Fraction

from dpcore.errors import SchemeError, check_one_of
from dpcore.mechanisms.noise import discrete_gaussian, discrete_laplace
from dpcore.privacy.concentrated import check_delta

LAPLACE, GAUSSIAN = "discrete_laplace", "discrete_gaussian"
NOISES = {LAPLACE: discrete_laplace, GAUSSIAN: discrete_gaussian}
TAIL = {LAPLACE: 45, GAUSSIAN: 10}  # an honest |noise| exceeds so many scales with probability below 2^-64
_UNLIKELY = 0.01  # chance that any honest report of a round is refused for its noise


def likely_scales(noise: str, integers: int) -> float:
    """Return scales that the noise of none of so many integers passes, but with probability 0.01; at most `TAIL`."""
    tail = math.log(max(integers, 1) / _UNLIKELY)
    return min(TAIL[noise], tail if noise == LAPLACE else math.sqrt(2 * tail))


def check_noise(noise: str, delta: Fraction, allocation: str) -> None:
    """Raise SchemeError unless there is such a noise, with a delta where it needs one, and it goes with the allocation."""
    check_one_of(tuple(NOISES), noise=noise)
    if noise == LAPLACE:
        if delta != 0:
            raise SchemeError(
                f'delta goes with noise = "{GAUSSIAN}"; leave it out, Laplace noise keeps epsilon without it'
            )
        return
    if delta == 0:
        raise SchemeError(
            f'noise = "{GAUSSIAN}" guarantees no epsilon unless delta is above 0; give delta, such as 1e-9'
        )
    check_delta(delta)
    if allocation != "sample":
        raise SchemeError(f'noise = "{GAUSSIAN}" goes with allocation = "sample", got {allocation!r}')
