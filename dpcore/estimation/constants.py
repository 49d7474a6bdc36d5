"""Every number that somebody chose in estimation: tuning constants, and numbers on which no estimate depends.

Each tuning constant has its unit and its origin: a derivation, a source, or what half and twice its value do.  Figures of half
and twice are ratios of lengths of intervals in the same rounds of ten distributions at three places, one round each (`python -m
tests.estimation.test_constants`); coverage changes by one of thirty at most.  A study can set other values: modules read
`constants.NAME` at each use.
"""

from __future__ import annotations

from math import log
from statistics import NormalDist

import numpy as np

# -- Tuning: confidence, tests and evidence -----------------------------------------------------------------------------

# Error probability of choices among intervals, of bands that others start from, and of Lepski's test of neighbouring levels.
SIGNIFICANCE = 0.05
CONFIDENCE = 1 - SIGNIFICANCE

# Standard errors by which a share, a count or a correction must differ from zero before it is divided by or applied: one-sided
# error probability 1/740.
CLEAR_ERRORS = 3.0

# Standard errors within which two quantities may be equal: a normal one exceeds them in 4.6 % of cases.  In log-likelihood,
# half their square: 2.
LIKELY_ERRORS = 2.0

# Error probability of a one-sided test: of an atom or a power against none (2.05 standard errors), and of a prior or a lattice,
# by Markov's inequality for a likelihood ratio.  Half: curved functionals 1.1 to 1.3 times as long; twice: as long, density's
# squared error .99.
TEST_ERROR = 0.02

# Probability below which a model, a path of models or a fit that reports contradict is dropped; share of a distribution that is
# spread evenly, so that no value counts as impossible.  Half and twice: nothing.
NEGLIGIBLE = 1e-4

# Error probabilities of the checks that a round reports: of its goodness of fit, and of a stated bound on the second
# derivative.
FIT_FALSE_ALARMS, BOUND_FALSE_ALARMS = 1e-3, 1e-2

# Reports expected in a cell, for its residual to be nearly normal: Cochran's rule.
MIN_EXPECTED = 5.0

# -- Tuning: spaces of functions ----------------------------------------------------------------------------------------

# Degree of splines and of polynomials, and the highest order of differences that a prior leaves free: cubic.
DEGREE = 3

# Derivatives that a density is assumed to have, where required reports are stated and mechanisms are compared: those of a
# cubic.
DERIVATIVES = DEGREE - 1

# Levels: of the coarsest space in which a correction looks for what a fit left, of the finest such and of the fit, and of the
# finest fit.  256 pieces are two input cells each: less is not seen.  A correction in V_7 costs every cdf 1.4 times its error,
# one in V_4 alone gives a third of the error of int f^2 of a claw.
COARSEST_LEVEL, FIT_LEVEL, FINEST_LEVEL = 4, 6, 8

# -- Tuning: what is small beside what ----------------------------------------------------------------------------------

# Share at which one thing is small beside another.  Of a variance: what a span may leave unseen, or above which a second-order
# term is not normal; of an error probability: a secondary source's; the relative error of a density at which the third order is
# small beside the second.  Half: shares 1.03 times as long; twice: .95 to .97, and int f^2 refused in 7 % of the rounds for 18.
# Of the uniform density: where derivatives by a density that vanishes are read as if it were so much.  Half: entropy 1.08,
# Fisher information 1.4 times as long; twice: .9 and .6.
SMALL = 0.1

# Ratio of the error of a finer correction to that of a coarser one, at most.  Half: cdf .96 times as long, but int f^2 of a
# claw refused in half of the rounds at (10^6, 1); twice: shares 1.03, discrete values 1.12.
MAX_COST = 2.0

# Share of a whole that a correction or chance may take: of a report by a regression on margins (a cell of one report does not
# show how reports differ), of a level's honest reports by chance, of a correlation by what its alignment leaves open.
MAX_SHARE = 0.75

# Share of a pair's distribution that is spread evenly, so that no cell counts as impossible.  A tenth of it: errors of
# correlations 1.0 to 1.2 times as large (`ldpflow benchmark joint`, 20 rounds).
EVEN_SHARE = 1e-3

# Length of an interval by which the reported value is away from its limits.
MARGIN = 0.125

# Cells that a distribution fills at least before a density of it is reported, and reports before a pair has a joint
# distribution.
MIN_SUPPORT = 20

# Change of a density over a cell in shares of the fullest cell: a normal one of deviation s changes by 3 / s of itself three
# deviations out, and has .4 / s at its mode.
TAIL = 8.0

# Gain of the log-likelihood at which EM stops; noise alone makes differences of one.
EM_GAIN = 0.05

# Damping of a quadratic functional, in multiples of the class's roughness: 0.5 to 4 are within a quarter of the shortest for a
# claw.
DAMPING = 2.0

# -- Tuning: prior distributions, in standard deviations of a log probability -------------------------------------------

# Of the part without roughness, root mean square over the range.
NULL_SPREAD = 2.0

