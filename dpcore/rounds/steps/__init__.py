"""The steps of a round, in the order of `sequence`."""
