"""Distributions of numeric attributes with declared support points."""
