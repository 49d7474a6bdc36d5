"""What travels: one report as JSON, reports and aggregates in bulk as Parquet, the bundle that clients read, a ledger."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Read on first use, so that a client writes its report without pyarrow.
_EXPORTS = {
    "FileStore": "store",
    "REASONS": "single",
    "is_here": "files",
    "location": "files",
    "most_bytes": "single",
    "opened": "files",
    "read_aggregate": "codec",
    "read_report": "single",
    "read_reports": "codec",
    "read_stamp": "codec",
    "remove_folder": "files",
    "write_aggregate": "codec",
    "write_bundle": "bundle",
    "write_bytes": "files",
    "write_report": "single",
    "write_reports": "codec",
    "write_whole": "files",
}

__all__ = [
    "FileStore",
    "REASONS",
    "is_here",
    "location",
    "most_bytes",
    "opened",
    "read_aggregate",
    "read_report",
    "read_reports",
    "read_stamp",
    "remove_folder",
    "write_aggregate",
    "write_bundle",
    "write_bytes",
    "write_report",
    "write_reports",
    "write_whole",
]

if TYPE_CHECKING:
    from dpcore.wire.bundle import write_bundle
    from dpcore.wire.codec import read_aggregate, read_reports, read_stamp, write_aggregate, write_reports
    from dpcore.wire.files import is_here, location, opened, remove_folder, write_bytes, write_whole
    from dpcore.wire.single import REASONS, most_bytes, read_report, write_report
    from dpcore.wire.store import FileStore


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'dpcore.wire' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"dpcore.wire.{_EXPORTS[name]}"), name)
