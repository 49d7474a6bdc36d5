"""A row of `checks`: the result of one check of a round."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Check(NamedTuple):
    """Result of a check, named KIND(ATTRIBUTE); the observed value and its threshold are None if there are none."""

    name: str
    passed: bool
    observed: float | None
    threshold: float | None
    detail: str | None


def frame_of(checks: Iterable[Check]) -> pd.DataFrame:
    """Return rows of `checks` without run_id; an empty frame has the columns as well."""
    import pandas as pd

    return pd.DataFrame(list(checks), columns=list(Check._fields))


def of_group(quantity: str, group: str) -> str:
    """Return `quantity | group`, as in names of checks, or the quantity alone without a group."""
    return f"{quantity} | {group}" if group else quantity
