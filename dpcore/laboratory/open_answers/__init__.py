"""Answers that nobody can list beforehand: words, settings or sites, collected and found under local differential privacy.

Modules:
    candidates: prefixes and their extensions by every symbol, with their buckets
    heavy_hitters: the frequent texts of a round, and intervals for their shares
    study: which of the most frequent texts are found, by ours and by three papers
    text_hashing: the mechanism: a public hash of a prefix, reported by local hashing
    texts: texts as symbols of an alphabet
"""
