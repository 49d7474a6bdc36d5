"""Two attributes together: joint distributions, functionals with intervals, and tests of independence from pairs of reports.

Here: weights of reports (`report_weights`), means of products and their covariance (`product_moments`), the distribution with
the single estimates as margins (`joint_distribution`), the result (`joint_estimate`), and the output of a round
(`pair_estimates`).
Not here: functionals of two attributes (`functionals.joint`).

Modules:
    conditioning: a numeric attribute's reports given those of a categorical one
    joint_distribution: the joint distribution shown, with given margins
    joint_estimate: the estimate of two attributes: functionals and tests of independence
    marginal_densities: the margins of a joint attribute
    pair_estimates: functionals and tests that a round makes of a pair
    product_moments: means of products E a(X) b(Y), and their covariance
    report_weights: unbiased weights of one attribute's reports
"""
