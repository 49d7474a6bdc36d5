"""From counts to estimates with errors: densities, numbers of them, frequencies, and differences of two.

Here: what an estimate is, the estimators and the inference they call.  Not here: schemes and reports (an estimator gets
a model and counts); the functionals themselves.  An estimator is a file of `density`, `discrete`, `frequency` or `joint`,
found by its `titles`, which the mechanisms that it reads declare.  May import mechanisms, functionals and errors.

Modules:
    coherent_cdf: one distribution function for everything that is reported of one numeric attribute in one round
    consistency: projections onto the simplex and onto densities
    constants: tuning constants and numerical tolerances
    density/: density estimators of numeric attributes, and what they estimate
    diagnostics/: evidence behind an estimate: fit, discreteness, efficiency, and sensitivity to malicious clients
    discrete/: distributions of numeric attributes with declared support points
    estimator: the estimator interface
    estimators: the public names of estimators and level rules
    frequency/: frequencies of categorical attributes
    functional_estimate: the estimate of one functional, with its interval or the reason for a refusal
    groups: groups of an aggregate: report counts, refusals, and which are large enough to be shown
    inference/: confidence intervals and bands of functionals, and comparisons of estimates
    joint/: two attributes together: their joint distribution from pairs of reports
    regression/: one attribute on public labels: logistic, multinomial and linear models
    registry: every estimator by its name in schemes, and whether attributes can be estimated as declared
    trend/: the estimates of several rounds as a level that drifts
    weighting/: weighting by public labels: raking, weighted estimates and their variance
"""
