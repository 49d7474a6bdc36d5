"""Trends: what the estimates of several rounds say together.

Modules:
    local_level: the distribution of a level that drifts, given estimates with known errors
    trend: the public function, averaged over drifts and seasons
"""
