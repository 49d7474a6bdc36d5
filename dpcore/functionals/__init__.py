"""Numbers of a density, each with its influence: `Mean()`, `Quantile(0.5)`, `IntegratedSquare(0)`, ..."""

from dpcore.functionals.base import Curvature, Density, Expansion, Functional, FunctionDensity, Influence
from dpcore.functionals.entropy import Entropy
from dpcore.functionals.integral import IntegratedSquare, PowerIntegral
from dpcore.functionals.linear import Atom, Cdf, CentralMoment, Derivative, Mean, Moment, Probability, Variance
from dpcore.functionals.names import NAMES, parse
from dpcore.functionals.quantile import Quantile

__all__ = [
    "NAMES",
    "Atom",
    "Cdf",
    "CentralMoment",
    "Curvature",
    "Density",
    "Derivative",
    "Entropy",
    "Expansion",
    "FunctionDensity",
    "Functional",
    "Influence",
    "IntegratedSquare",
    "Mean",
    "Moment",
    "PowerIntegral",
    "Probability",
    "Quantile",
    "Variance",
    "parse",
]
