"""Rates and lower bounds that the documents state, for the studies that reproduce them."""
