"""How a wave's levels are chosen for a purpose: the solution of a stated problem, once for each epsilon.

A pattern is a level that a wave could have: a line of some width, or a circle that goes around the interval k times, with a
window of some width.  Near the uniform density the log density is sum_k s_k sqrt(2) cos(pi k x); I_j is the information of one
report of pattern j about s, Q_o a prior's precision: s has unit variance, its frequencies falling as k^(-2 o).  Of shares w,
with V = (n sum_j w_j I_j + Q_o)^{-1}, the shares minimise

    mean over o, n of [ log tr V + distribution log sum_k V_kk / (pi k)^2 ] + price log m' (sum_j w_j I_j)^{-1} m,

the Bayes errors of the curve and of the distribution function over orders o of 1 to 3, or some of them, and n = 10^4, 10^5 and
10^6, and the variance of the corrected mean, whose functional is m; `PRICES` has their weights.  It is convex in w:
shares are multiplied by the root of their gradient until they stay [Yu2010].  Then patterns are joined until few are left, each
of them of enough clients, and their windows moved while that lowers the criterion.

No density enters it.  Run `python -m dpcore.laboratory.studies.design.wave_purposes` to make the table of
`calibration.purposes` anew; `ldpflow benchmark accuracy --methods dyadic_wave,dyadic_wave_both,dyadic_wave_curve` measures the
designs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from types import MappingProxyType

import numpy as np

from dpcore.estimation.diagnostics.efficiency import information, precisions_of
from dpcore.mechanisms.calibration import wave_design
from dpcore.mechanisms.calibration.wave_design import CELLS, Pattern
from dpcore.mechanisms.numeric.wave import wave_weights
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.mechanisms.wave_level import Wave
from dpcore.privacy.budget import Budget

CLIENTS = (1e4, 1e5, 1e6)
_FREQUENCIES = 48
_HARMONICS = (1, 2, 4, 8)  # thirds gain .5 % at epsilon 1 and need inputs that are no power of two
_WIDEST_LINE, _WIDEST_CIRCLE = 31, 19  # half widths
_FEW, _LEAST_SHARE = 5, 0.02
_NOTHING, _LITTLE = 1e-4, 1e-3  # shares: of a pattern that is left out at once, and of one that moves no window
_STEPS, _AGAIN = 200, 25
_WORTH = 1e-4  # of the criterion, for a window to be moved


@dataclass(frozen=True)
class Price:
    """distribution: what its error counts beside the curve's.  mean: the price on the variance of the corrected mean.

    orders: of the priors.
    """

    distribution: float = 0.0
    mean: float = 0.0
    orders: tuple[int, ...] = (1, 2)


PRICES: Mapping[str, Price] = MappingProxyType({"both": Price(0.3, 0.08), "curve": Price(orders=(1, 2, 3))})

Design = tuple[tuple[Pattern, ...], np.ndarray]  # patterns, and their shares, (J,)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised over shares of patterns, (J,), whose information is (J, 48, 48).

    clients: what the errors are averaged over.
    """

    price: Price
    clients: Sequence[float] = CLIENTS

    def value(self, informations: np.ndarray, shares: np.ndarray) -> float:
        """Return the criterion; lower is better."""
        curve, distribution, mean = errors(informations, shares, self.clients, self.price.orders)
        return float(
            np.log(curve).mean()
            + self.price.distribution * np.log(distribution).mean()
            + self.price.mean * np.log(mean)
        )

    def gradient(self, informations: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return by how much more of each pattern lowers the criterion, (J,)."""
        together = np.tensordot(shares, informations, 1)
        covariances = _covariances(together, self.clients, self.price.orders)
        slope = np.zeros_like(together)
        for n, covariance in covariances:
            scaled = covariance / _ANGLES**2
            slope += n * covariance @ covariance / np.trace(covariance) / len(covariances)
            slope += self.price.distribution * n * scaled @ covariance / np.trace(scaled) / len(covariances)
        if self.price.mean:
            weights = np.linalg.solve(together, _mean())
            slope += self.price.mean * np.outer(weights, weights) / (_mean() @ weights)
        return np.einsum("ij,pij->p", slope, informations)

    def solve(self, informations: np.ndarray, shares: np.ndarray | None = None, steps: int = _STEPS) -> np.ndarray:
        """Return the best shares, (J,), from where shares are, even ones where None [Yu2010]."""
        shares = np.full(len(informations), 1 / len(informations)) if shares is None else shares / shares.sum()
        for _ in range(steps):
            shares = shares * np.sqrt(self.gradient(informations, shares))
            shares /= shares.sum()
        return shares


_ANGLES = np.pi * np.arange(1, _FREQUENCIES + 1)


def errors(
    informations: np.ndarray, shares: np.ndarray, clients: Sequence[float], orders: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the integrated squared errors of curve and distribution function, (priors,) each, and n times the mean's
    variance.
    """
    together = np.tensordot(shares, informations, 1)
    diagonals = np.array([np.diag(covariance) for _, covariance in _covariances(together, clients, orders)])
    return (
        diagonals.sum(axis=1),
        (diagonals / _ANGLES**2).sum(axis=1),
        float(_mean() @ np.linalg.solve(together, _mean())),
    )


def _covariances(
    together: np.ndarray, clients: Sequence[float], orders: Sequence[int]
) -> list[tuple[float, np.ndarray]]:
    """Of each prior and number of clients the posterior's covariance, (48, 48)."""
    covariances = []
    for order, n in product(orders, clients):
        covariances.append((n, np.linalg.inv(n * together + np.diag(precisions_of(order, _FREQUENCIES)))))
    return covariances


def search(epsilon: float, problem: Problem, few: int = _FEW) -> Design:
    """Return at most `few` patterns, each of at least 2 % of the clients, and their shares, that minimise the criterion."""
    every = patterns()
    shares = problem.solve(informations(epsilon, every))
    design = _few(epsilon, problem, (every, shares), few)
    return _few(epsilon, problem, _moved(epsilon, problem, design), few)


def _few(epsilon: float, problem: Problem, design: Design, few: int) -> Design:
    """Patterns joined, the rarest first, until they are few and none is rare."""
    held = {pattern: share for pattern, share in zip(*design, strict=True) if share > _NOTHING}
    while True:
        chosen = tuple(held)
        shares = problem.solve(informations(epsilon, chosen), np.array(list(held.values())), _AGAIN)
        if len(chosen) <= few and shares.min() >= _LEAST_SHARE:
            return chosen, problem.solve(informations(epsilon, chosen), shares)
        held = _joined(dict(zip(chosen, shares.tolist(), strict=True)))


def _joined(held: dict[Pattern, float]) -> dict[Pattern, float]:
    """Without the rarest pattern, whose share goes to the nearest of its harmonic, which moves towards it."""
    rarest = min(held, key=lambda pattern: held[pattern])
    share = held.pop(rarest)
    near = min(
        (other for other in held if other[0] == rarest[0]), key=lambda other: abs(other[1] - rarest[1]), default=None
    )
    if near is None or share < _LITTLE:
        return held
    middle = (near[0], round((near[1] * held[near] + rarest[1] * share) / (held[near] + share)))
    place = middle if middle not in held else near
    return {place if pattern == near else pattern: w + share * (pattern == near) for pattern, w in held.items()}


def _moved(epsilon: float, problem: Problem, design: Design) -> Design:
    """Windows a cell wider or narrower on both sides, as long as one of them lowers the criterion."""
    chosen, shares = design
    every, best, moved = set(patterns()), problem.value(informations(epsilon, chosen), shares), True
    while moved:
        moved = False
        for place, step in product(range(len(chosen)), (-1, 1)):
            harmonic, half_width = chosen[place]
            other = (harmonic, half_width + step)
            if other in chosen or other not in every:
                continue
            tried = (*chosen[:place], other, *chosen[place + 1 :])
            solved = problem.solve(informations(epsilon, tried), shares, _AGAIN)
            value = problem.value(informations(epsilon, tried), solved)
            if value < best - _WORTH:
                chosen, shares, best, moved = tried, solved, value, True
    return chosen, shares


@lru_cache(maxsize=1)
def patterns() -> tuple[Pattern, ...]:
    """Return all that are tried: a circle around the interval once whose window is one cell is a line of one cell."""
    lines = [(0, half_width) for half_width in range(_WIDEST_LINE + 1)]
    circles = product(_HARMONICS, range(_WIDEST_CIRCLE + 1))
    return (*lines, *(pattern for pattern in circles if pattern != (1, 0)))


def informations(epsilon: float, chosen: Sequence[Pattern]) -> np.ndarray:
    """Return the Fisher information of one report of each pattern at the uniform density, (J, 48, 48)."""
    return np.array([_information(epsilon, *pattern) for pattern in chosen])


@cache
def _information(epsilon: float, harmonic: int, half_width: int) -> np.ndarray:
    weights = wave_weights(Budget.parse(f"{epsilon:g}"), CELLS, half_width, circular=harmonic > 0)
    shift = (_HARMONICS[-1] // max(1, harmonic)).bit_length() - 1
    wave = Wave(CELLS * _HARMONICS[-1], CELLS, shift, half_width, harmonic > 0, *weights)
    return information(FiniteChannel((wave,), np.ones(1)), _FREQUENCIES)


def _mean() -> np.ndarray:
    """The mean of x under each cosine, (48,)."""
    return np.asarray(np.sqrt(2) * (np.cos(_ANGLES) - 1) / _ANGLES**2)


def main() -> None:
    """Print the table of `calibration.purposes`."""
    for purpose, price in PRICES.items():
        print(f'        "{purpose}": (')  # noqa: T201
        for epsilon in wave_design.PURPOSE_EPSILONS:
            chosen, shares = search(epsilon, Problem(price))
            rows = ", ".join(f"({k}, {h}, {round(1000 * w)})" for (k, h), w in zip(chosen, shares, strict=True))
            print(f"            ({float(epsilon)}, ({rows})),", flush=True)  # noqa: T201
        print("        ),")  # noqa: T201


if __name__ == "__main__":
    main()
