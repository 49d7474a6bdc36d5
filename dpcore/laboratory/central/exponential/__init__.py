"""Exponential mechanisms of a trusted curator, and mechanisms built on them.

Modules:
    approximate_exponential: the exponential mechanism by a Markov chain, for samples too many to go through
    continuous_exponential: the continuous exponential mechanism on an interval
    exponential_mechanism: the exponential mechanism for any loss and its sensitivity
    integer_weights: draws from integer weights of any size, exact
    inverse_sensitivity: the inverse sensitivity mechanism
    joint_quantiles: several quantiles at once: JointExp, and its heuristically smoothed form
    released_samples: exponential mechanisms whose candidates are samples: Kolmogorov-Smirnov distance
    small_ball: small-ball probabilities of the Kolmogorov-Smirnov distance
"""
