"""Storage of accepted reports until a round collects them.

Modules:
    database: the durable SQLite store of accepted reports
    intake: the thread that validates waiting reports and commits them together
    report_ids: which collector of a shared folder owns a report id, and the ids already seen
    sealing: from the store to Parquet files in the landing folder
    transfer: transfer of reports to the collector that owns them
"""
