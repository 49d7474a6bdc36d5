"""Every number that somebody chose in estimation: tuning constants, and numerical tolerances on which no estimate depends.

Each tuning constant has its unit and its origin: a derivation, a source, or what half and twice its value do.  Figures of half
and twice are ratios of lengths of intervals in the same rounds of ten distributions at three places, one round each (`python -m
tests.estimation.test_constants`); coverage changes by one of thirty at most.  A study can set other values:
modules read `constants.NAME` at each use.
"""

from __future__ import annotations

from math import log
from statistics import NormalDist

import numpy as np

# -- Tuning: confidence, tests and evidence -----------------------------------------------------------------------------

# Error probability of choices among intervals, of bands that others start from, and of Lepski's test of neighbouring levels.
SIGNIFICANCE = 0.05
CONFIDENCE = 1 - SIGNIFICANCE

# Standard errors by which a share, a count or a correction must differ from zero before it is divided by or applied: one in
# 700.
CLEAR_ERRORS = 3.0

# Error probability of a one-sided test: of an atom or a power against none (2.05 standard errors), and of a prior, by Markov's
# inequality for its marginal likelihood.  Half: curved functionals 1.1 to 1.3 times as long; twice: as long, density's squared
# error .99.
TEST_ERROR = 0.02

# Probability or weight below which a model, a path of models or a fit that reports contradict is dropped.  Half and twice:
# nothing.
NEGLIGIBLE = 1e-4

# False alarms of the goodness of fit, whose model is right.
FIT_FALSE_ALARMS = 1e-3

# False alarms of the test of a stated bound on the second derivative.
BOUND_FALSE_ALARMS = 0.01

# Reports expected in a cell, for its residual to be all but normal: Cochran's rule.
MIN_EXPECTED = 5.0

# -- Tuning: spaces of functions ----------------------------------------------------------------------------------------

# Degree of splines: cubic.
DEGREE = 3

# Levels: of the coarsest space in which a correction looks for what a fit left, of the finest such and of the fit, and of the
# finest fit.  256 pieces are two input cells each: less is not seen.  A correction in V_7 costs every cdf 1.4 times its error,
# one in V_4 alone says a third of the error of int f^2 of a claw.
COARSEST_LEVEL, FIT_LEVEL, FINEST_LEVEL = 4, 6, 8

# Derivatives that a density is assumed to have, where the reports that would do are stated and mechanisms are compared.
DERIVATIVES = 2

# -- Tuning: what is small beside what ----------------------------------------------------------------------------------

# Share of a variance that a span may leave unseen, or above which a second-order term is not normal; the relative error of a
# density at which the third order is small beside the second.  Half: shares 1.03 times as long; twice: .95 to .97, and int f^2
# refused in 7 % of the rounds for 18.
SMALL = 0.1

# Ratio of the error of a finer correction to that of a coarser one, at most.  Half: cdf .96 times as long, but int f^2 of a
# claw refused in half of the rounds at (10^6, 1); twice: shares 1.03, values at points 1.12.
MAX_COST = 2.0

# Share of the uniform density below which derivatives by a density that vanishes are read as if it were so much.
# Half: entropy 1.08, Fisher information 1.4 times as long; twice: .9 and .6.
SCARCE = 0.1

# Length of an interval by which the reported value is away from its limits.
MARGIN = 0.125

# Cells that a distribution fills at least before a density is reported of it, and reports before a pair has one.
MIN_SUPPORT = 20

# Change of a density over a cell in shares of the fullest cell: a normal one of deviation s changes by 3 / s of itself three
# deviations out, and has .4 / s at its mode.
TAIL = 8.0

# -- Tuning: prior distributions ----------------------------------------------------------------------------------------

# Standard deviation of a log density's part without roughness, root mean square over the range.
NULL_SPREAD = 2.0

# The same of every other part, at most: what is e^15 times rarer is not seen.
MAX_SPREAD = 15.0

# Of a distribution on support points: what a value that stands for itself adds (an end, zero), what another feature adds, and
# what nonresponse adds beside all responses; standard deviations of the log probability.
OWN_SPREAD = 1.5
FEATURE_SPREAD = 3.0
NONRESPONSE_SPREAD = 5.0

# Standard deviations tried: of heaps, where some respondents round and where nearly all do, and of a free part of each point.
HEAP_SPREADS = (1.0, 3.0)
FREE_SPREADS = (0.1, 0.3, 1.0)

