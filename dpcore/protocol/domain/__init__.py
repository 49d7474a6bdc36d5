"""Domains of attributes and labels, and pairs of attributes.

Modules:
    bins: categories that are ranges of a number
    dates: dates as days since 1970-01-01
    joint_attribute: two columns in one report
    label: public labels of clients
    option_sets: sets of options, such as the answers to "select all that apply"
    pairs: pairs of attributes with joint counts
    regression: regressions that a scheme declares
    support_points: bounds and support points of a numeric attribute
"""
