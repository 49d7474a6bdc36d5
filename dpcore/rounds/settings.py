"""What a round can be told, each option declared once: its name, type and default, what it means, and its bounds.

A field here is an option of commands (`cli/options.taken_apart`), a field of flows' forms (`flows/settings`), an option of
`python -m ldpflow_flows.round`, a key of a project's file and an argument of `preparation.prepare`.  What the steps of every
round obey stands in `Rules`, which a run's plan keeps: a new one is a line there, and in the step that obeys it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, fields
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args, get_type_hints

from dpcore.errors import SchemeError
from dpcore.rounds.defaults import DEFAULT_DATA, DEFAULT_SCHEME, KEEP_DAYS, MIN_CLIENTS

if TYPE_CHECKING:
    from dpcore.populations.dialect import Dialect

MOST_CLIENTS = 10**12
_DIGITS = 20  # that a number may have, more than any bound
_WORDS = {MOST_CLIENTS: "10^12", 2**63 - 1: "2^63 - 1"}
T = TypeVar("T")


class Option(NamedTuple):
    """A declared option.  kind: its type; words: what it means, in help and forms; least, most: of a text, of its length."""

    name: str
    kind: Any
    default: Any
    words: str
    least: int | None
    most: int | None

    @property
    def plain(self) -> Any:
        """Its type without None, which stands for what was not said."""
        return next(kind for kind in (*get_args(self.kind), self.kind) if kind is not type(None))


def integer(text: str) -> int:
    """Return the whole number that a text says, 1e6 and 1_000_000 among them; raises ValueError for others."""
    with suppress(InvalidOperation):
        number = Decimal(text)
        if number.is_finite() and abs(number.adjusted()) < _DIGITS and number == int(number):
            return int(number)
    raise ValueError(f"expected a whole number, such as 1000000 or 1e6, got {text!r}")


def option(default: T, words: str, *, least: int | None = None, most: int | None = None) -> T:
    """Return the field of a dataclass that is an option."""
    return field(default=default, metadata={"words": words, "least": least, "most": most})


@cache
def options(declared: type) -> tuple[Option, ...]:
    """Return what a class declares, as help lists it; fields of other kinds are left out."""
    kinds, told = get_type_hints(declared), [each for each in fields(declared) if each.metadata]
    return tuple(Option(each.name, kinds[each.name], each.default, **each.metadata) for each in told)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """Options with their values.  Raises SchemeError where a number is none that is whole, or out of bounds."""

    def __post_init__(self) -> None:
        declared: type = type(self)
        for each in options(declared):
            value, least, most = getattr(self, each.name), each.least, each.most
            if each.plain is not int or least is None or most is None or (value is None and each.default is None):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                bounds = f"{least:,} and {_WORDS.get(most, f'{most:,}')}"
                raise SchemeError(f"{each.name} must be a whole number between {bounds}, got {value}")


@dataclass(frozen=True, kw_only=True)
class Which(Declared):
    """Which round; commands and `prepare` take it beside all others."""

    scheme: Path = option(DEFAULT_SCHEME, "The scheme file (TOML); data/schemes has some.")
    round: str | None = option(
        None,
        "The round's name; sorts as text. Default: the day it is for, UTC; of a trial its own.",
        least=1,
        most=64,
    )


@dataclass(frozen=True, kw_only=True)
class Where(Declared):
    """Where its files are."""

    warehouse: Path | None = option(None, "The DuckDB file. Default: warehouse.duckdb in the data.")
    data: Path = option(
        DEFAULT_DATA,
        "Where reports, aggregates, pictures and the warehouse live: a folder, or a URL such as s3://bucket/x.",
    )


@dataclass(frozen=True, kw_only=True)
class Written(Declared):
    """How the file of records is written, where it does not show it."""

    delimiter: str | None = option(
        None,
        "Of records in a text file: what separates fields. Default: comma, semicolon, tab or bar, as the header shows.",
    )
    decimal: str | None = option(
        None, "Of records in a text file: the decimal mark, . or ,. Default: as the file shows."
    )
    encoding: str | None = option(
        None, "Of records in a text file, such as latin-1. Default: UTF-8, or its byte-order mark's."
    )
    sheet: str | None = option(None, "Of records in a workbook: the sheet. Default: the only one.")
    zone: str | None = option(
        None,
        "Of records: the time zone of times that do not say theirs, such as Europe/Paris. Default: those are refused.",
    )

    @property
    def dialect(self) -> Dialect:
        """The same as readers take it; raises InvalidRecord."""
        from dpcore.populations.dialect import Dialect  # which loads Arrow, and help needs none

        return Dialect(**{each.name: getattr(self, each.name) for each in options(Written)})


@dataclass(frozen=True, kw_only=True)
class Who(Written):
    """Whose round it is."""

    clients: int | None = option(
        None, "How many simulated people: a trial. Default: the scheme's number.", least=1, most=MOST_CLIENTS
    )
    like: Path | None = option(
        None, "A trial: respondents drawn from this file of records, whose values are the truth."
    )
    records: Path | None = option(
        None, "Real records instead, one client each: CSV, Parquet, Arrow, JSON lines, Excel and others."
    )
    reports: Path | None = option(None, "Folder of reports that clients sent (.parquet) instead; each counts once.")
    seed: int | None = option(
        None,
        "Seed of simulated people: a trial. Default: the round's own. With records: a rehearsal, not private, of the command "
        "alone.",
        least=0,
        most=2**63 - 1,
    )


@dataclass(frozen=True, kw_only=True)
class Rules(Declared):
    """What every round's steps obey, and its plan keeps."""

    min_clients: int | None = option(
        None,
        "With fewer clients the round waits: nothing lands, and the reports are kept for the next attempt. Default: "
        f"{MIN_CLIENTS}; none of simulated people.",
        least=0,
        most=MOST_CLIENTS,
    )
    margins: Path | None = option(
        None, "Known totals of the population by label (.csv: label,category,total), which weight the estimates."
    )
    after: str | None = option(
        None,
        "The landed round whose scheme `ldpflow scheme --from` made this one of: numbers of both rounds together land, too.",
    )
    again: bool = option(
        False,
        "Run a round that has landed once more: what has landed is kept, and this is shown in its place. Of reports it counts "
        "those that have come since, too.",
    )

    def rules(self) -> dict[str, Any]:
        """Return the rules alone, name -> value."""
        return {each.name: getattr(self, each.name) for each in options(Rules)}


