"""Local randomizers, one a file, named as the literature names them.

Here: both halves of each, what it certifies, the bases and tables it needs, and how the statistics depend on the density. Not
here: what was agreed on (`protocol`), estimates (`estimation`), whether the promise is kept (`audit`).  May import privacy and
errors, and where randomness comes from.
"""

from dpcore.mechanisms.base import Certificate, Labels, Mechanism
from dpcore.mechanisms.categorical.hadamard_response import HadamardResponse
from dpcore.mechanisms.categorical.local_hashing import LocalHashing
from dpcore.mechanisms.categorical.randomized_response import RandomizedResponse
from dpcore.mechanisms.categorical.subset_selection import SubsetSelection
from dpcore.mechanisms.categorical.unary_encoding import UnaryEncoding
from dpcore.mechanisms.joint.crossed_wave import CrossedWave
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
