"""Local randomizers, one a file, named as the literature names them."""

from dpcore.mechanisms.base import Certificate, Labels, Mechanism, Reports
from dpcore.mechanisms.randomized_response import RandomizedResponse

__all__ = ["Certificate", "Labels", "Mechanism", "RandomizedResponse", "Reports"]
