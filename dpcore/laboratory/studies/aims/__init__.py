"""Targets that studies must meet, and whether they do.

Modules:
    accuracy: what the accuracy study is to show, and whether it does
    coverage: what the coverage study is to show, and whether it does
    rates: what the study of rates is to show, and whether it does
    verdict: an aim of a study: a number that is found in it
"""
