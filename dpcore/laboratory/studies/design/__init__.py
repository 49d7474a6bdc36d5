"""Numerical design of the waves' constants.

Modules:
    wave_design: how the free constants of the dyadic wave were chosen: one criterion
    wave_purposes: how a wave's levels are chosen for a purpose: the solution of a stated problem
"""
