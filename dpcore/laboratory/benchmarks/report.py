"""How a study stands: its rows, and its aims with what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from dpcore.laboratory.studies.aims import Verdict


@dataclass(frozen=True, eq=False)
class Report:
    """The newest study: its rows or cells, as its module says, and the aims with what was found."""

    rows: pd.DataFrame
    verdicts: list[Verdict]


def lines(verdicts: Iterable[Verdict]) -> list[tuple[str, str, str, str]]:
    """Return aims as a person reads them: aim, what it may be, what was found, whether it is reached."""
    return [
        (
            verdict.aim,
            f"{'>=' if verdict.at_least else '<='} {verdict.limit:.2f}",
            "" if verdict.found is None else f"{verdict.found:.2f}",
            {True: "yes", False: "no", None: "not measured"}[verdict.reached],
        )
        for verdict in verdicts
    ]
