"""Two attributes together: what pairs of reports say of their joint law, what is shown of it, intervals and tests.

Here: weights of reports (`report_weights`), means of products and their covariance (`product_moments`), the law with the single
estimates as its margins (`joint_distribution`), the result (`joint_estimate`), and what a round asks of it (`pair_estimates`).
Not here: numbers of two attributes (`functionals.joint`).

Modules:
    conditioning: a numeric attribute's reports given those of a categorical one
    joint_attribute: the estimator of a joint attribute, which refers to `dp.joint`
    joint_distribution: the joint distribution shown, with given margins
    joint_estimate: the estimate of two attributes: functionals and tests of independence
    marginal_densities: the margins of a joint attribute
    pair_estimates: functionals and tests that a round makes of a pair
    product_moments: means of products E a(X) b(Y), and their covariance
    report_weights: unbiased weights of one attribute's reports
"""
