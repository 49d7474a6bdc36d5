"""Frequencies of categorical attributes."""
