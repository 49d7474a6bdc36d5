"""Density estimators of numeric attributes, and what they estimate."""
