"""Domains of attributes and labels, and pairs of attributes.

Modules:
    categories: categories, as a scheme lists them
    dates: dates as days since 1970-01-01
    label: public labels of clients, and regressions on them
    option_sets: sets of options, such as the answers to "select all that apply"
    pairs: pairs of attributes with joint counts, and two columns in one report
    support_points: bounds, support points and bins of a number
    texts: open answers
"""
