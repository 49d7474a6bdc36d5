"""Checks of a round: rows of `checks`."""
