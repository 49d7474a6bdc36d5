"""Local randomizers, one a file, named as the literature names them.

Here: both halves of each, what it certifies, the bases and tables it needs, and how the statistics depend on the density. Not
here: what was agreed on (`protocol`), estimates (`estimation`), whether the promise is kept (`audit`).  May import privacy and
errors, and where randomness comes from.

Modules:
    _kernels: loops over reports, compiled by numba where it is installed
    base: the mechanism interface
    bases/: functions on an interval, each with an explicit dual
    calibration/: what keeps a promise and at what price: integer tables, exact sensitivities
    categorical/: mechanisms of categorical attributes: frequency oracles
    declaration: the decorator that declares a mechanism's options and estimators
    fisher_information: information that reports carry about a discrete distribution
    noise/: exact discrete noise
    numeric/: mechanisms of numeric attributes: waves and wavelets, of one number or of two
    observation_model: how statistics depend on the distribution of inputs
    odds: odds ratio and total variation of a mechanism's reports
    registry: every mechanism by its name in schemes
    report_sums: validation and counts of reports, shared by the aggregator halves
    reports: the reports of many clients as flat integers
    stated/: channels of other systems, stated in a scheme
    wave_level: a level of a square wave
"""

from dpcore.mechanisms.base import Certificate, Labels, Mechanism
from dpcore.mechanisms.categorical.hadamard_response import HadamardResponse
from dpcore.mechanisms.categorical.local_hashing import LocalHashing
from dpcore.mechanisms.categorical.randomized_response import RandomizedResponse
from dpcore.mechanisms.categorical.subset_selection import SubsetSelection
from dpcore.mechanisms.categorical.unary_encoding import UnaryEncoding
from dpcore.mechanisms.numeric.crossed_wave import CrossedWave
from dpcore.mechanisms.numeric.dyadic_wave import DyadicWave
from dpcore.mechanisms.numeric.square_wave import SquareWave
from dpcore.mechanisms.reports import Reports

__all__ = [
    "Certificate",
    "CrossedWave",
    "DyadicWave",
    "HadamardResponse",
    "Labels",
    "LocalHashing",
    "Mechanism",
    "RandomizedResponse",
    "Reports",
    "SquareWave",
    "SubsetSelection",
    "UnaryEncoding",
]
