"""The truncated mean in R^d under Kullback-Leibler, approximate and smooth differential privacy [BarberDuchi2014].

theta = (1/n) sum pi_T(X_i) + W, pi_T the projection on the ball of radius T, for laws with E |X|^k <= r^k.  Records are
rounded to a lattice of T / 2^12, their projections to one of T / 2^20; sums and noise are integers of the latter.  Records
whose squares would not fit a float are brought nearer first.  T balances the bias, r^k / T^{k-1}, with the noise
(Proposition 6).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, inf, isqrt, log, log1p, sqrt
from typing import Any, ClassVar, cast

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import CalibrationError, InvalidRecord, SchemeError, check_positive, check_whole, check_within
from dpcore.laboratory.central.base import CuratorMechanism, laplace_scale
from dpcore.laboratory.central.laplace_mechanism import Answer
from dpcore.mechanisms.base import Certificate
from dpcore.mechanisms.noise import discrete_gaussian, discrete_laplace
from dpcore.privacy.budget import Budget

INPUT = 1 << 12  # lattice steps to T of records
OUTPUT = 1 << 20  # and of their projections
_FARTHEST = 2.0**480  # lattice steps of a record in each coordinate: its square, summed over coordinates, stays finite
_RADII = (1e-100, 1e100)  # which leave as much room


class TruncatedMean(ABC):
    """What the three have in common: radius T > 0, dimension d, and integer noise on the sum of projections."""

    radius: float
    dimension: int
    scale: int

    @abstractmethod
    def noise(self, random: Source) -> np.ndarray:
        """Return the noise of the sum in lattice steps, (d,), int64."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """The variance of each coordinate of the noise, in lattice steps squared."""

    def release(self, records: Any, random: Source) -> Answer:
        """Return the noisy truncated mean, (d,); records: (n, d) finite numbers, (n,) for d = 1."""
        x = np.asarray(records, dtype=np.float64)
        x = x[:, None] if x.ndim == 1 else x
        if x.ndim != 2 or x.shape[1] != self.dimension or not len(x) or not np.all(np.isfinite(x)):
            raise InvalidRecord(f"records must be at least one finite point of R^{self.dimension}, got shape {x.shape}")
        total = projected(x, self.radius).sum(axis=0) + self.noise(random)
        unit = self.radius / (OUTPUT * len(x))
        error = np.full(self.dimension, sqrt(self.noise_variance) * unit)
        return Answer(total * unit, error, np.full(self.dimension, self.scale * unit))


def projected(x: np.ndarray, radius: float) -> np.ndarray:
    """Return the projections of points (n, d), finite, on the ball of that radius, in steps of radius / 2^20, int64.

    A coordinate beyond 2^480 lattice steps counts as that: a projection too, on a box, so that no two points move apart.
    """
    with np.errstate(over="ignore"):
        rounded = np.clip(np.rint(x * (INPUT / radius)), -_FARTHEST, _FARTHEST)
    lengths = np.sqrt((rounded**2).sum(axis=1, keepdims=True))
    return np.rint(rounded * (OUTPUT / np.maximum(lengths, INPUT))).astype(np.int64)


def l2_sensitivity(dimension: int) -> int:
    """Return a bound on how far one record moves the sum: two projections are 2 T apart, rounding adds sqrt(d) / 2 each."""
    return 2 * OUTPUT + isqrt(dimension) + 1


def l1_per_distance(dimension: int) -> int:
    """Return D such that the integer projections of records a, b differ by at most D rho(a, b) in the l1 norm.

    rho = min(1, |a - b|_2 / (2 T)) between rounded records (21).  Projection does not stretch, so that |pi(a) - pi(b)|_1 is at
    most sqrt(d) 2 T rho; rounding adds d steps, and rho >= 1 / (2 2^12) wherever a and b differ: d <= 2 2^12 d rho.
    """
    return (isqrt(dimension * (2 * OUTPUT) ** 2) + 1) + 2 * INPUT * dimension


class _GaussianMean(TruncatedMean):
    """A truncated mean with discrete Gaussian noise of scale s on each coordinate."""

    def noise(self, random: Source) -> np.ndarray:
        return discrete_gaussian.sample(self.scale, self.dimension, random)

    @property
    def noise_variance(self) -> float:
        return float(self.scale**2)


@dataclass(frozen=True)
class KullbackLeiblerMean(_GaussianMean):
    """Gaussian noise of scale s: D_KL(Q(.|x) || Q(.|y)) <= alpha for all neighbours, alpha > 0.

    Privacy.  1. Sums of neighbours are integer vectors at most D apart.  2. Discrete Gaussians D apart have divergence at most
    D^2 / (2 s^2).  3. The constructor refuses more than alpha.
    """

    name: ClassVar[str] = "truncated_mean_kl"

    alpha: float
    radius: float
    dimension: int
    scale: int

    def __post_init__(self) -> None:
        check_positive(alpha=self.alpha)
        _check_shape(self, discrete_gaussian.LARGEST)
        if self.certified_loss > Fraction(self.alpha):
            raise CalibrationError(
                f"the divergence would be {float(self.certified_loss):.6g}, above alpha = {self.alpha}; use `design`"
            )

    @classmethod
    def design(cls, alpha: float, *, n: int, moment: float, bound: float, dimension: int = 1) -> KullbackLeiblerMean:
        """Return Proposition 6 (i): T = r (n^2 alpha / d)^{1/(2k)}, k = `moment` > 1 (inf: T = r), r = `bound`."""
        check_positive(alpha=alpha)
        _check_moment(n, moment, bound, dimension)
        radius = bound * (n**2 * alpha / dimension) ** (1 / (2 * moment))
        scale = _gaussian(ceil(l2_sensitivity(dimension) / sqrt(2 * alpha)) + 1)
        return cls(alpha, radius, dimension, scale)

    @property
    def certified_loss(self) -> Fraction:
        """D^2 / (2 s^2)."""
        return Fraction(l2_sensitivity(self.dimension) ** 2, 2 * self.scale**2)


@dataclass(frozen=True)
class ApproximateMean(_GaussianMean):
    """Gaussian noise of scale s: Q(A|x) <= e^epsilon Q(A|y) + delta for all neighbours and all A.

    Privacy.  1. Sums of neighbours are integer vectors at most D apart.  2. Discrete Gaussians D apart have Renyi divergences
    of at most a D^2 / (2 s^2) of every order a.  3. Each order gives a delta; the constructor refuses where the least exceeds
    `delta`.
    """

    name: ClassVar[str] = "truncated_mean_approximate"

    epsilon: float
    delta: float
    radius: float
    dimension: int
    scale: int

    def __post_init__(self) -> None:
        _check_approximate(self.epsilon, self.delta)
        _check_shape(self, discrete_gaussian.LARGEST)
        if self.certified_loss > self.delta:
            raise CalibrationError(f"delta would be {self.certified_loss:.6g}, above {self.delta}; use `design`")

    @classmethod
    def design(
        cls, epsilon: float, delta: float, *, n: int, moment: float, bound: float, dimension: int = 1
    ) -> ApproximateMean:
        """Return Proposition 6 (ii): T = r (n^2 epsilon^2 / (d log(1/delta)))^{1/(2k)}.

        The noise has s = D sqrt(2 log(1.25/delta)) / epsilon, or more.
        epsilon: at most 1 in the proposition, 64 here; beyond 1 the scale is enlarged until it keeps delta.  delta: in (0, 1).
        """
        _check_approximate(epsilon, delta)
        _check_moment(n, moment, bound, dimension)
        radius = bound * (n**2 * epsilon**2 / (dimension * log(1 / delta))) ** (1 / (2 * moment))
        scale = ceil(l2_sensitivity(dimension) * sqrt(2 * log(1.25 / delta)) / epsilon)
        while approximate_delta(l2_sensitivity(dimension), scale, epsilon) > delta:
            scale += scale >> 6
        return cls(epsilon, delta, radius, dimension, _gaussian(scale))

    @property
    def certified_loss(self) -> float:
        """The least delta that a Renyi order proves."""
        return approximate_delta(l2_sensitivity(self.dimension), self.scale, self.epsilon)


@dataclass(frozen=True)
class SmoothMean(TruncatedMean, CuratorMechanism):
    """Laplace noise of scale t on each coordinate: Q(A|x) <= exp(epsilon d_rho(x, y)) Q(A|y) for all databases x, y and all A.

    d_rho = sum_i min(1, |x_i - y_i|_2 / (2 T)) over the rounded records: close records are harder still to tell apart.

    Privacy.  Claim: as above, and so epsilon-differential privacy, for d_rho <= 1 between neighbours.
        1. The integer sums of x and y differ by at most D d_rho(x, y) in the l1 norm: `l1_per_distance`.
        2. The noise is discrete Laplace on the same lattice: the ratio is at most exp(|difference|_1 / t).
        3. So it is at most exp(D d_rho / t).
        4. The constructor refuses D / t > a rational lower bound of epsilon.
        5. kappa = t^-1 is n epsilon / (2 T sqrt(d)) per unit of the mean, as in the source, but for the rounding.

    Raises CalibrationError where the scale breaks the claim.
    """

    name: ClassVar[str] = "truncated_mean_smooth"

    budget: Budget
    radius: float
    dimension: int
    scale: int

    def __post_init__(self) -> None:
        _check_shape(self, WORD)
        self._refuse_unless_kept("take the noise's scale from `design`")

    @classmethod
    def design(cls, budget: Budget, *, n: int, moment: float, bound: float, dimension: int = 1) -> SmoothMean:
        """Return Proposition 6 (iii): T = r (n epsilon / d)^{1/k}."""
        _check_moment(n, moment, bound, dimension)
        radius = bound * (n * float(budget) / dimension) ** (1 / moment)
        return cls(budget, radius, dimension, laplace_scale(l1_per_distance(dimension), budget))

    def certificate(self) -> Certificate:
        most = l1_per_distance(self.dimension)
        return Certificate("loss", Fraction(most, self.scale), self.budget, (most,))

    def noise(self, random: Source) -> np.ndarray:
        return discrete_laplace.sample(self.scale, self.dimension, random)

    @property
    def noise_variance(self) -> float:
        return discrete_laplace.variance(self.scale)


def risk_bound(mechanism: TruncatedMean, *, n: int, moment: float, bound: float) -> float:
    """Return a bound on E |theta_hat - theta|^2: r^{2k} / T^{2k-2} + r^2 / n + E |W|^2 (31); no bias for moment inf."""
    bias = 0.0 if moment == inf else bound**2 * (bound / mechanism.radius) ** (2 * moment - 2)
    unit = mechanism.radius / (OUTPUT * n)
    return bias + bound**2 / n + mechanism.dimension * mechanism.noise_variance * unit**2


def _check_shape(mechanism: TruncatedMean, largest: int) -> None:
    check_within(*_RADII, radius=mechanism.radius)
    check_whole(1, 1 << 24, dimension=mechanism.dimension)
    check_whole(1, largest, scale=mechanism.scale)


def _check_moment(n: int, moment: float, bound: float, dimension: int) -> None:
    check_positive(n=n, bound=bound)
    check_whole(1, 1 << 24, dimension=dimension)
    if not moment > 1:
        raise SchemeError(f"moment must be above 1 (inf for bounded records), got {moment}")


def _check_approximate(epsilon: float, delta: float) -> None:
    check_positive(epsilon=epsilon, delta=delta)
    check_within(0, 64, epsilon=epsilon)
    if not delta < 1:
        raise SchemeError(f"delta must be below 1, where nothing would be promised, got {delta}")


def _gaussian(scale: int) -> int:
    if scale > discrete_gaussian.LARGEST:
        raise CalibrationError(
            f"a Gaussian scale of {scale} lattice steps is above 2^30; allow a larger divergence or epsilon"
        )
    return scale


def approximate_delta(sensitivity: float, s: float, epsilon: float) -> float:
    """Return a delta for which noise of scale s on integer vectors of that l2 sensitivity is (epsilon, delta)-private.

    The least over Renyi orders a of exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1), rho = (sensitivity / s)^2 / 2: any
    order is a proof ([Canonne2020], corollary 13).
    """
    rho = (sensitivity / s) ** 2 / 2
    orders = 1 + np.geomspace(1e-3, 1e5, 4000)
    logs = [(a - 1) * (a * rho - epsilon) + a * log1p(-1 / a) - np.log(a - 1) for a in orders]
    return exp(min(0.0, *cast(list[float], logs)))
