"""Minimax rates and rates of methods, as functions of n, epsilon, dimension and smoothness, constants left out.

Tables 1 and 2 of [WassermanZhou2010] (trusted curator, fixed epsilon), density, atomic and smooth functionals of [Szabo2024]
with the exponent `a` of its budget split, int f^2 of [Butucea2023], Lipschitz densities of [BarberDuchi2014].  Exponents are
fractions: a measured slope of log error in log n is compared with `exponent`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpcore.errors import check_positive


@dataclass(frozen=True)
class Term:
    """n^-size epsilon^-privacy log(n)^log.

    >>> Term(Fraction(1, 2), Fraction(1))(10_000, 0.5)
    0.02
    """

    size: Fraction
    privacy: Fraction = Fraction(0)
    log: Fraction = Fraction(0)

    def __call__(self, n: float, epsilon: float = 1.0) -> float:
        """Return the term at n >= 2 and epsilon > 0."""
        return float(n**-self.size * epsilon**-self.privacy * math.log(n) ** self.log)


@dataclass(frozen=True)
class Rate:
    """An error up to its constant: the terms taken together by max, min or sum, which give the same exponent but for min.

    The function that returns it defines the error.
    """

    terms: tuple[Term, ...]
    together: Callable[[Iterable[float]], float] = max

    def __call__(self, n: float, epsilon: float = 1.0) -> float:
        """Return the rate at n >= 2 and epsilon > 0."""
        return self.together([term(n, epsilon) for term in self.terms])

    @property
    def exponent(self) -> Fraction:
        """Minus the slope of log error in log n at a fixed epsilon, logarithms left out."""
        sizes = [term.size for term in self.terms]
        return max(sizes) if self.together is min else min(sizes)


def density(p: int, q: int = 0, a: Fraction = Fraction(0)) -> Rate:
    """Return the squared error, at a point or integrated, of the q-th derivative of a density with p derivatives.

    Theorem 1 of [Szabo2024], (n epsilon^2 / log^{2a} n)^{-2(p-q)/(2p+2)} or n^{-2(p-q)/(2p+1)}, whichever is larger;
    the minimax rate [Duchi2018] with a = 0.

    >>> density(1).exponent, direct_density(1).exponent
    (Fraction(1, 2), Fraction(2, 3))
    """
    return _local(2 * Fraction(p - q), p, 2 * a)


def density_adaptive(p: int, q: int = 0, a: Fraction = Fraction(0)) -> Rate:
    """Return the error, not squared, of the level that Lepski's rule chooses: a logarithm more [Szabo2024]."""
    private = _local(Fraction(p - q), p, 1 + 2 * a).terms[0]
    direct = Fraction(p - q, 2 * p + 1)
    return Rate((private, Term(direct, log=direct)))


def direct_density(p: int, q: int = 0, dimension: int = 1) -> Rate:
    """Return the squared error without privacy, n^{-2(p-q)/(2p+d)}."""
    return Rate((Term(Fraction(2 * (p - q), 2 * p + dimension)),))


def atomic(p: int, s: int, a: Fraction = Fraction(0)) -> Rate:
    """Return the error of an atomic functional of index s, p > s (theorem 2 of [Szabo2024]).

    >>> atomic(2, 0).exponent, atomic(2, 1).exponent
    (Fraction(1, 3), Fraction(1, 6))
    """
    return _local(Fraction(p - s), p, 2 * a)


def smooth() -> Rate:
    """Return the error of a smooth functional, n^{-1/2} or (n epsilon^2)^{-1/2} (theorem 3 of [Szabo2024])."""
    return Rate((Term(Fraction(1, 2), Fraction(1)), Term(Fraction(1, 2))))


