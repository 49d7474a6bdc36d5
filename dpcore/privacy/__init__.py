"""What a person spends: budgets, which are exact, ledgers, and answers that stay the same.

Here: a Budget is a rational plus the logarithm of a rational; adding budgets up; a client's ledger and memory.  Not here:
noise (`mechanisms`), what a landed round has spent (`results`).  May import errors, and where randomness comes from.

Modules:
    budget: an epsilon as an exact number
    concentrated: from concentrated to approximate privacy
    ledger: the ledger of what one client has spent
    memoization: memoized answers
    odds: odds of guessing which of two values a report is of
    shuffling/: privacy of publication: a second epsilon
"""
