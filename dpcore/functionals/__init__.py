"""Numbers of a density, each with its influence: `Mean()`, `Quantile(0.5)`, `IntegratedSquare(0)`, ...

Here: value, range, unit, words and influence of each, and their names, which are read here alone.  Not here: densities that
are estimated, and error bars (`estimation`).  May import errors.
"""

from dpcore.functionals.base import Curvature, Density, Expansion, Functional, FunctionDensity, Influence
from dpcore.functionals.distance import KullbackLeibler, Wasserstein
from dpcore.functionals.entropy import Entropy
from dpcore.functionals.fisher import FisherInformation
from dpcore.functionals.integral import IntegratedSquare, PowerIntegral
from dpcore.functionals.linear import Atom, Cdf, CentralMoment, Derivative, Mean, Moment, Probability, Variance
from dpcore.functionals.names import NAMES, parse
from dpcore.functionals.quantile import Quantile
from dpcore.functionals.reference import REFERENCES, Reference

__all__ = [
    "NAMES",
    "Atom",
    "REFERENCES",
    "Cdf",
    "CentralMoment",
    "Curvature",
    "Density",
    "Derivative",
    "Entropy",
    "Expansion",
    "FisherInformation",
    "FunctionDensity",
    "Functional",
    "Influence",
    "IntegratedSquare",
    "KullbackLeibler",
    "Mean",
    "Moment",
    "PowerIntegral",
    "Probability",
    "Quantile",
    "Reference",
    "Variance",
    "Wasserstein",
    "parse",
]
