"""Evidence behind an estimate: fit, discreteness, efficiency, and sensitivity to malicious clients.

Modules:
    chi_square_mixture: distribution of a weighted sum of squared normals
    density_efficiency: efficiency of a mechanism for a whole density
    discreteness: test of whether values concentrate on a few points
    efficiency: standard error relative to the best mechanism of the same epsilon
    evidence: result types: sample, goodness of fit, discreteness, sensitivity
    goodness_of_fit: chi-squared tests of an estimate
    poisoning_sensitivity: how far a fraction of malicious clients can move an estimate
"""
