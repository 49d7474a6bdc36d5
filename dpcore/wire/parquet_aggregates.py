"""Write and read aggregates as Parquet, one row per statistic.

Most tables are written with every entry; tables by label, and pairs without estimated groups, only with entries that are not
zero.  What is read is checked: the scheme's digest, the columns, and that joint counts agree with those of single attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.errors import InvalidReport
from dpcore.functionals.group import Group
from dpcore.protocol.aggregates import Aggregate, statistic_rows
from dpcore.protocol.domain.pairs import Pair
from dpcore.protocol.label_sums import Labelled
from dpcore.protocol.scheme import Scheme
from dpcore.wire.files import opened
from dpcore.wire.parquet_reports import AGGREGATE, check_stamp, metadata, missing, unreadable, write_table


def write_aggregate(path: Path, aggregate: Aggregate) -> None:
    """Write an aggregate as one Parquet file, one row per statistic."""
    scheme = aggregate.scheme
    rows: list[tuple[str, str, str, int, int, int]] = [("", "", "clients", 0, 0, aggregate.n)]
    rows += [(name, "", "answered", 0, 0, count) for name, count in aggregate.answered.items()]
    rows += [(reason, "", "rejected", 0, 0, count) for reason, count in aggregate.rejected.items()]
    rows += [(reason, "", "example", 0, 0, position) for reason, position in aggregate.examples.items()]
    for name, statistics in aggregate.statistics.items():
        rows += statistic_rows(scheme, name, "", statistics)
    for name, other in scheme.grouped:
        tables = zip(scheme.attributes[other].categories, aggregate.pairs[name, other], strict=True)
        for category, statistics in tables:
            rows += statistic_rows(scheme, name, str(Group(other, category)), statistics)
    for name, counts in aggregate.marginals.items():
        rows += [(name, "", "marginal", 0, cell, int(count)) for cell, count in enumerate(counts)]
    parts = [pa.Table.from_arrays([pa.array(column) for column in zip(*rows, strict=True)], schema=AGGREGATE)]
    if aggregate.labelled is not None:
        held = [table.reshape(1, -1) for table in aggregate.labelled.tables()]
        parts += [_entries("", "", "labelled", table, number) for number, table in enumerate(held)]
    parts += [_entries(*pair, "pair", aggregate.pairs[pair]) for pair in _others(scheme)]
    whole = pa.concat_tables(parts).combine_chunks()
    write_table(path, whole.replace_schema_metadata(metadata(scheme, "aggregate")), compression="zstd")


def _others(scheme: Scheme) -> list[Pair]:
    """The pairs whose zero entries are left out."""
    return [pair for pair in scheme.pairs if pair not in scheme.grouped]


def _entries(attribute: str, condition: str, kind: str, table: np.ndarray, first: int = 0) -> pa.Table:
    """The rows of a table's entries that are not zero: `level` is its row, counted from `first` on, `cell` its column."""
    rows, cells = np.nonzero(table)
    texts = [pa.repeat(text, len(rows)) for text in (attribute, condition, kind)]
    return pa.Table.from_arrays([*texts, *map(pa.array, (rows + first, cells, table[rows, cells]))], schema=AGGREGATE)


def read_aggregate(path: Path, scheme: Scheme) -> Aggregate:
    """Return the aggregate in a file, bit-equal to the one written.

    Raises InvalidReport where the file is unreadable or not of this shape, SchemeMismatch where it belongs to another scheme.
    """
    try:
        with opened(path) as file:
            table = pq.read_table(file, partitioning=None)
    except FileNotFoundError:
        raise missing(path, "aggregate") from None
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    check_stamp(path, scheme, "aggregate", table.schema.metadata or {})
    if not table.schema.equals(AGGREGATE) or any(column.null_count for column in table.columns):
        raise InvalidReport(f"{path} does not have the columns of an aggregate; aggregate the reports anew")
    kinds = np.asarray(table.column("statistic").to_pylist())
    names = np.asarray(table.column("attribute").to_pylist())
    givens = np.asarray(table.column("given").to_pylist())
    values = table.column("value").to_numpy()
    measured = np.isin(kinds, ("reports", "count", "sum"))

    def one(kind: str) -> dict[str, int]:
        return {str(name): int(value) for name, value in zip(names[kinds == kind], values[kinds == kind], strict=True)}

    def block(name: str, condition: str, size: int) -> np.ndarray:
        statistics = values[measured & (names == name) & (givens == condition)]
        if len(statistics) != size:
            raise InvalidReport(f"{path} lacks statistics of {name}; aggregate the reports anew")
        return statistics.astype(np.int64)

    zero = Aggregate.zero(scheme)
    statistics = {name: block(name, "", len(size)) for name, size in zero.statistics.items()}
    pairs = dict(zero.pairs)
    for name, other in scheme.grouped:
        size, groups = (
            zero.pairs[name, other].shape[1],
            [str(Group(other, c)) for c in scheme.attributes[other].categories],
        )
        pairs[name, other] = np.stack([block(name, one_of, size) for one_of in groups])
    _fill_pairs(path, scheme, pairs, statistics, table.filter(pa.array(kinds == "pair")))
    whole = Aggregate(
        scheme,
        one("clients").get("", 0),
        statistics,
        pairs,
        one("answered"),
        one("rejected"),
        one("example"),
        {
            str(name): values[(kinds == "marginal") & (names == name)]
            for name in sorted(set(names[kinds == "marginal"]))
        },
        _filled(path, zero.labelled, table.filter(pa.array(kinds == "labelled"))),
    )
    if not _adds_up(whole):
        raise InvalidReport(f"{path} has counts that contradict one another; aggregate the reports anew")
    return whole


