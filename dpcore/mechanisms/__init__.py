"""Local randomizers, one a file, named as the literature names them.

Here: both halves of each, what it certifies, the bases and tables it needs, and how the statistics depend on the density. Not
here: what was agreed on (`protocol`), estimates (`estimation`), whether the promise is kept (`audit`).  May import privacy and
errors, and where randomness comes from.
"""

from dpcore.mechanisms.base import Certificate, Labels, Mechanism
from dpcore.mechanisms.crossed_wave import CrossedWave
from dpcore.mechanisms.dyadic_wave import DyadicWave
from dpcore.mechanisms.hadamard_response import HadamardResponse
from dpcore.mechanisms.local_hashing import LocalHashing
from dpcore.mechanisms.randomized_response import RandomizedResponse
from dpcore.mechanisms.reports import Reports
from dpcore.mechanisms.square_wave import SquareWave
from dpcore.mechanisms.subset_selection import SubsetSelection
from dpcore.mechanisms.unary_encoding import UnaryEncoding

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
