"""Known distributions that studies draw from.

Modules:
    densities: the densities that accuracy is measured on: laws on [0, 1] whose every quantity is known
    discrete_distributions: discrete distributions as in surveys, on declared values: counts, ages
    joint_distributions: laws of two attributes for the study of associations: numbers and categories
"""
