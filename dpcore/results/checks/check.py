"""A row of `checks`: whether something that was looked at is as it should be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Check(NamedTuple):
    """What was looked at, `what(of whom)`; what was seen, and the number it should keep to, where there are such."""

    name: str
    passed: bool
    observed: float | None
    threshold: float | None
    detail: str | None


def frame_of(checks: Iterable[Check]) -> pd.DataFrame:
    """Return rows of `checks`, without run_id; the columns are there without any row."""
    import pandas as pd

    return pd.DataFrame(list(checks), columns=list(Check._fields))


def of_group(quantity: str, given: str) -> str:
    """Return the quantity with the group that it is of, if it is of one, as names of checks have it."""
    return f"{quantity} | {given}" if given else quantity