# Factors on the roughness penalty that are tried beside a free part of each point.
SMOOTHER = (1.0, 30.0)

# Roughness penalties tried, from straight lines to nearly anything, in half decades, and steps without gain before the path
# ends.
ROUGHNESS = 10.0 ** np.arange(2, -7, -0.5)
WORSE_STEPS = 3

# Points above which none has a free part: of 1024, distributions and errors are the same with it, in twice the time.
MAX_FREE_POINTS = 256

# Points up to which heaps are tried beside a free part, however unlikely they were without.
FEW_POINTS = 32

# Log of the factor by which a prior worse than the best is dropped.
UNLIKELY = 8.0

# Other features looked for, at most, and how much less likely one may be at first sight, in log evidence.
MAX_FEATURES, PROMISING = 3, 3.0

# Standard deviations of beliefs from each other that corrections do not assume.
BELIEF_SPREAD = 2.0

# Posterior probability above which a distribution is called heaped, or free.
SURE = 0.9

# Steps whose multiples respondents may round to.
MULTIPLES = (*range(2, 26), 30, 60)

# Orders of differences that the smooth part of a distribution on points has few of.
POINT_ORDERS = (1, 2, 3)

# Half waves of a smooth part over the range of the points.
SMOOTH_FUNCTIONS = 40

# Of a joint distribution: standard deviations s of its coefficients, and rates r at which they fall with the order.
ASSOCIATION_SPREADS = 10.0 ** np.arange(-3.0, 1.01, 0.25)
ASSOCIATION_DECAYS = (0.5, 1.0, 1.5, 2.0, 3.0)

# Orders of polynomials: of a joint distribution (more is not seen through the noise below 10^9 reports), and of its test.
MAX_ORDER = 8
TEST_ORDERS = 3

# -- Tuning: discreteness, in units of log-likelihood, of the respondents, or of a peak's height ------------------------

# Gain with log(1 / k) above which a lattice is preferred: in one smooth distribution of 100.  Of part of a peak likewise, of
# which two humps have their own.
LATTICE_GAIN = 3.0
PEAK_GAIN = 4.0

# What a whole peak must be worth: of few reports nothing can be told from anything.
WHOLE_PEAK_GAIN = 10.0

# Gain above which a whole peak cannot be told from a value, or the peak at an end from an endless one.
ALIKE, ALIKE_AT_END = -1.0, -2.0

# Gain within which the coarser of two lattices is taken.
LATTICE_TIE = 2.0

# Gain that a lattice of part of the respondents needs beside: they are a fifth as likely.
PARTIAL_LATTICE_GAIN = 1.6

# Parts of a peak's height above which it is moved: of a whole peak, and of its parts.
WHOLE_PEAK, PEAK_PARTS = 0.05, (0.25, 0.5, 0.75)

# Share of the respondents that part of a peak has at least, and a whole one.
PEAK_MASS = 0.03
WHOLE_PEAK_MASS = 0.01

# Shares of the respondents that may be on a lattice, and the points of it below which all are.
LATTICE_SHARES = np.array([0.2, 0.5, 1.0])
COARSE_LATTICE = 8

# -- Tuning: other ------------------------------------------------------------------------------------------------------

# Gain of the log-likelihood at which EM stops, of which noise makes differences of one.
EM_GAIN = 0.05

# Share of a level's reports by its distribution that honest clients have at least, where chance may take all.
MIN_LEVEL_SHARE = 0.25

# Ratio of a quadratic functional's damping to the class's: 0.5 to 4 are within a quarter of the shortest for a claw.
TRADE = 2.0

# Share of the error probability that a quadratic functional's noise has, and that a variance's mean has.
NOISE_SHARE = 0.8
MEAN_SHARE = 0.1

# Standard deviations below which a density is not told from zero.
APART = 2.0

# Standard errors that a threshold may be from the estimate, to be a round number.
ROUND_NUMBER_ERRORS = 0.25

# Share of the population by which totals of two margins may differ: they may be in whole per cent.
TOTALS_ROUNDING = 0.01

# Correlation beyond which the weights' own bound is as good as an alignment.
MAX_SLACK = 0.5

# Share of a report that a regression on margins takes away, at most: one report of a cell does not show how reports differ.
MAX_LEVERAGE = 0.5

# Share of a distribution spread evenly, so that no cell is taken for impossible: of a pair's, and of one that mechanisms
# answer.
EVEN_SHARE = 1e-3
EVEN_PART = 1e-4

