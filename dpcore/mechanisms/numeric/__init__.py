"""Mechanisms of numeric attributes: waves and wavelets."""
