"""Exact privacy loss by enumeration of the integers that clients draw with.

Modules:
    additive_noise: largest loss of additive noise over all pairs of input cells, and epsilon of Gaussian noise at a delta
    exact_loss: exact loss of every attribute of a scheme, and of every pair
    loss: privacy losses as exact numbers, and the largest likelihood ratio of a listed channel
"""
