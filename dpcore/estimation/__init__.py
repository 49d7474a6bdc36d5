"""From counts to estimates with errors: densities, numbers of them, frequencies, and differences of two.

Here: what an estimate is, the estimators and the inference they call.  Not here: schemes and reports, of which an estimator
sees a model and counts; the functionals themselves.  An estimator is a file of `density`, `discrete`, `frequency` or `joint`,
found by its `titles`, which the mechanisms that it reads declare.  May import mechanisms, functionals and errors.
"""
