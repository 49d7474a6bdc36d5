"""What travels: one report as JSON, reports and aggregates in bulk as Parquet, the bundle that clients read."""

from dpcore.wire.bundle import write_bundle
from dpcore.wire.codec import read_aggregate, read_reports, read_stamp, write_aggregate, write_reports
from dpcore.wire.files import write_bytes, write_whole
from dpcore.wire.single import REASONS, most_bytes, read_report, write_report

__all__ = [
    "REASONS",
    "most_bytes",
    "read_aggregate",
    "read_report",
    "read_reports",
    "read_stamp",
    "write_aggregate",
    "write_bundle",
    "write_bytes",
    "write_report",
    "write_reports",
    "write_whole",
]
