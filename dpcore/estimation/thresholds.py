"""What a density's estimate takes for much, little or nothing: every number in it that somebody chose, in one place.

`log_spline_fit`, `one_step_correction` and `bounded_influence` decide by these twelve alone.  Beside each stands where it comes
from, and what half and twice of it do to lengths in the same rounds of ten laws at three places, one each (`python -m
tests.estimation.test_thresholds`): intervals hold as often, give or take one of thirty.  The prior's two spreads and an atom's
mean square are in `log_spline_family`, what a lattice must be worth in `discreteness`.
"""

from __future__ import annotations

from math import log

from dpcore.estimation.functional_estimate import normal_quantile

# Levels: of the coarsest space in which a correction looks for what a fit left, of the finest such and of the fit, and of the
# finest fit.  256 pieces are two input cells each: less is not seen.  A correction in V_7 costs every cdf 1.4 times its error,
# one in V_4 alone says a third of the error of int f^2 of a claw.
COARSEST, LEVEL, FINEST = 4, 6, 8

# How often a test errs, to one side: an atom or a power told from none (2.05 standard errors), a prior rejected.  What is true
# has less than this share of another's marginal likelihood no more often, by Markov's inequality.  Half: curved numbers 1.1 to
# 1.3 times as long; twice: as long, density's squared error .99.  Atoms and powers told at one standard error, before they
# shared this, gave .57 to 4.5 times the squared error, at four 1.0 to 2.5.
ERROR = 0.02

# The weight below which a model is left out of an average, and a path of models is left; the chance that reports are as far
# from a fit as they are, below which they contradict it.  Half and twice: nothing.
NEGLIGIBLE = 1e-4

# Of a variance, what a span may leave unseen: the smoothness that was found answers for it, a twentieth of the error.
# The relative error of a density at which what comes third is small beside what comes second.
# Half: shares 1.03 times as long; twice: .95 to .97, and int f^2 refused in 7 % of the rounds for 18.
SMALL = 0.1

# Times the error of a coarser correction, that a finer one must not cost: of a value at a point it costs without end.
# Half: cdf .96 times as long, but int f^2 of a claw refused in half of the rounds at (10^6, 1); twice: shares 1.03, values at
# points 1.12.
DEAR = 2.0

# Of the uniform density, below which derivatives by a density that vanishes are read as if there were so much.
# Half: entropy 1.08, Fisher information 1.4 times as long; twice: .9 and .6.
SCARCE = 0.1

# Of the distribution function, by which the law that is fitted may be off from the density shown.  Half and twice: nothing.
UNRESOLVED = 5e-5

# Times the penalty at which a likely spline's roughness costs what it does elsewhere: from there penalties fall, and grow while
# they count.  Half a decade off the decades that are tried: on one of them rounding would choose where a path begins.
# A tenth and ten times: nothing but time.
ABOVE = 10**1.5

# Of a density, where it is said how many reports would do; more than there are people are not asked for.
DERIVATIVES = 2
PEOPLE = 1e10


def told() -> float:
    """Return the standard errors above zero at which a number is told to be."""
    return normal_quantile(1 - 2 * ERROR)


def behind() -> float:
    """Return the log marginal likelihood below the best at which a model counts for nothing."""
    return -log(NEGLIGIBLE)


def by_error() -> float:
    """Return the power of n in which a density's relative error falls by one."""
    return 2 / _rate()


def by_ratio() -> float:
    """Return the power of n in which its square over a number's error, n to the power -1/2, does."""
    return 1 / (_rate() - 1 / 2)


def _rate() -> float:
    """By which power of n the squared error of a density of so many derivatives falls, through epsilon."""
    return 2 * DERIVATIVES / (2 * DERIVATIVES + 2)
