"""Privacy of publication: a second epsilon, for an observer who sees only functions of the multiset of reports.

Here: upper bounds (`blanket`) and exact ones (`contrast`) of a `channel` of integers, the `central_epsilon` of a round, and
when it applies.  Not here: the integers of mechanisms (`audit.publication`), what lands.  May import errors.
Sources: [Balle2019]; clones [FeldmanMcMillanTalwar2021], [FeldmanMcMillanTalwar2023].

Modules:
    blanket: upper bounds by the privacy blanket
    central_epsilon: the central epsilon of an attribute, a round and several rounds, and when it applies
    channel: bounds for a finite channel, from integer weights
    contrast: exact loss where reports are of three kinds, and of published counts of two answers
    kinds: lower bound where all other clients hold one value
    sums: tails of integer sums by Fourier transform
"""
