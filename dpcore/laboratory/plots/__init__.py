"""Pictures of studies: each takes rows of a table and an Axes, and returns the Axes.

Modules:
    accuracy: the accuracy study in pictures: where we are better than the best peer
    coverage: the coverage study in pictures: how often intervals of each functional cover the true value
    curves: curves of a table: one line for each name, error bars
    poisoning: the study of malicious clients in pictures: how often each check sees an attack
    rates: the study of rates in pictures: errors against n epsilon^2, with theory
"""
