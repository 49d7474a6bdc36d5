"""Estimates in words, for the terminal, pages and pictures.

Modules:
    phrases: an estimate in words: unit, rounding, verdict
    relation_phrases: estimates and tests of two attributes, and of a regression, in words
"""