# Of every other part, at most: what is e^15 times rarer is not seen.
MAX_SPREAD = 15.0

# Of heaps, where some respondents round and where nearly all do; the second also of a single value, an end, and nonresponse.
FEATURE_SPREADS = (1.0, 3.0)

# Of a free part of each point, tried in half decades; and factors on the roughness penalty that are tried beside it.
FREE_SPREADS = (0.1, 0.3, 1.0)
SMOOTHER = (1.0, 30.0)

# -- Tuning: discreteness -----------------------------------------------------------------------------------------------

# Parts of a peak's height above which its mass is moved to one value: of the whole peak first, then of its upper parts.
PEAK_PARTS = (0.05, 0.25, 0.5, 0.75)

# Share of the respondents that a peak has at least.
PEAK_MASS = 0.02

# Shares of the respondents that may be on a lattice, each as likely as it is large, and the points of it below which all are.
LATTICE_SHARES = np.array([0.2, 0.5, 1.0])
COARSE_LATTICE = 8

# -- Numerical tolerances, grids and limits of searches: fine or large enough -------------------------------------------
# A comment gives the figure if a number of this section was compared; most have none and were not halved and doubled.

# Guards against division by zero.
TINY = 1e-300

# Differences of quantities of order one that are zero.
ROUNDING = 1e-9
SOLVER_ROUNDING = 1e-6  # of a linear program, and of a count that is none

# Shares of the largest eigenvalue or singular value below which a direction is not seen.
RANK_TOLERANCE = 1e-9
EIGENVALUE_TOLERANCE = 1e-11
DEPENDENT = 0.05  # texts whose buckets are those of other texts together explain nothing themselves
RANK_ROUNDING = 1e-12  # and of a weight, and of a raked total
MAX_CONDITION = 1e8  # of an information, up to which its space is not made coarser: a standard error 10^4 times another
UNSEEN = 1e-4  # of information and bound together, whose noise is then 100 times what the bound leaves

# Mass of atoms together, and of nonresponse, at most: something is left to the density.
MAX_MASS = 1 - EVEN_SHARE

# Distance of the fitted distribution function from that of the density shown.  Half and twice: nothing.
UNRESOLVED = 5e-5

# Factor on the penalty at which a path of models begins: half a decade off the decades that are tried, so that rounding does
# not choose.  A tenth and ten times: nothing but time.
ABOVE = 10**1.5

# Cells of the grids on which curves, bands and likelihoods of noisy features are evaluated.
CURVE_CELLS = 1024
FINE_CELLS = 16384  # on which a distribution is integrated or inverted
CELLS_PER_PIECE, MIN_CELLS = 16, 2048  # on which distribution functions of splines are inverted
GAUSS_NODES = 12  # of Gauss's rule on each knot interval
HERMITE_NODES = 32  # of Gauss and Hermite's rule for normal errors
TEXT_SHARES = 12  # hypothetical shares of a text, equally spaced in logarithm from its standard error to one
STEEP, STEEP_NODES = 8.0, 64  # nodes where neighbouring coefficients lie further apart
FREQUENCIES = 256  # cosines of a density: 10^10 reports at epsilon 1 fill 60
MAX_ORDER = 8  # of polynomials of a joint distribution: more is not seen through the noise below 10^9 reports
CELL_PARTS = 1 << 16  # of an input cell's width, in which an edge within it is placed
POSITIVITY_LEVEL = 9  # of the knots at which densities are made nonnegative, at most two refinements
FINEST_LATTICE = 170  # looked for, and at most a third of the input cells
MAX_TRIED = 64  # cells of a peak that are tried as the place of all its mass

# Draws: two tenths of a per cent of coverage.  One seed, so that the same reports give the same answer.
DRAWS, SIMULATED_ROUNDS, SEED = 10_000, 2_000, 30

# Grids of multipliers over which an interval is minimised, or evidence is averaged or maximised.
TRADES = np.geomspace(1e-4, 1e4, 81)  # bias and noise balance about 1
BAND_TRADES = np.geomspace(1e-2, 1e2, 13)
RATIOS = np.geomspace(1e-3, 1e1, 9)
WEEK = 7  # days of a season
TREND_ROUNDS, TREND_NUMBERS = 100, 100  # newest rounds that a landing smooths, and most numbers of a group
DRIFTS = np.append(0.0, np.geomspace(1e-2, 1e1, 7))  # of a trend, a day, in variances of a round's estimate
MULTIPLIERS = np.geomspace(1e-4, 1e4, 129)
MAX_LOG_TRADE = 14.0  # of the nearest density of a class
EDGES = (16, 32, 64, 128)  # parts of the range whose shares have limits for every distribution
RAMPS = (0, 1, 2, 3, 4, 6, 9, 13)  # parts over which their targets fall, beside one
ROUGHER = (2.0, 8.0, 64.0)  # multiples of a stated bound, of the alternatives that it is tested against
ROUGHNESS = 10.0 ** np.arange(2, -7, -0.5)  # penalties on support points, from straight lines to nearly anything
ASSOCIATION_SPREADS = 10.0 ** np.arange(-3.0, 1.01, 0.25)  # standard deviations of a joint distribution's coefficients
ASSOCIATION_DECAYS = (0.5, 1.0, 1.5, 2.0, 3.0)  # powers of the order by which they fall

