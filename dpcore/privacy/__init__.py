"""Exact epsilons: a Budget is a rational plus the logarithm of a rational."""
