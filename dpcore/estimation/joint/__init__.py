"""Two attributes together: what pairs of reports say of their joint law, what is shown of it, intervals and tests.

Here: weights of reports (`report_weights`), means of products and their covariance (`product_moments`), the law with the single
estimates as its margins (`joint_distribution`), the result (`joint_estimate`), and what a round asks of it (`pair_estimates`).
Not here: numbers of two attributes (`functionals.joint`).
"""
