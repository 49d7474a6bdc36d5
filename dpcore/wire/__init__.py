"""What travels: one report as JSON, many as an Arrow stream or as Parquet, aggregates, the clients' bundle, a ledger.

Here: bytes and files, written whole and read with suspicion, and where files are.  Not here: what a report means (`protocol`),
HTTP (`collector`), which step reads which file (`rounds`).  May import protocol, mechanisms and errors; a door to pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Read on first use, so that a client writes its report without pyarrow.
_EXPORTS = {
    "FileStore": "store",
    "LEAST_BYTES": "single",
    "LedgerFolder": "ledgers",
    "REASONS": "single",
    "Rows": "bulk",
    "is_here": "files",
    "joined": "bulk",
    "judge": "bulk",
    "location": "files",
    "most_bytes": "single",
    "opened": "files",
    "private_file": "files",
    "private_folder": "files",
    "read_aggregate": "codec",
    "read_parts": "codec",
    "read_refused": "codec",
    "read_report": "single",
    "read_reports": "codec",
    "read_stamp": "codec",
    "read_stream": "bulk",
    "remove_folder": "files",
    "rows_of": "bulk",
    "sync_folder": "files",
    "write_aggregate": "codec",
    "write_bundle": "bundle",
    "write_bytes": "files",
    "write_lines": "lines",
    "write_report": "single",
    "write_reports": "codec",
    "write_segment": "bulk",
    "write_stream": "bulk",
    "write_whole": "files",
}

__all__ = [
    "FileStore",
    "LEAST_BYTES",
    "LedgerFolder",
    "REASONS",
    "Rows",
    "is_here",
    "joined",
    "judge",
    "location",
    "most_bytes",
    "opened",
    "private_file",
    "private_folder",
    "read_aggregate",
    "read_parts",
    "read_refused",
    "read_report",
    "read_reports",
    "read_stamp",
    "read_stream",
    "remove_folder",
    "rows_of",
    "sync_folder",
    "write_aggregate",
    "write_bundle",
    "write_bytes",
    "write_lines",
    "write_report",
    "write_reports",
    "write_segment",
    "write_stream",
    "write_whole",
]

if TYPE_CHECKING:
    from dpcore.wire.bulk import Rows, joined, judge, read_stream, rows_of, write_segment, write_stream
    from dpcore.wire.bundle import write_bundle
    from dpcore.wire.codec import (
        read_aggregate,
        read_parts,
        read_refused,
        read_reports,
        read_stamp,
        write_aggregate,
        write_reports,
    )
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
    from dpcore.wire.ledgers import LedgerFolder
    from dpcore.wire.lines import write_lines
    from dpcore.wire.single import LEAST_BYTES, REASONS, most_bytes, read_report, write_report
    from dpcore.wire.store import FileStore


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'dpcore.wire' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"dpcore.wire.{_EXPORTS[name]}"), name)
