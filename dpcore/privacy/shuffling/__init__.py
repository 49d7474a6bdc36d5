"""Privacy of publication: a second epsilon, for an observer who sees only functions of the multiset of reports.

Here: upper bounds (`blanket`, `two_categories`) and lower ones (`contrast`) of a `channel` of integers, the `central_epsilon`
of a round, and the `condition`.  Not here: the integers of mechanisms (`audit.publication`), what lands.  May import errors.
Sources: [Balle2019]; clones [FeldmanMcMillanTalwar2021], [FeldmanMcMillanTalwar2023].

Modules:
    blanket: upper bounds by the privacy blanket
    central_epsilon: the central epsilon of an attribute, a round and several rounds
    channel: bounds for a finite channel, from integer weights
    condition: when the central epsilon by shuffling applies
    contrast: exact loss where reports are of three kinds
    kinds: lower bound where all other clients hold one value
    sums: tails of integer sums by Fourier transform
    two_categories: exact distribution of the counts of two answers
"""
