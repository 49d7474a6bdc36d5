"""What the flows of studies can be told, typed, as in `settings`; the forms offer the names that the studies have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from dpcore.laboratory.studies import accuracy, coverage, targets
from dpcore.laboratory.studies.reproduce import FIGURES
from dpcore.rounds.defaults import DEFAULT_DATA, warehouse_of
from flows.settings import FORM

FIGURE_NAMES = tuple(FIGURES)

Clients = Annotated[int, Field(ge=100, le=10**12)]
Epsilon = Annotated[float, Field(ge=0.01, le=16)]
Processes = Annotated[int, Field(ge=1, le=64, description="Processes that measure at the same time.")]
Target = Literal[targets.NAMES]  # the form offers these names
SmoothTarget = Literal[coverage.TARGETS]
Method = Literal[accuracy.method_names()]
CoveredMethod = Literal[coverage.METHODS]
Figure = Literal[FIGURE_NAMES]


class BenchmarkSettings(BaseModel):
    """The accuracy study's grid, and where it lands."""

    model_config = FORM

    targets: list[Target] = Field(list(targets.NAMES), min_length=1, description="Densities to measure on.")
    clients: list[Clients] = Field(list(accuracy.CLIENTS), min_length=1, description="Numbers of clients.")
    epsilons: list[Epsilon] = Field(list(accuracy.EPSILONS), min_length=1, description="Epsilons, natural-log units.")
    methods: list[Method] = Field([], description="Methods to measure; `peers` for all peers.  None: everything.")
    repetitions: int = Field(
        accuracy.REPETITIONS,
        ge=2,
        le=10_000,
        multiple_of=2,
        description="Repetitions a cell; an even number, half to choose the best peer and half to measure it.",
    )
    workers: Processes = 2
    warehouse: Path = Field(warehouse_of(DEFAULT_DATA), description="The DuckDB file the rows land in.")
    figures: Path = Field(DEFAULT_DATA / "figures" / "accuracy", description="Folder of the pictures.")


class Place(BaseModel):
    """How many clients, and at which epsilon."""

    model_config = FORM

    clients: Clients = Field(description="Number of clients.")
    epsilon: Epsilon = Field(description="Epsilon, natural-log units.")


class CoverageSettings(BaseModel):
    """The coverage study's grid, and where it lands."""

    model_config = FORM

    targets: list[SmoothTarget] = Field(list(coverage.TARGETS), min_length=1, description="Densities to measure on.")
    places: list[Place] = Field(
        [Place(clients=clients, epsilon=epsilon) for clients, epsilon in coverage.PLACES],
        min_length=1,
        description="Numbers of clients, each with its epsilon.",
    )
    methods: list[CoveredMethod] = Field(list(coverage.METHODS), min_length=1, description="Methods to measure.")
    repetitions: int = Field(
        coverage.REPETITIONS, ge=2, le=1_000_000, description="Repetitions a cell; more can be added later."
    )
    workers: Processes = 2
    warehouse: Path = Field(warehouse_of(DEFAULT_DATA), description="The DuckDB file the rows land in.")
    figures: Path = Field(DEFAULT_DATA / "figures" / "coverage", description="Folder of the pictures.")


class ReproduceSettings(BaseModel):
    """Which of the documents' figures to run, and where they land."""

    model_config = FORM

    names: list[Figure] = Field(list(FIGURE_NAMES), min_length=1, description="Figures of the documents.")
    quick: bool = Field(False, description="A tenth of the repetitions.")
    again: bool = Field(False, description="Measure anew what the warehouse has.")
    warehouse: Path = Field(warehouse_of(DEFAULT_DATA), description="The DuckDB file the rows land in.")
    figures: Path = Field(DEFAULT_DATA / "figures" / "reproduce", description="Folder of the pictures.")
