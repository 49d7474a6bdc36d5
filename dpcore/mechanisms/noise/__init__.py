"""Exact discrete noise.

Modules:
    discrete_gaussian: discrete Gaussian noise
    discrete_laplace: discrete Laplace noise
    noise_kinds: the two kinds of noise and their plausible range
"""
