"""Local randomizers, one a file, named as the literature names them."""

from dpcore.mechanisms.base import Certificate, Labels, Mechanism, Reports
from dpcore.mechanisms.dyadic_wave import DyadicWave
from dpcore.mechanisms.hadamard_response import HadamardResponse
from dpcore.mechanisms.local_hashing import LocalHashing
from dpcore.mechanisms.randomized_response import RandomizedResponse
from dpcore.mechanisms.square_wave import SquareWave
from dpcore.mechanisms.subset_selection import SubsetSelection
from dpcore.mechanisms.unary_encoding import UnaryEncoding

__all__ = [
    "Certificate",
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
