"""Confidence intervals and bands of functionals, and comparisons of estimates."""
