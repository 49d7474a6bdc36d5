"""The shape of the files.

Reports: one row per client.  An attribute whose report is one integer at one level is a column of its name (int64); any other
is a pair of columns, NAME_level (uint8) and NAME_values (list of int64).  A client that did not report an attribute has nulls.
A label is a column of one integer.  Where reports have names, two more columns of 16 bytes hold them: _report_id and
_client_token, no attribute's name.
Aggregates: one row per statistic.  Both carry the scheme's digest in the file's metadata and are refused under another.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import pyarrow as pa

from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import NAME_BYTES

DIGEST = b"ldpflow.scheme_digest"
KIND = b"ldpflow.kind"
NAMES = ("_report_id", "_client_token")  # columns that a report file may have
ROUND = b"ldpflow.round"  # of a report file: the round it is sent for
REFUSED = b"ldpflow.refused"  # of a collector's report file: reason -> how many reports it did not take, as JSON
SEGMENT = b"ldpflow.segment"  # of a collector's report file: which of its files it is
AGGREGATE = pa.schema(
    [
        ("attribute", pa.string()),
        ("given", pa.string()),  # '' or 'ATTRIBUTE=CATEGORY', the reported category
        # 'reports', 'count', 'sum', or 'clients', 'answered', 'rejected', 'example', 'marginal', 'labelled', 'pair'
        ("statistic", pa.string()),
        ("level", pa.int64()),
        ("cell", pa.int64()),
        ("value", pa.int64()),
    ]
)


@lru_cache(maxsize=1024)
def sizes_of(scheme: Scheme, name: str) -> tuple[int, ...]:
    """Return how many integers a report of each level of an attribute, or a label, holds."""
    return scheme.reported[name].mechanism.sizes


def is_single(scheme: Scheme, name: str) -> bool:
    """Return whether a report of the attribute is one integer at one level."""
    return sizes_of(scheme, name) == (1,)


def report_schema(scheme: Scheme, names: Collection[str] = ()) -> pa.Schema:
    """Return the columns of a report file under a scheme; names: those of `NAMES` that it has."""
    return _report_schema(scheme, tuple(name for name in NAMES if name in names))


@lru_cache(maxsize=256)
def _report_schema(scheme: Scheme, names: tuple[str, ...]) -> pa.Schema:
    fields: list[tuple[str, pa.DataType]] = []
    for name in scheme.reported:
        if is_single(scheme, name):
            fields.append((name, pa.int64()))
        else:
            fields += [(f"{name}_level", pa.uint8()), (f"{name}_values", pa.list_(pa.int64()))]
    fields += [(name, pa.binary(NAME_BYTES)) for name in names]
    return pa.schema(fields, metadata=metadata(scheme, "reports"))


def metadata(scheme: Scheme, kind: str) -> dict[bytes, bytes]:
    """Return the metadata that every file has."""
    return {DIGEST: scheme.digest.encode(), KIND: kind.encode()}
