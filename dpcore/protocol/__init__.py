"""What both sides agree on and exchange: the scheme, tokens, reports, and the aggregate that sums them.

Here: the scheme and its canonical form, revisions, tokens, single reports and batches, their exact sums, and the
distribution of these sums.  Not here: bytes and files (`wire`), a client's state (`client`), estimates (`estimation`).
May import mechanisms, functionals' names, privacy and errors; numpy alone.

Modules:
    aggregates: aggregates: integer sufficient statistics, validated and merged
    attribute: one attribute of a scheme: its domain and input cells
    domain/: domains of attributes and labels, and pairs of attributes
    label_sums: sums by public labels, and joint counts of pairs
    odds: odds of what a client sends under a scheme, also in words, in three languages (`texts/`)
    records/: records in memory: columns, blocks of clients, and their privatization
    report: one report, and a batch of many
    revision: the differences of two schemes
    scheme: the scheme, addressed by the hash of its canonical text
    simulation: an aggregate drawn from its exact distribution
    syntax/: the text of a scheme: its keys, how they are read, and the canonical form
    tokens: client tokens, and public levels derived from them
"""