def integrated_square(s: float | Fraction, *, interactive: bool = False) -> Rate:
    """Return the error of int f^2 with smoothness s > 0 under local privacy [Butucea2023].

    Without interaction (n epsilon^2)^{-4s/(4s+3)}, with it (n epsilon^2)^{-2s/(2s+1)}, and never better than
    (n epsilon^2)^{-1/2}: the elbows are at s = 3/4 and s = 1/2.

    >>> [integrated_square(Fraction(s, 4)).exponent for s in (2, 3, 4)]
    [Fraction(2, 5), Fraction(1, 2), Fraction(1, 2)]
    """
    s = Fraction(s)
    check_positive(smoothness=s)
    rough = 2 * s / (2 * s + 1) if interactive else 4 * s / (4 * s + 3)
    return Rate((Term(rough, 2 * rough), Term(Fraction(1, 2), Fraction(1))))


def direct_integrated_square(s: float | Fraction) -> Rate:
    """Return the error of int f^2 without privacy, n^{-4s/(4s+1)} or n^{-1/2}: its elbow is at s = 1/4."""
    s = Fraction(s)
    return Rate((Term(4 * s / (4 * s + 1)), Term(Fraction(1, 2))))


def elbow(n: float, p: int) -> float:
    """Return the epsilon at which the private rate of a density with p derivatives meets the other, n^{1/(4p+2)}."""
    return float(n ** (1 / (4 * p + 2)))


def central_lipschitz_density(dimension: int = 1) -> Rate:
    """Return the squared error for Lipschitz densities on [0, 1]^d with a trusted curator, (18) of [BarberDuchi2014]."""
    private = Fraction(2, dimension + 1)
    return Rate((Term(Fraction(2, dimension + 2)), Term(private, private)), sum)


def free_epsilon(n: float, dimension: int = 1) -> float:
    """Return the least epsilon at which privacy costs a Lipschitz density no rate with a trusted curator, n^{-1/(d+2)}."""
    return float(n ** (-1 / (dimension + 2)))


# Tables 1 and 2 of Wasserman and Zhou: a trusted curator, epsilon fixed, r dimensions


def smoothed_histogram(r: int = 1) -> tuple[Rate, Rate]:
    """Return the squared L2 error n^{-2/(2r+3)} and the Kolmogorov-Smirnov error sqrt(log n) n^{-2/(6+r)}."""
    return Rate((Term(Fraction(2, 2 * r + 3)),)), Rate((Term(Fraction(2, 6 + r), log=Fraction(1, 2)),))


def perturbed_histogram(r: int = 1) -> tuple[Rate, Rate]:
    """Return n^{-2/(2+r)} and min(sqrt(log n / n), log n n^{-2/(2+r)})."""
    size = Fraction(2, 2 + r)
    half = Fraction(1, 2)
    return Rate((Term(size),)), Rate((Term(half, log=half), Term(size, log=Fraction(1))), min)


def exponential_mechanism() -> Rate:
    """Return the Kolmogorov-Smirnov error n^{-1/3}, which has no L2 beside it in the table."""
    return Rate((Term(Fraction(1, 3)),))


def lipschitz_minimax(r: int = 1) -> tuple[Rate, Rate]:
    """Return n^{-2/(2+r)} and n^{-1/2}, what is best without privacy."""
    return direct_density(1, 0, r), Rate((Term(Fraction(1, 2)),))


def series_exponential(gamma: int | Fraction) -> Rate:
    """Return the squared L2 error n^{-gamma/(2 gamma+1)} in a Sobolev space of order gamma > 1."""
    return Rate((Term(Fraction(gamma) / (2 * Fraction(gamma) + 1)),))


def series_perturbed(gamma: int | Fraction) -> Rate:
    """Return the squared L2 error n^{-2 gamma/(2 gamma+1)}, which is the minimax rate without privacy."""
    return Rate((Term(2 * Fraction(gamma) / (2 * Fraction(gamma) + 1)),))


def _local(numerator: Fraction, p: int, log: Fraction) -> Rate:
    """(n epsilon^2 / log^log n)^{-numerator/(2p+2)} or n^{-numerator/(2p+1)}."""
    private = numerator / (2 * p + 2)
    return Rate((Term(private, 2 * private, log * private), Term(numerator / (2 * p + 1))))
