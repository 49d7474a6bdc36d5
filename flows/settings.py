"""What the flows can be told, typed: Prefect's form shows these fields, and refuses what does not fit.

The defaults give the same round as `ldpflow run`, so that the aggregates of both are bit-equal.  The studies' forms stand in
`study_settings`: they offer the studies' names, and no round needs a study.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dpcore.rounds.defaults import DEFAULT_DATA, DEFAULT_SCHEME, DEFAULT_SCHEMES, KEEP_DAYS, warehouse_of

_LARGEST_SEED = 2**63 - 1
_MOST_CLIENTS = 10**9
_MOST_DAYS = 36_500
FORM = ConfigDict(extra="forbid", frozen=True)

RoundName = Annotated[str, Field(min_length=1, max_length=64)]

_THE_DAY = "The round's name; sorts as text.  Default: the scheduled day, UTC; of a trial its own."
_FEWER = (
    "With fewer clients the round waits: nothing lands, and the reports are kept for the next attempt.  Default: 50; none of"
    " simulated people."
)
_AGAIN = "Run a round that has landed once more: what has landed is kept, and this is shown in its place."
_WAREHOUSE = "The DuckDB file.  Default: warehouse.duckdb in `data`."


class _Settings(BaseModel):
    model_config = FORM

    scheme: Path = Field(
        DEFAULT_SCHEME, description="The scheme file (TOML), on the worker's machine; data/schemes has some."
    )
    data: Path = Field(
        DEFAULT_DATA, description="Where a round's files live: a folder, or a URL such as s3://bucket/x."
    )


class RoundSettings(_Settings):
    """A whole round, of simulated people, of a file of records, or of the reports that clients sent."""

    clients: int | None = Field(
        None, ge=1, le=_MOST_CLIENTS, description="How many simulated people: a trial.  Default: the scheme's number."
    )
    records: Path | None = Field(
        None,
        description="Real records instead, one client each: .csv or .parquet, on the worker's machine or at a URL.",
    )
    reports: Path | None = Field(
        None,
        description="Folder of reports that clients sent (.parquet) instead, on the worker's machine; each counts once.",
    )
    seed: int | None = Field(
        None,
        ge=0,
        le=_LARGEST_SEED,
        description="Seed of simulated people: a trial.  Default: the round's own.  Real people have none.",
    )
    round: RoundName | None = Field(None, description=_THE_DAY)
    warehouse: Path | None = Field(None, description=_WAREHOUSE)
    keep_reports: bool = Field(False, description="Keep the reports after landing.")
    min_clients: int | None = Field(None, ge=0, le=_MOST_CLIENTS, description=_FEWER)
    again: bool = Field(False, description=_AGAIN)

    @model_validator(mode="after")
    def _no_rehearsal(self) -> RoundSettings:
        """A seed undoes the noise of real people, and Prefect keeps what a flow is told."""
        if self.seed is not None and (self.records or self.reports):
            raise ValueError("seed is for simulated people; rehearse with `ldpflow run --records FILE --seed S`")
        return self


class CollectSettings(_Settings):
    """The reports that clients sent for a round."""

    reports: Path = Field(description="Folder of report files (.parquet), on the worker's machine.")
    round: RoundName | None = Field(None, description=_THE_DAY)
    warehouse: Path | None = Field(None, description=_WAREHOUSE)
    min_clients: int | None = Field(None, ge=0, le=_MOST_CLIENTS, description=_FEWER)
    again: bool = Field(False, description=f"{_AGAIN}  It then counts what has come since, too.")


class BackfillSettings(_Settings):
    """The rounds of past days, of simulated people or of the reports that clients sent."""

    first: date = Field(description="The first day, such as 2026-11-01.")
    last: date = Field(description="The last day.")
    again: bool = Field(False, description=f"Rounds that have landed, too.  {_AGAIN}")
    clients: int | None = Field(
        None, ge=1, le=_MOST_CLIENTS, description="How many simulated people a round.  Default: the scheme's number."
    )
    reports: Path | None = Field(
        None, description="Folder of reports that clients sent (.parquet) instead, on the worker's machine."
    )
    warehouse: Path | None = Field(None, description=_WAREHOUSE)
    min_clients: int | None = Field(None, ge=0, le=_MOST_CLIENTS, description=_FEWER)


class CleanupSettings(BaseModel):
    """What is kept, and for how long."""

    model_config = _Settings.model_config

    data: Path = Field(
        DEFAULT_DATA, description="Where a round's files live: a folder, or a URL such as s3://bucket/x."
    )
    keep_days: int = Field(
        KEEP_DAYS, ge=0, le=_MOST_DAYS, description="Days after landing that a round's files are kept."
    )
    keep_history_days: int = Field(
        90, ge=1, le=_MOST_DAYS, description="Days that Prefect's own runs and results are kept."
    )
    reports: Path | None = Field(
        None,
        description="Folder of reports that clients sent; those that a round has counted go, too.  Default: none do.",
    )
    warehouse: Path | None = Field(None, description=_WAREHOUSE)
    dry_run: bool = Field(False, description="Only say what would be deleted.")


class AuditSettings(BaseModel):
    """Every scheme of a folder."""

    model_config = FORM

    schemes: Path = Field(DEFAULT_SCHEMES, description="Folder of scheme files (TOML), on the worker's machine.")
    warehouse: Path = Field(warehouse_of(DEFAULT_DATA), description="The DuckDB file that the checks land in.")
    trials: int = Field(
        1_000_000, ge=1000, le=10**9, description="Reports of either of two values that are looked at, an attribute."
    )


class NamedRound(_Settings):
    """A round that has been collected; its newest run is meant."""

    round: RoundName = Field(description="The round's name, such as 2026-11-20.")
