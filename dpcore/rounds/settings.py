"""What a round can be told, each option declared once: its name, type and default, what it means, and its bounds.

A field here is an option of commands (`cli/options.taken_apart`), a field of flows' forms (`flows/settings`), an option of
`python -m flows.round` and an argument of `preparing.prepare`.  What the steps of every round obey stands in `Rules`, which a
run's plan keeps: a new one is a line there, and in the step that obeys it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

from dpcore.errors import SchemeError
from dpcore.rounds.defaults import DEFAULT_DATA, DEFAULT_SCHEME, KEEP_DAYS, MIN_CLIENTS

MOST_CLIENTS = 10**12
_WORDS = {MOST_CLIENTS: "10^12", 2**63 - 1: "2^63 - 1"}


@dataclass(frozen=True)
class Says:
    """What an option means, in the words of help and forms.  least, most: of a number; of a text, of its length."""

    words: str
    least: int | None = None
    most: int | None = None


class Option(NamedTuple):
    """A declared option.  kind: its type; plain: the same without None, which stands for what was not said."""

    name: str
    kind: Any
    default: Any
    says: Says

    @property
    def plain(self) -> Any:
        return next(kind for kind in (*get_args(self.kind), self.kind) if kind is not type(None))


@cache
def options(declared: type) -> tuple[Option, ...]:
    """Return what a class declares, as help lists it; fields that say nothing are no options."""
    hints = get_type_hints(declared, include_extras=True)
    found = []
    for field in fields(declared):
        match get_args(hints[field.name]):
            case (kind, Says() as says):
                found.append(Option(field.name, kind, field.default, says))
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """Options with their values.  Raises SchemeError where a number is out of bounds."""

    def __post_init__(self) -> None:
        declared: type = type(self)
        for name, _, _, says in options(declared):
            value, least, most = getattr(self, name), says.least, says.most
            if isinstance(value, int) and least is not None and most is not None and not least <= value <= most:
                bounds = f"{least:,} and {_WORDS.get(most, f'{most:,}')}"
                raise SchemeError(f"{name} must be a whole number between {bounds}, got {value}")


@dataclass(frozen=True, kw_only=True)
class Which(Declared):
    """Which round; commands and `prepare` take it beside all others."""

    scheme: Annotated[Path, Says("The scheme file (TOML); data/schemes has some.")] = DEFAULT_SCHEME
    round: Annotated[
        str | None,
        Says("The round's name; sorts as text. Default: the day it is for, UTC; of a trial its own.", least=1, most=64),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Where(Declared):
    """Where its files are."""

    warehouse: Annotated[Path | None, Says("The DuckDB file. Default: warehouse.duckdb in the data.")] = None
    data: Annotated[
        Path,
        Says("Where reports, aggregates, pictures and the warehouse live: a folder, or a URL such as s3://bucket/x."),
    ] = DEFAULT_DATA


@dataclass(frozen=True, kw_only=True)
class Who(Declared):
    """Whose round it is."""

    clients: Annotated[
        int | None,
        Says("How many simulated people: a trial. Default: the scheme's number.", least=1, most=MOST_CLIENTS),
    ] = None
    records: Annotated[Path | None, Says("Real records instead, one client each: .csv or .parquet.")] = None
    reports: Annotated[
        Path | None, Says("Folder of reports that clients sent (.parquet) instead; each counts once.")
    ] = None
    seed: Annotated[
        int | None,
        Says(
            "Seed of simulated people: a trial. Default: the round's own. With records: a rehearsal, not private, of the "
            "command alone.",
            least=0,
            most=2**63 - 1,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Rules(Declared):
    """What every round's steps obey, and its plan keeps."""

    min_clients: Annotated[
        int | None,
        Says(
            "With fewer clients the round waits: nothing lands, and the reports are kept for the next attempt. Default: "
            f"{MIN_CLIENTS}; none of simulated people.",
            least=0,
            most=MOST_CLIENTS,
        ),
    ] = None
    again: Annotated[
        bool,
        Says(
            "Run a round that has landed once more: what has landed is kept, and this is shown in its place. Of reports it "
            "counts those that have come since, too."
        ),
    ] = False

    def rules(self) -> dict[str, Any]:
        """Return the rules alone, name -> value."""
        return {option.name: getattr(self, option.name) for option in options(Rules)}


@dataclass(frozen=True, kw_only=True)
class Round(Rules, Where, Who):
    """A whole round, of simulated people, of a file of records, or of the reports that clients sent."""

    keep_reports: Annotated[bool, Says("Keep the reports after landing.")] = False


@dataclass(frozen=True, kw_only=True)
class Collect(Rules, Where):
    """The reports that clients sent for a round; which, commands and forms ask for."""


@dataclass(frozen=True, kw_only=True)
class Backfill(Rules, Where):
    """The rounds of past days, of simulated people or of the reports that clients sent."""

    clients: Annotated[
        int | None,
        Says("How many simulated people a round. Default: the scheme's number.", least=1, most=MOST_CLIENTS),
    ] = None
    reports: Annotated[Path | None, Says("Folder of reports that clients sent (.parquet) instead.")] = None


@dataclass(frozen=True, kw_only=True)
class Cleanup(Where):
    """What is kept, and for how long."""

    keep_days: Annotated[int, Says("Days after landing that a round's files are kept.", least=0, most=365_000)] = (
        KEEP_DAYS
    )
    reports: Annotated[
        Path | None,
        Says("Folder of reports that clients sent; those that a round has counted go, too. Default: none do."),
    ] = None
    dry_run: Annotated[bool, Says("Only say what would be deleted.")] = False
