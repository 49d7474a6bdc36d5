"""Mechanisms of two attributes in one report, and joint counts."""
