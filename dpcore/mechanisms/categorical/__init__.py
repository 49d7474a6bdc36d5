"""Mechanisms of categorical attributes: frequency oracles.

Modules:
    frequency_oracle: what frequency oracles have in common
    hadamard_response: Hadamard response
    local_hashing: optimized local hashing
    randomized_response: k-ary randomized response
    subset_selection: subset selection
    support_sets: channels whose outputs have one of two weights
    unary_encoding: symmetric and optimized unary encoding
"""
