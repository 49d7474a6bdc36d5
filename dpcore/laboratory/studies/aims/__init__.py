"""Targets that studies must meet, and whether they do."""
