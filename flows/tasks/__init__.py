"""Prefect tasks of the steps of a round, and what tasks have in common."""
