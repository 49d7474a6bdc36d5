"""What travels: one report as JSON, many as an Arrow stream or as Parquet, aggregates, the clients' bundle, a ledger.

Here: bytes and files, written whole and read with suspicion, where files are, and locks on them.  Not here: what a report
means (`protocol`), HTTP (`collector`), which step reads which file (`rounds`).  May import protocol, mechanisms and errors; a
door to pyarrow.

Modules:
    arrow_stream: many reports as an Arrow stream, validated
    bundle: the client bundle
    files: files written whole, here or in an object store
    inbox: which report files a round counts, by their bytes and their reports' ids
    json_lines: reports as JSON lines
    json_report: one report as JSON, with the payloads of its attributes, validated
    ledger_file: a ledger as a file
    ledgers: a folder of ledgers
    locks: locks of the operating system
    object_store: paths in S3
    parquet_aggregates: aggregates as Parquet
    parquet_reports: report batches as Parquet, and the columns of report files
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore._lazy import lazy

# Read on first use, so that a client writes its report without pyarrow.
_EXPORTS = {
    "arrow_stream": (
        "Rows",
        "joined",
        "judge",
        "read_stream",
        "rows_of",
        "write_kept",
        "write_segment",
        "write_stream",
    ),
    "bundle": ("bundle_of", "write_bundle"),
    "parquet_reports": (
        "read_parts",
        "read_refused",
        "read_reports",
        "read_stamp",
        "write_reports",
    ),
    "files": (
        "is_here",
        "location",
        "opened",
        "private_file",
        "private_folder",
        "remove_folder",
        "sync_folder",
        "write_bytes",
        "write_whole",
    ),
    "ledgers": ("LedgerFolder",),
    "json_lines": ("write_lines",),
    "json_report": ("LEAST_BYTES", "REASONS", "most_bytes", "read_report", "write_report"),
    "ledger_file": ("FileStore",),
    "parquet_aggregates": ("read_aggregate", "write_aggregate"),
}
__getattr__, __all__ = lazy(__name__, _EXPORTS)

if TYPE_CHECKING:
    from dpcore.wire.arrow_stream import (
        Rows,
        joined,
        judge,
        read_stream,
        rows_of,
        write_kept,
        write_segment,
        write_stream,
    )
    from dpcore.wire.bundle import bundle_of, write_bundle
    from dpcore.wire.files import (
        is_here,
        location,
        opened,
        private_file,
        private_folder,
        remove_folder,
        sync_folder,
        write_bytes,
        write_whole,
    )
    from dpcore.wire.json_lines import write_lines
    from dpcore.wire.json_report import LEAST_BYTES, REASONS, most_bytes, read_report, write_report
    from dpcore.wire.ledger_file import FileStore
    from dpcore.wire.ledgers import LedgerFolder
    from dpcore.wire.parquet_aggregates import read_aggregate, write_aggregate
    from dpcore.wire.parquet_reports import read_parts, read_refused, read_reports, read_stamp, write_reports
