"""Trends: what the estimates of several rounds say together.

Modules:
    trend: smoothed values, forecasts and shifts, from levels that drift between rounds
"""
