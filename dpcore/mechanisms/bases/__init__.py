"""Functions on an interval, each with an explicit dual.

`bspline` is the space, `spline_wavelet` the basis of reports, `filter_bank` a second one, biorthogonal and periodic.

Modules:
    base: the basis interface
    bspline: B-splines
    dual: dual bases and orthogonal coefficients
    filter_bank: biorthogonal periodic filter banks
    registry: bases by their name in schemes
    spline_wavelet: spline wavelets on an interval
"""

from dpcore.mechanisms.bases.base import Basis
from dpcore.mechanisms.bases.filter_bank import FilterBank
from dpcore.mechanisms.bases.spline_wavelet import SplineWavelet

__all__ = ["Basis", "FilterBank", "SplineWavelet"]
