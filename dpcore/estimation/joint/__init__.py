"""Two attributes together: what pairs of reports say of their joint law, what is shown of it, intervals and tests.

Here: weights of reports (`side`), means of products and their covariance (`evidence`), the law with the single estimates as its
margins (`surface`), the result (`joint_estimate`), and what a round asks of it (`pair_estimates`).  Not here: numbers of two
attributes (`functionals.joint`).
"""
