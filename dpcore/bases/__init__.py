"""Functions on an interval, each with an explicit dual.

`bspline` is the space, `spline_wavelet` the basis of reports, `filter_bank` a second one, biorthogonal and periodic.
"""

from dpcore.bases.base import Basis
from dpcore.bases.filter_bank import FilterBank
from dpcore.bases.spline_wavelet import SplineWavelet

__all__ = ["Basis", "FilterBank", "SplineWavelet"]
