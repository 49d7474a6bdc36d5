"""Mechanisms of numeric attributes: waves and wavelets.

Modules:
    dyadic_wave: the dyadic wave
    square_wave: the square wave
    wave: what waves have in common
    wavelet_laplace: spline-wavelet coefficients with discrete Laplace or Gaussian noise
"""
