"""Typed parameters of the flows: Prefect's form shows these fields and rejects invalid values.

The defaults give the same round as `ldpflow run`: the aggregates of both are bit-equal.  The forms of studies are in
`studies.settings`, because no round needs a study.
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
    """Return a form with the options that classes of `dpcore.rounds.settings` declare, without the option `leaving`."""
    fields: dict[str, Any] = {}
    for option in (option for kind in declared for option in options(kind)):
        least, most = ("min_length", "max_length") if option.plain is str else ("ge", "le")
        bounds: dict[str, Any] = {least: option.least, most: option.most, "description": option.words}
        fields[option.name] = (option.kind, Field(option.default, **bounds))
    fields.pop(leaving, None)
    return create_model("Form", __config__=FORM, **fields)


class RoundSettings(form(Which, Round)):
    """A whole round of simulated respondents, of a file of records, or of collected reports."""

    @model_validator(mode="after")
    def _refuse_dry_run(self) -> RoundSettings:
        """With the seed, the noise of real respondents can be removed, and Prefect stores parameters."""
        if self.seed is not None and (self.records or self.reports):
            raise ValueError("seed is for simulated clients; for a dry run use `ldpflow run --records FILE --seed S`")
        return self


class CollectSettings(form(Which, Collect)):
    """The reports that clients sent for a round."""

    reports: Path = Field(description="Folder of report files (.parquet), on the worker's machine.")


class BackfillSettings(form(Which, Backfill, leaving="round")):
    """The rounds of past days, of simulated respondents or of collected reports."""

    first: date = Field(description="First day, such as 2026-11-01.")
    last: date = Field(description="Last day.")


class CleanupSettings(form(Cleanup)):
    """How long files, results and history are kept."""

    keep_history_days: int = Field(
        90, ge=1, le=36_500, description="Days after which runs and results of Prefect are deleted."
    )


class AuditSettings(BaseModel):
    """Every scheme of a folder."""

    model_config = FORM

    schemes: Path = Field(DEFAULT_SCHEMES, description="Folder of scheme files (TOML), on the worker's machine.")
    warehouse: Path = Field(warehouse_of(DEFAULT_DATA), description="DuckDB file in which the checks land.")
    trials: int = Field(
        1_000_000, ge=1000, le=10**9, description="Reports of each of two values that the attack uses, per attribute."
    )


class DryRunSettings(BaseModel):
    """Simulated rounds of a scheme; nothing lands."""

    model_config = FORM

    scheme: Path = Field(DEFAULT_SCHEME, description="Scheme file (TOML), on the worker's machine.")
    clients: int | None = Field(
        None, ge=1, le=MOST_CLIENTS, description="Clients per round. Default: the scheme's number."
    )
    rounds: int = Field(20, ge=1, le=100_000, description="Number of simulated rounds.")
    like: Path | None = Field(
        None, description="Draw respondents from this file of records, whose values are the true values."
    )
    seed: int = Field(0, ge=0, le=2**63 - 1, description="Seed of the simulation.")


class NamedRound(form(Which, Where, leaving="warehouse")):
    """The newest run of a collected round."""

    round: str = Field(min_length=1, max_length=64, description="Name of the round, such as 2026-11-20.")
