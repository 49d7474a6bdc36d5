"""Mechanisms of categorical attributes: frequency oracles.

Modules:
    frequency_oracle: what frequency oracles have in common
    hadamard_response: Hadamard response
    local_hashing: optimized local hashing
    option_sets: the sets of at most m of k options, numbered
    randomized_response: k-ary randomized response
    set_selection: set selection (PrivSet), for sets of options
    subset_selection: subset selection
    text_hashing: hashes of prefixes of texts, by local hashing
    unary_encoding: symmetric and optimized unary encoding
"""
