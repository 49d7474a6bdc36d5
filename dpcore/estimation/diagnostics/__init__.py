"""Evidence behind an estimate: fit, discreteness, efficiency, and sensitivity to malicious clients.

Modules:
    chi_square_mixture: distribution of a weighted sum of squared normals
    discreteness: test of whether values concentrate on a few points
    efficiency: efficiency of estimates, and of mechanisms for whole densities
    evidence: result types: sample, goodness of fit, discreteness, sensitivity
    goodness_of_fit: chi-squared tests of an estimate
    poisoning_sensitivity: how far a fraction of malicious clients can move an estimate
"""
