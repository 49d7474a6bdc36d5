"""Releases by a trusted curator, one mechanism a file, named as the literature names them: baselines for the local ones.

Modules:
    base: what every mechanism of a trusted curator is: it reads all records, and releases once
    densities/: densities released by a trusted curator
    differencing: the differencing attack: two innocent counts, one with and one without a person
    exponential/: exponential mechanisms of a trusted curator, and mechanisms built on them
    laplace_mechanism: the Laplace mechanism in k dimensions, report noisy max, and the most common value
    majority: what privacy costs a vote
    queries: what is asked of a database: counts, sums, means and histograms, on an integer lattice
    truncated_mean: the truncated mean in R^d under Kullback-Leibler
"""

from dpcore.laboratory.central.base import CuratorMechanism, DensityRelease
from dpcore.laboratory.central.densities.distances import Distances, kolmogorov_smirnov, squared_l2
from dpcore.laboratory.central.densities.orthogonal_series import PerturbedSeries
from dpcore.laboratory.central.densities.perturbed_histogram import PerturbedHistogram
from dpcore.laboratory.central.densities.releases import HistogramRelease, SeriesRelease
from dpcore.laboratory.central.densities.smoothed_histogram import SmoothedHistogram
from dpcore.laboratory.central.differencing import attack_rate
from dpcore.laboratory.central.exponential.approximate_exponential import ApproximateExponential
from dpcore.laboratory.central.exponential.continuous_exponential import (
    ContinuousExponential,
    Interval,
    RankLoss,
    SmoothedDistance,
)
from dpcore.laboratory.central.exponential.exponential_mechanism import ExponentialMechanism
from dpcore.laboratory.central.exponential.inverse_sensitivity import (
    InverseSensitivity,
    Majority,
    MeanOfBits,
    Quantile,
    median,
)
from dpcore.laboratory.central.exponential.joint_quantiles import JointExp
from dpcore.laboratory.central.exponential.released_samples import (
    kolmogorov_smirnov_mechanism,
    orthogonal_series_mechanism,
)
from dpcore.laboratory.central.exponential.small_ball import accuracy_bound, small_ball_probability
from dpcore.laboratory.central.laplace_mechanism import LaplaceMechanism, ReportNoisyMax, most_common_value
from dpcore.laboratory.central.queries import Count, Histogram, Mean, Sum
from dpcore.laboratory.central.truncated_mean import ApproximateMean, KullbackLeiblerMean, SmoothMean

__all__ = [
    "ApproximateExponential",
    "ApproximateMean",
    "ContinuousExponential",
    "Count",
    "CuratorMechanism",
    "DensityRelease",
    "Distances",
    "ExponentialMechanism",
    "Histogram",
    "HistogramRelease",
    "Interval",
    "InverseSensitivity",
    "JointExp",
    "KullbackLeiblerMean",
    "LaplaceMechanism",
    "Majority",
    "Mean",
    "MeanOfBits",
    "PerturbedHistogram",
    "PerturbedSeries",
    "Quantile",
    "RankLoss",
    "ReportNoisyMax",
    "SeriesRelease",
    "SmoothMean",
    "SmoothedDistance",
    "SmoothedHistogram",
    "Sum",
    "accuracy_bound",
    "attack_rate",
    "kolmogorov_smirnov",
    "kolmogorov_smirnov_mechanism",
    "median",
    "most_common_value",
    "orthogonal_series_mechanism",
    "small_ball_probability",
    "squared_l2",
]
