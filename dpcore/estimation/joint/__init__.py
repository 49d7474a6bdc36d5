"""Two attributes together: what pairs of reports say of their joint law, what is shown of it, intervals and tests.

Here: weights of reports (`side`), means of products and their covariance (`evidence`), the law with the single estimates as its
margins (`surface`), and the result (`joint_estimate`).  Not here: numbers of two attributes (`functionals.joint`).
"""
