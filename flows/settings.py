"""What the flows can be told, typed: Prefect's form shows these fields, and refuses what does not fit.

The defaults give the same round as `ldpflow run`, so that the aggregates of both are bit-equal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dpcore.certify import DEFAULT_SCHEMES
from dpcore.stages import DEFAULT_DATA, DEFAULT_SCHEME
from dpcore.studies import coverage
from dpcore.studies.accuracy import Grid
from dpcore.studies.reproduce import FIGURES

FIGURE_NAMES = tuple(FIGURES)
_LARGEST_SEED = 2**63 - 1
_MOST_CLIENTS = 10**9


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    scheme: Path = Field(DEFAULT_SCHEME, description="The scheme file (TOML).")
    data: Path = Field(DEFAULT_DATA, description="Where reports, aggregates, pictures and the warehouse live.")


class RoundSettings(_Settings):
    """A whole round, of simulated people or of a file of records."""

    clients: int | None = Field(
        None, ge=1, le=_MOST_CLIENTS, description="How many simulated people.  Default: the scheme's number."
    )
    records: Path | None = Field(
        None, description="Real records instead, one client each: .csv or .parquet, on the worker's machine."
    )
    seed: int | None = Field(
        None,
        ge=0,
        le=_LARGEST_SEED,
        description="Seed of the simulation.  Default: the round's own.  With records: a rehearsal, not private.",
    )
    round: str | None = Field(
        None,
        min_length=1,
        max_length=64,
        description="The round's name; sorts as text.  Default: the scheduled day, UTC.",
    )
    warehouse: Path | None = Field(None, description="The DuckDB file.  Default: warehouse.duckdb in `data`.")
    keep_reports: bool = Field(False, description="Keep the reports after landing.")


class CollectSettings(_Settings):
    """The reports that clients sent for a round."""

    reports: Path = Field(description="Folder of report files (.parquet), on the worker's machine.")
    round: str | None = Field(
        None,
        min_length=1,
        max_length=64,
        description="The round's name; sorts as text.  Default: the scheduled day, UTC.",
    )
    warehouse: Path | None = Field(None, description="The DuckDB file.  Default: warehouse.duckdb in `data`.")


class AuditSettings(BaseModel):
    """Every scheme of a folder."""

    model_config = _Settings.model_config

    schemes: Path = Field(DEFAULT_SCHEMES, description="Folder of scheme files (TOML), on the worker's machine.")
    warehouse: Path = Field(DEFAULT_DATA / "warehouse.duckdb", description="The DuckDB file that the checks land in.")


class BenchmarkSettings(BaseModel):
    """The accuracy study's grid, and where it lands."""

    model_config = _Settings.model_config

    targets: tuple[str, ...] = Field(Grid.targets, description="Densities to measure on.")
    clients: tuple[int, ...] = Field(Grid.clients, description="Numbers of clients.")
    epsilons: tuple[float, ...] = Field(Grid.epsilons, description="Epsilons, natural-log units.")
    methods: tuple[str, ...] = Field((), description="Methods to measure; `peers` for all peers.  Default: everything.")
    repetitions: int = Field(Grid.repetitions, ge=2, description="Repetitions a cell; an even number.")
    workers: int = Field(2, ge=1, le=64, description="Processes.")
    warehouse: Path = Field(DEFAULT_DATA / "warehouse.duckdb", description="The DuckDB file the rows land in.")
    figures: Path = Field(DEFAULT_DATA / "figures" / "accuracy", description="Folder of the pictures.")


class CoverageSettings(BaseModel):
    """The coverage study's grid, and where it lands."""

    model_config = _Settings.model_config

    targets: tuple[str, ...] = Field(coverage.TARGETS, description="Densities to measure on.")
    places: tuple[tuple[int, float], ...] = Field(
        coverage.PLACES, description="Numbers of clients, each with its epsilon."
    )
    methods: tuple[str, ...] = Field(coverage.METHODS, description="Methods to measure.")
    repetitions: int = Field(coverage.REPETITIONS, ge=2, description="Repetitions a cell; more can be added later.")
    workers: int = Field(2, ge=1, le=64, description="Processes.")
    warehouse: Path = Field(DEFAULT_DATA / "warehouse.duckdb", description="The DuckDB file the rows land in.")
    figures: Path = Field(DEFAULT_DATA / "figures" / "coverage", description="Folder of the pictures.")


class ReproduceSettings(BaseModel):
    """Which of the documents' figures to run, and where they land."""

    model_config = _Settings.model_config

    names: tuple[Literal[FIGURE_NAMES], ...] = Field(FIGURE_NAMES, description="Figures of the documents.")
    quick: bool = Field(False, description="A tenth of the repetitions.")
    again: bool = Field(False, description="Measure anew what the warehouse has.")
    warehouse: Path = Field(DEFAULT_DATA / "warehouse.duckdb", description="The DuckDB file the rows land in.")
    figures: Path = Field(DEFAULT_DATA / "figures" / "reproduce", description="Folder of the pictures.")


class NamedRound(_Settings):
    """A round that has been collected; its newest run is meant."""

    round: str = Field(min_length=1, max_length=64, description="The round's name, such as 2026-11-20.")
