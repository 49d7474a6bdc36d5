"""From an aggregate to an estimate: one method a file; level rules are fields of their own."""

from dpcore.estimators.base import Estimator
from dpcore.estimators.consistency import project_cumulative, project_density, project_simplex
from dpcore.estimators.expectation_maximization import ExpectationMaximization, maximize
from dpcore.estimators.frequency import Frequency
from dpcore.estimators.level_rule import Fixed, Lepski, LevelRule, Undersmoothed
from dpcore.estimators.log_spline import LogSpline
from dpcore.estimators.projection import Projection

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
