"""Functions on an interval, each with an explicit dual.  `bspline` is the space, `spline_wavelet` the basis of reports."""

from dpcore.bases.base import Basis
from dpcore.bases.spline_wavelet import SplineWavelet

__all__ = ["Basis", "SplineWavelet"]
