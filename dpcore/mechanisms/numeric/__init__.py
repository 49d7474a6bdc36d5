"""Mechanisms of numeric attributes: waves and wavelets, of one number or of two.

Modules:
    crossed_wave: the crossed wave: two numbers in one report
    dyadic_wave: the dyadic wave
    square_wave: the square wave
    wave: what waves have in common
    wavelet_laplace: spline-wavelet coefficients with discrete Laplace or Gaussian noise
"""
