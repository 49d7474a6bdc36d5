"""Mechanisms of categorical attributes: frequency oracles."""