# Steps of searches, at most.
ENTERING_TEXTS, TEXT_PASSES = 64, 12  # texts that enter a regression at once, and how often
QUANTILE_STEPS = 12  # of Newton, which doubles the digits once near
HALVINGS, CRITICAL_HALVINGS, TRADE_HALVINGS, POLE_STEPS = 60, 40, 30, 45
MAX_ITERATIONS = 10_000  # of EM and of raking
MARGIN_PASSES = 200  # that give a distribution its margins
NEWTON_STEPS, JOINT_STEPS, FISHER_STEPS = 40, 30, 20
QUASI_STEPS = 12  # that one Fisher information leads
SHORTENINGS, QUASI_SHORTENINGS = 30, 2  # of a Fisher step, and of a quasi-Newton one before a Fisher step is better
CONSTRAINT_ROUNDS, CONSTRAINTS = 20, 41  # of a bound's constraints, asked for anew, and asked for at first
WORSE_STEPS = 3  # of a path of penalties, without gain
MAX_FEATURES = 3  # other features of a distribution on support points
MAX_FREE_POINTS = 256  # with a free part each: 1024 have the same results with it, in twice the time
FEW_POINTS = 32  # with heaps beside a free part, however unlikely they were without

# Where searches end.
EM_TOLERANCE = 1e-5  # of the mass: a hundredth of it, at most, is then left to move
NEWTON_GAIN, JOINT_GAIN = 1e-2, 1e-4  # of a log-likelihood
MIN_STEP = 1e-4  # of a Newton step, halved
SUFFICIENT_GAIN = 1e-4  # of the gain that a slope promises: less is no step [NocedalWright2006], 3.1
CONVERGED = 1e-8  # squared step in posterior standard deviations: 1e-4 left is a tenth of what is promised
SUM_ROUNDING = 1e-14  # of a log-likelihood: what adding it up in another order may take from it
COEFFICIENT_TOLERANCE = 1e-10  # of a log odds ratio, in a step of a regression
MARGIN_TOLERANCE = 1e-10  # of a distribution with given margins
CONSTRAINT_TOLERANCE = 1e-6  # of the bound
NEAR_MEAN = 1e-4  # |w| below which a saddlepoint formula is 0/0 and its limit is used

# Groups of values with nearly the same influence, taken together (24 have .3 % more at epsilon 2, 2 % at 4), and the part of
# its range at either end, which is what mechanisms pay for.
INFLUENCE_GROUPS, INFLUENCE_EDGE = 10, 1e-3

# Times the fewest reports, above which a count of people is cut: a thousandth is enough, and solvers err by millionths.
MANY = 1000

# Standard deviations beyond which a normal probability is one, and a bias all of an interval; logarithms that exponentials get.
MAX_DEVIATIONS, MAX_BIAS, MAX_LOG = 8.0, 30.0, 100.0

# Sizes: entries of a channel's whole matrix, beyond which prefix sums are taken; arrays remembered; categories computed
# together.
DENSE_ENTRIES, REMEMBERED, BLOCK = 1 << 20, 64, 256

# -- Input and presentation: no estimate depends on them ----------------------------------------------------------------

# Share of the population by which totals of two margins may differ: they may be in whole per cent.
TOTALS_ROUNDING = 0.01

# Rounds in which one false alarm of a shift is expected: a year of nightly ones.
ALARM_ROUNDS = 365

# Standard errors that a threshold of a second round may be from the estimate, to be a round number.
ROUND_NUMBER_ERRORS = 0.25

# Of a table of a pair: ranges of a number, and categories that it has room for.
TABLE_PARTS, TABLE_CATEGORIES = 8, 16


def detection_errors() -> float:
    """Return the standard errors above zero at which a one-sided test rejects with error probability `TEST_ERROR`."""
    return NormalDist().inv_cdf(1 - TEST_ERROR)


def evidence_bound() -> float:
    """Return the log likelihood ratio that the true model loses by with probability `TEST_ERROR` at most (Markov)."""
    return -log(TEST_ERROR)


def evidence_margin() -> float:
    """Return the log marginal likelihood below the best at which a model has no weight."""
    return -log(NEGLIGIBLE)


def reports_by_error() -> float:
    """Return the power of the relative error of a density in which the reports grow that it needs."""
    return 2 / _rate()


def reports_by_ratio() -> float:
    """Return the same power of the ratio of a second-order term, a squared error, to a first-order error n^(-1/2)."""
    return 1 / (_rate() - 1 / 2)


def _rate() -> float:
    """The power of n in which the squared error of a density with `DERIVATIVES` derivatives falls."""
    return 2 * DERIVATIVES / (2 * DERIVATIVES + 2)
