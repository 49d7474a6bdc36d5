"""Domains of attributes and labels, and pairs of attributes."""
