"""Estimates in words, for the terminal, pages and pictures.

Modules:
    joint_phrases: estimates and tests of two attributes in words
    regression_phrases: estimates and tests of a regression in words
    phrases: an estimate in words: unit, rounding, verdict
"""
