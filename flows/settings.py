"""What the flows can be told, typed: Prefect's form shows these fields, and refuses what does not fit.

The defaults give the same round as `ldpflow run`, so that the aggregates of both are bit-equal.  The studies' forms stand in
`studies.settings`: they offer the studies' names, and no round needs a study.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from dpcore.rounds.defaults import DEFAULT_DATA, DEFAULT_SCHEME, DEFAULT_SCHEMES, warehouse_of
from dpcore.rounds.settings import MOST_CLIENTS, Backfill, Cleanup, Collect, Round, Where, Which, options

FORM = ConfigDict(extra="forbid", frozen=True)


def form(*declared: type, leaving: str = "") -> Any:
    """Return a form with the options that classes of `dpcore.rounds.settings` declare, `leaving` one of them out."""
    fields: dict[str, Any] = {}
    for option in (option for kind in declared for option in options(kind)):
        least, most = ("min_length", "max_length") if option.plain is str else ("ge", "le")
        bounds: dict[str, Any] = {least: option.least, most: option.most, "description": option.words}
        fields[option.name] = (option.kind, Field(option.default, **bounds))
    fields.pop(leaving, None)
    return create_model("Form", __config__=FORM, **fields)


class RoundSettings(form(Which, Round)):
    """A whole round, of simulated people, of a file of records, or of the reports that clients sent."""

    @model_validator(mode="after")
    def _no_rehearsal(self) -> RoundSettings:
        """A seed undoes the noise of real people, and Prefect keeps what a flow is told."""
        if self.seed is not None and (self.records or self.reports):
            raise ValueError("seed is for simulated people; rehearse with `ldpflow run --records FILE --seed S`")
        return self


class CollectSettings(form(Which, Collect)):
    """The reports that clients sent for a round."""

    reports: Path = Field(description="Folder of report files (.parquet), on the worker's machine.")


class BackfillSettings(form(Which, Backfill, leaving="round")):
    """The rounds of past days, of simulated people or of the reports that clients sent."""

    first: date = Field(description="The first day, such as 2026-11-01.")
    last: date = Field(description="The last day.")


class CleanupSettings(form(Cleanup)):
    """What is kept, and for how long."""

    keep_history_days: int = Field(
        90, ge=1, le=36_500, description="Days that Prefect's own runs and results are kept."
    )


class AuditSettings(BaseModel):
    """Every scheme of a folder."""

    model_config = FORM

    schemes: Path = Field(DEFAULT_SCHEMES, description="Folder of scheme files (TOML), on the worker's machine.")
    warehouse: Path = Field(warehouse_of(DEFAULT_DATA), description="The DuckDB file that the checks land in.")
    trials: int = Field(
        1_000_000, ge=1000, le=10**9, description="Reports of either of two values that are looked at, an attribute."
    )


class DryRunSettings(BaseModel):
    """Simulated rounds of a scheme, of which nothing lands."""

    model_config = FORM

    scheme: Path = Field(DEFAULT_SCHEME, description="The scheme file (TOML), on the worker's machine.")
    clients: int | None = Field(
        None, ge=1, le=MOST_CLIENTS, description="Respondents of a round. Default: the scheme's."
    )
    rounds: int = Field(20, ge=1, le=100_000, description="How many rounds are simulated.")
    like: Path | None = Field(
        None, description="Draw respondents from this file of records, whose values are the truth."
    )
    seed: int = Field(0, ge=0, le=2**63 - 1, description="Seed of the simulation.")


class NamedRound(form(Which, Where, leaving="warehouse")):
    """A round that has been collected; its newest run is meant."""

    round: str = Field(min_length=1, max_length=64, description="The round's name, such as 2026-11-20.")
