"""Attacks on reports: empirical lower bounds of epsilon, averaging, and tests of the reports' distribution."""
