"""Regression of a privatized attribute on public labels, from the sums by label that an aggregate keeps.

Modules:
    categorical_outcome: logistic and multinomial models, by maximum likelihood through the mechanism
    design_matrix: formulas, and the design matrix over the combinations of the labels' categories
    numeric_outcome: linear models of a mean, by weighted least squares on distribution-free means
    regression: the public function, and its result
"""
