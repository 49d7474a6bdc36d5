"""Files between the stages: reports and aggregates as Parquet, written whole or not at all."""

from dpcore.wire.bundle import write_bundle
from dpcore.wire.codec import read_aggregate, read_reports, read_stamp, write_aggregate, write_reports
from dpcore.wire.files import is_here, location, opened, remove_folder, write_bytes, write_whole

__all__ = [
    "is_here",
    "location",
    "opened",
    "read_aggregate",
    "read_reports",
    "read_stamp",
    "remove_folder",
    "write_aggregate",
    "write_bundle",
    "write_bytes",
    "write_reports",
    "write_whole",
]
