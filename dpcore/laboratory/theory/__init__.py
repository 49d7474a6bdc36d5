"""Rates and lower bounds that the documents state, for the studies that reproduce them.

Modules:
    barber_duchi: means under different definitions of privacy: lower bounds and the table of rates of
    level_rules: the level rules of [Szabo2024] as they are printed: constants that no theorem chose
    lower_bounds: lower bounds with their constants
    noise_energy: what the noise of wavelet reports leaves in a density
    rates: minimax rates and rates of methods, as functions of n, epsilon, dimension and smoothness
    two_points: the least error that any mechanism can have for a mean, of the worst law
    two_stage: the integral of f squared by two stages
"""
