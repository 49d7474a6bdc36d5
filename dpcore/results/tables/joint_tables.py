"""Tables of pairs of attributes: cells of the joint distribution, functionals and tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from dpcore.results.tables.functional_rows import NUMBERS, row_of

if TYPE_CHECKING:
    from dpcore.estimation.joint.pair_estimates import PairEstimates  # with scipy, which few rounds need

_OF_TESTS = ("statistic", "p_value")


def joint_tables(joints: Sequence[PairEstimates]) -> dict[str, pd.DataFrame]:
    """Return the frames of `joint` and `associations`; they are empty if the scheme has no such pair."""
    cells = [_cells(pair) for pair in joints if pair.has_table]
    rows = [row for pair in joints for row in _rows(pair)]
    types = {**dict.fromkeys((*NUMBERS, *_OF_TESTS), "float64"), "degrees": "Int64", "reason": "object"}
    return {
        "joint": pd.concat(cells, ignore_index=True) if cells else pd.DataFrame(),
        "associations": pd.DataFrame([dict.fromkeys(types) | row for row in rows]).astype(types)
        if rows
        else pd.DataFrame(),
    }


def _cells(pair: PairEstimates) -> pd.DataFrame:
    """The two-way table, sorted by the parts of both attributes."""
    cells = pair.table().rename(columns={"first": "first_part", "second": "second_part"})
    places = {f"{side}_position": pd.factorize(cells[f"{side}_part"])[0] for side in ("first", "second")}
    return cells.assign(first=pair.first, second=pair.second, **places)


def _rows(pair: PairEstimates) -> Iterator[dict[str, Any]]:
    """The functionals, then the tests; or one row with the reason why there are none."""
    named = {"first": pair.first, "second": pair.second, "first_part": "", "second_part": ""}
    for number in pair.numbers:
        parts = {"first_part": number.first_part, "second_part": number.second_part}
        yield named | parts | row_of(number.result)
    for test in pair.tests:
        values = {"statistic": test.statistic, "degrees": test.degrees, "p_value": test.p_value}
        yield named | {"functional": test.name, "kind": "test", **values}
    if pair.reason:
        yield named | {"functional": "independence", "kind": "test", "reason": pair.reason}