@dataclass(frozen=True, kw_only=True)
class Round(Rules, Where, Who):
    """A whole round, of simulated people, of a file of records, or of the reports that clients sent."""

    keep_reports: bool = option(False, "Keep the reports after landing.")


@dataclass(frozen=True, kw_only=True)
class Collect(Rules, Where):
    """The reports that clients sent for a round; commands and forms ask for their folder."""


@dataclass(frozen=True, kw_only=True)
class Backfill(Rules, Where):
    """The rounds of past days, of simulated people or of the reports that clients sent."""

    clients: int | None = option(
        None, "How many simulated people a round. Default: the scheme's number.", least=1, most=MOST_CLIENTS
    )
    reports: Path | None = option(None, "Folder of reports that clients sent (.parquet) instead.")


@dataclass(frozen=True, kw_only=True)
class Cleanup(Where):
    """What is kept, and for how long."""

    keep_days: int = option(KEEP_DAYS, "Days after landing that a round's files are kept.", least=0, most=365_000)
    reports: Path | None = option(
        None, "Folder of reports that clients sent; those that a round has counted go, too. Default: none do."
    )
    tables_days: int | None = option(
        None,
        "Days after landing that a round's numbers stay in the warehouse; what was spent stays. Default: for ever.",
        least=1,
        most=365_000,
    )
    dry_run: bool = option(False, "Only say what would be deleted.")
