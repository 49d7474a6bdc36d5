"""Functions on an interval, each with an explicit dual.

`bspline` is the space, `spline_wavelet` the basis of reports, `filter_bank` a second one, biorthogonal and periodic.
"""

from dpcore.mechanisms.bases.base import Basis
from dpcore.mechanisms.bases.filter_bank import FilterBank
from dpcore.mechanisms.bases.spline_wavelet import SplineWavelet

__all__ = ["Basis", "FilterBank", "SplineWavelet"]
