"""Numerical design of the waves' constants."""
