"""From an aggregate to an estimate: one method a file; level rules are fields of their own."""

from dpcore.estimation.estimators.base import Estimator
from dpcore.estimation.estimators.consistency import project_cumulative, project_density, project_simplex
from dpcore.estimation.estimators.expectation_maximization import ExpectationMaximization, maximize
from dpcore.estimation.estimators.frequency import Frequency
from dpcore.estimation.estimators.level_rule import Fixed, Lepski, LevelRule, Undersmoothed
from dpcore.estimation.estimators.log_spline import LogSpline
from dpcore.estimation.estimators.projection import Projection

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
