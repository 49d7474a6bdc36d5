"""Mechanisms of two attributes in one report, and joint counts.

Modules:
    crossed_wave: the crossed wave: two numbers in one report
    joint_counts: joint statistics of two mechanisms' reports
    window: windows of outputs around a cell or a pair of cells
"""