# Multiples of a stated bound that the densities have which it is tested against.
ROUGHER = (2.0, 8.0, 64.0)

# Ranges of a density that are told apart in a pair: a mean at epsilon 1 with 512 has half as much variance again.
JOINT_CELLS = 64

# Parts of the range whose shares have limits for every distribution, and parts over which their targets fall, beside one.
EDGES = (16, 32, 64, 128)
RAMPS = (0, 1, 2, 3, 4, 6, 9, 13)

# Masses of atoms together, at most, and of nonresponse: something is left to the density.
MAX_ATOMS = 0.999
MAX_NONRESPONSE = 0.99

# -- Numerical tolerances: results do not depend on them ----------------------------------------------------------------

# Guards against division by zero.
TINY = 1e-300

# Differences of quantities of order one that are zero.
ROUNDING = 1e-9
SOLVER_ROUNDING = 1e-6  # of a linear program, and of a count that is none

# Shares of the largest eigenvalue or singular value below which a direction is not seen.
RANK_TOLERANCE = 1e-9
EIGENVALUE_TOLERANCE = 1e-11
RANK_ROUNDING = 1e-12  # and of a weight, and of a raked total
MAX_CONDITION = 1e8  # of an information, up to which its space is not made coarser: a standard error 10^4 times another
UNSEEN = 1e-4  # of information and bound together, whose noise is then 100 times what the bound leaves

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
STEEP, STEEP_NODES = 8.0, 64  # nodes where neighbouring coefficients lie further apart
FREQUENCIES = 256  # cosines of a density: 10^10 reports at epsilon 1 fill 60
CELL_PARTS = 1 << 16  # of an input cell's width, in which an edge within it is placed
POSITIVITY_LEVEL = 9  # of the knots at which densities are made nonnegative, at most two refinements
FINEST_LATTICE = 170  # looked for, and at most a third of the input cells
MAX_TRIED = 64  # cells of a peak, each of which may be where all of it is

# Draws: two tenths of a per cent of coverage.  One seed, so that the same reports give the same answer.
DRAWS, SIMULATED_ROUNDS, SEED = 10_000, 2_000, 30

# Grids of multipliers over which an interval is minimised.
TRADES = np.geomspace(1e-4, 1e4, 81)  # bias and noise balance about 1
BAND_TRADES = np.geomspace(1e-2, 1e2, 13)
RATIOS = np.geomspace(1e-3, 1e1, 9)
MULTIPLIERS = np.geomspace(1e-4, 1e4, 129)
MAX_LOG_TRADE = 14.0  # of the nearest density of a class

# Steps of searches, at most.
QUANTILE_STEPS = 12  # of Newton, which doubles the digits once near
HALVINGS, CRITICAL_HALVINGS, TRADE_HALVINGS, POLE_STEPS = 60, 40, 30, 45
MAX_ITERATIONS = 10_000  # of EM and of raking
MARGIN_PASSES = 200  # that give a distribution its margins
NEWTON_STEPS, JOINT_STEPS, FISHER_STEPS = 40, 30, 20
QUASI_STEPS = 12  # that one Fisher information leads
SHORTENINGS, QUASI_SHORTENINGS = (
    30,
    2,
)  # of a Fisher step, and of a quasi-Newton one, beyond which a Fisher step is better
CONSTRAINT_ROUNDS, CONSTRAINTS = 20, 41  # of a bound's constraints, asked for anew, and asked for at first

# Where searches end.
EM_TOLERANCE = 1e-5  # of the mass: a hundredth of it, at most, is then left to move
NEWTON_GAIN, JOINT_GAIN = 1e-2, 1e-4  # of a log-likelihood
MIN_STEP = 1e-4  # of a Newton step, halved
SUFFICIENT_GAIN = 1e-4  # of the gain that a slope promises: less is no step [NocedalWright2006], 3.1
CONVERGED = (
    1e-8  # squared step in posterior standard deviations: 1e-4 left is a tenth of the thousandth that is promised
)
SUM_ROUNDING = 1e-14  # of a log-likelihood: what adding it up in another order may take from it
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

# Of a table of a pair: ranges of a number, and categories that it has room for.
TABLE_PARTS, TABLE_CATEGORIES = 8, 16


def detection_errors() -> float:
    """Return the standard errors above zero at which a one-sided test rejects with error probability `TEST_ERROR`."""
    return NormalDist().inv_cdf(1 - TEST_ERROR)


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
