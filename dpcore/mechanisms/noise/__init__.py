"""Exact discrete noise."""