def _adds_up(whole: Aggregate) -> bool:
    """Whether no more were counted than answered, nor answered than there are, and tables by label are parts of the others."""
    counted = [whole.n, *whole.answered.values(), *whole.rejected.values(), *whole.examples.values()]
    if min(counted) < 0 or whole.answered.keys() != whole.statistics.keys() or max(whole.answered.values()) > whole.n:
        return False
    for name, own in whole.statistics.items():
        counts = own[whole.scheme.attributes[name].mechanism.labels().statistic == "count"]
        if np.any((counts < 0) | (counts > whole.answered[name])):
            return False
    parts = whole.labelled
    if parts is None:
        return True
    answered = [whole.answered[name] for name in parts.answered]
    others = [*(whole.statistics[name] for name in parts.statistics), *(whole.pairs[pair] for pair in parts.pairs)]
    of_all: list[int | np.ndarray] = [whole.n, *answered, *others]
    return all(np.array_equal(table.sum(axis=0), own) for table, own in zip(parts.tables(), of_all, strict=True))


def _fill_pairs(
    path: Path, scheme: Scheme, pairs: Mapping[Pair, np.ndarray], statistics: Mapping[str, np.ndarray], rows: pa.Table
) -> None:
    """Fill the tables of pairs from a file's entries, which are not zero.

    Raises InvalidReport where they are not those of the scheme's pairs, or contradict what it has of single attributes.
    """
    names, others = (np.asarray(rows.column(name).to_pylist(), dtype=str) for name in ("attribute", "given"))
    at, cells, values = (rows.column(name).to_numpy() for name in ("level", "cell", "value"))
    left = len(rows)
    for pair in _others(scheme):
        table, own = pairs[pair], (names == pair[0]) & (others == pair[1])
        height, width = table.shape
        held = int(np.count_nonzero(own))
        left -= held
        is_sound = bool(np.all((at[own] >= 0) & (at[own] < height) & (cells[own] >= 0) & (cells[own] < width)))
        if is_sound:
            table[at[own], cells[own]] = values[own]
        # an entry that comes twice, or is zero, leaves fewer than there are rows
        if not is_sound or np.count_nonzero(table) != held or not _agrees(scheme, pair, table, statistics):
            raise InvalidReport(
                f"{path} does not have the joint counts of {pair[0]} and {pair[1]}; aggregate the reports anew"
            )
    if left:
        raise InvalidReport(
            f"{path} has joint counts of a pair that scheme {scheme.name} lacks; aggregate the reports anew"
        )


def _agrees(scheme: Scheme, pair: Pair, table: np.ndarray, statistics: Mapping[str, np.ndarray]) -> bool:
    """Whether a pair's table agrees with the statistics of its two attributes."""
    (first, second), (ours, theirs) = (
        (scheme.attributes[name].mechanism for name in pair),
        (statistics[n] for n in pair),
    )
    margins = [(table.sum(axis=0), ours)] if second.counts_outputs else []
    margins += [(table.sum(axis=1), theirs)] if first.counts_outputs else []
    if not margins:  # scores are 0 or 1, so that nobody is counted twice
        return bool(np.all(table >= 0) and np.all(table <= np.minimum.outer(theirs, ours)))
    is_counted = all(np.all(mechanism.labels().statistic == "count") for mechanism in (first, second))
    return all(np.array_equal(*sums) for sums in margins) and not (is_counted and np.any(table < 0))


def _filled(path: Path, zero: Labelled | None, rows: pa.Table) -> Labelled | None:
    """The tables by label, from their entries that are not zero; raises InvalidReport where one is of none of them."""
    if zero is None:
        return None
    numbers, cells, values = (rows.column(name).to_numpy() for name in ("level", "cell", "value"))
    tables = zero.tables()
    sizes = np.array([table.size for table in tables])
    is_one = (numbers >= 0) & (numbers < len(tables)) & (cells >= 0)
    if not np.all(is_one) or np.any(cells >= sizes[numbers]):
        raise InvalidReport(f"{path} has counts of labels that its scheme does not have; aggregate the reports anew")
    for number, table in enumerate(tables):
        table.reshape(-1)[cells[numbers == number]] = values[numbers == number]
    return zero
