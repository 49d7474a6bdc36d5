"""The steps of a round, in the order of `sequence`.

Modules:
    aggregation: report files to an aggregate
    collected_files: which collected report files a run counts
    estimation: the aggregate to tables
    landing: pictures, landing and comparison with the previous round
    minimum_clients: rounds with too few clients are held back
    preparation: the name and the lock of a round, the checks before a run, and which run it is: the same again or a new one
    privatization: records to reports, charged once
    sequence: the order of steps, for commands and flows
"""
