"""What publication reveals: a second figure of privacy, for whoever sees nothing but functions of the multiset of reports.

Here: upper bounds (`blanket`, `two_categories`) and lower ones (`contrast`) of a `channel` of integers, the `central_epsilon`
of a round, and the `condition`.  Not here: the integers of mechanisms (`audit.publication`), what lands.  May import errors.
Sources: [Balle2019]; clones [FeldmanMcMillanTalwar2021], [FeldmanMcMillanTalwar2023].
"""
