"""From an aggregate to an estimate: one method a file; level rules are fields of their own."""

from dpcore.estimation.consistency import project_cumulative, project_density, project_simplex
from dpcore.estimation.density.expectation_maximization import ExpectationMaximization, maximize
from dpcore.estimation.density.log_spline import LogSpline
from dpcore.estimation.density.projection import Fixed, Lepski, LevelRule, Projection, Undersmoothed
from dpcore.estimation.estimator import Estimator
from dpcore.estimation.frequency.frequency import Frequency

__all__ = [
    "Estimator",
    "ExpectationMaximization",
    "Fixed",
    "Frequency",
    "Lepski",
    "LevelRule",
    "LogSpline",
    "Projection",
    "Undersmoothed",
    "maximize",
    "project_cumulative",
    "project_density",
    "project_simplex",
]
