"""Studies: how accurate the estimates are, beside what else one could use.

Modules:
    accuracy: the accuracy study: targets x clients x epsilons x methods
    aims/: targets that studies must meet, and whether they do
    bounds: the study of bounds: what our estimators err, over what no estimator can err less
    contestants: our own methods: a scheme's lines for one attribute, and `dp.estimate` without an option
    coverage: the coverage study: coverage of nominal 95 % intervals of functionals
    design/: numerical design of the waves' constants
    documents/: the tables and figures of the source documents, computed: one module a document
    figures: what a reproduced figure is: panels of curves, each point with its theory
    joint: the study of two attributes together: intervals and errors of their numbers
    method: what a study measures: a method, under one name or several
    metrics: how far an estimate is from a target, the same numbers for every method
    peers/: what a user would pick today, written to the papers and tuned as they say
    options: the study of options: shares where a respondent may choose several
    points: the study of values on points
    pointwise: a density and its slope at a point, by projection: the level that theory balances
    poisoning: the study of malicious clients: gains of attacks compared with theory
    rates: the study of rates: how fast do errors fall as n epsilon^2 grows
    rectangles: the study of rectangles: shares of two numbers' ranges together
    reproduce/: every table and figure of the documents: how its points are computed
    runner: what studies share: cells, the seeds of their repetitions
    speed/: how fast everything is, beside what bounds it: the machine's own draws and counts
    targets/: known distributions that studies draw from
"""
