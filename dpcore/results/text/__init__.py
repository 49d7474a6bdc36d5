"""Estimates in words, for the terminal, pages and pictures."""
