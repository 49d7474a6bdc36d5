"""Exponential mechanisms of a trusted curator, and mechanisms built on them."""
