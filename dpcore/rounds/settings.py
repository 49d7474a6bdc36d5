"""The options of a round, each declared once: name, type, default, description and bounds.

A field here is an option of commands (`cli/options.with_options`), a field of flows' forms (`flows/settings`), an option of
`python -m ldpflow_flows.round`, a key of a project's file and a parameter of `preparation.prepare`.  Options that the steps of
a round use are in `Rules`, which are stored in a run's plan.  A new one is a field there, and code in the step that uses it.
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
_DIGITS = 20  # maximum digits of a number, more than any bound needs
_WORDS = {MOST_CLIENTS: "10^12", 2**63 - 1: "2^63 - 1"}
T = TypeVar("T")


class Option(NamedTuple):
    """A declared option.  kind: its type; words: description for help and forms; least, most: bounds, of a text's length."""

    name: str
    kind: Any
    default: Any
    words: str
    least: int | None
    most: int | None

    @property
    def plain(self) -> Any:
        """Its type without None, which means a missing value."""
        return next(kind for kind in (*get_args(self.kind), self.kind) if kind is not type(None))


def integer(text: str) -> int:
    """Parse a whole number, also as 1e6 or 1_000_000; raises ValueError for any other text."""
    with suppress(InvalidOperation):
        number = Decimal(text)
        if number.is_finite() and abs(number.adjusted()) < _DIGITS and number == int(number):
            return int(number)
    raise ValueError(f"expected a whole number, such as 1000000 or 1e6, got {text!r}")


def option(default: T, words: str, *, least: int | None = None, most: int | None = None) -> T:
    """Return a dataclass field for an option."""
    return field(default=default, metadata={"words": words, "least": least, "most": most})


@cache
def options(declared: type) -> tuple[Option, ...]:
    """Return the options that a class declares, in the order of help; other fields are left out."""
    kinds, own = get_type_hints(declared), [item for item in fields(declared) if item.metadata]
    return tuple(Option(item.name, kinds[item.name], item.default, **item.metadata) for item in own)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """Options with their values.  Raises SchemeError for a number that is not whole or out of bounds."""

    def __post_init__(self) -> None:
        declared: type = type(self)
        for item in options(declared):
            value, least, most = getattr(self, item.name), item.least, item.most
            if item.plain is not int or least is None or most is None or (value is None and item.default is None):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                bounds = f"{least:,} and {_WORDS.get(most, f'{most:,}')}"
                raise SchemeError(f"{item.name}: must be a whole number between {bounds}, got {value}")


@dataclass(frozen=True, kw_only=True)
class Which(Declared):
    """The round, in addition to the other options of commands and `prepare`."""

    scheme: Path = option(DEFAULT_SCHEME, "Scheme file (TOML); data/schemes has examples.")
    round: str | None = option(
        None,
        "Name of the round; rounds sort as text. Default: the UTC date; a trial has a name of its own.",
        least=1,
        most=64,
    )


@dataclass(frozen=True, kw_only=True)
class Where(Declared):
    """The places of its files."""

    warehouse: Path | None = option(None, "DuckDB file. Default: warehouse.duckdb in the data folder.")
    data: Path = option(
        DEFAULT_DATA,
        "Folder, or URL such as s3://bucket/x, for reports, aggregates, pictures and the warehouse.",
    )


@dataclass(frozen=True, kw_only=True)
class Written(Declared):
    """The format of the file of records, if it cannot be detected."""

    delimiter: str | None = option(
        None,
        "Field separator of a text file of records. Default: comma, semicolon, tab or bar, detected from the header.",
    )
    decimal: str | None = option(None, "Decimal mark of a text file of records, . or ,. Default: detected.")
    encoding: str | None = option(
        None, "Encoding of a text file of records, such as latin-1. Default: UTF-8, or that of its byte-order mark."
    )
    sheet: str | None = option(None, "Sheet of a workbook of records. Default: the only one.")
    zone: str | None = option(
        None, "Time zone, such as Europe/Paris, of times in records without one. Default: such times are rejected."
    )

    @property
    def dialect(self) -> Dialect:
        """These options for readers; raises InvalidRecord."""
        from dpcore.populations.dialect import Dialect  # it loads Arrow, which help does not need

        return Dialect(**{item.name: getattr(self, item.name) for item in options(Written)})


@dataclass(frozen=True, kw_only=True)
class ReportSource(Written):
    """The source of the round's reports."""

    clients: int | None = option(
        None, "Number of simulated clients, for a trial. Default: the scheme's number.", least=1, most=MOST_CLIENTS
    )
    like: Path | None = option(
        None, "For a trial: draw simulated clients from this file of records, whose values are the true values."
    )
    records: Path | None = option(
        None, "Real records, one per client: CSV, Parquet, Arrow, JSON lines, Excel and others."
    )
    reports: Path | None = option(None, "Folder of collected reports (.parquet); each file counts once.")
    seed: int | None = option(
        None,
        "Seed of simulated clients, for a trial. Default: derived from the round. With records: a dry run, whose reports are "
        "not private; flows refuse it.",
        least=0,
        most=2**63 - 1,
    )


@dataclass(frozen=True, kw_only=True)
class Rules(Declared):
    """Options for the steps of a round, stored in its plan."""

    min_clients: int | None = option(
        None,
        "A round with fewer clients is held back: nothing lands, and the reports are kept for the next attempt. Default: "
        f"{MIN_CLIENTS}; 0 for simulated clients.",
        least=0,
        most=MOST_CLIENTS,
    )
    margins: Path | None = option(
        None, "Population totals by label (.csv: label,category,total), for weighted estimates."
    )
    after: str | None = option(
        None,
        "Earlier round from which `ldpflow scheme --from` made this scheme; combined estimates of both rounds land as well.",
    )
    again: bool = option(
        False,
        "Run a landed round again: the new run becomes the current one, and the rows of the old run stay. With reports, "
        "also count those that arrived since.",
    )

    def rules(self) -> dict[str, Any]:
        """Return these options only, name -> value."""
        return {item.name: getattr(self, item.name) for item in options(Rules)}


@dataclass(frozen=True, kw_only=True)
class Round(Rules, Where, ReportSource):
    """A complete round with simulated clients, a file of records, or collected reports."""

    keep_reports: bool = option(
        False,
        "Keep the reports that the run made of records or of simulated clients; otherwise they are deleted after landing. A "
        "folder of collected reports stays.",
    )


@dataclass(frozen=True, kw_only=True)
class Collect(Rules, Where):
    """Collected reports of a round; commands and forms have a parameter for their folder."""


@dataclass(frozen=True, kw_only=True)
class Backfill(Rules, Where):
    """Rounds of past days with simulated clients or collected reports."""

    clients: int | None = option(
        None, "Number of simulated clients per round. Default: the scheme's number.", least=1, most=MOST_CLIENTS
    )
    reports: Path | None = option(None, "Folder of collected reports (.parquet).")


@dataclass(frozen=True, kw_only=True)
class Cleanup(Where):
    """Retention of files and results."""

    keep_days: int = option(KEEP_DAYS, "Days after landing that files of a round are kept.", least=0, most=365_000)
    reports: Path | None = option(
        None, "Folder of collected reports; files that a round has counted are deleted as well. Default: not deleted."
    )
    tables_days: int | None = option(
        None,
        "Days after landing that results stay in the warehouse; records of spent epsilon remain. Default: for ever.",
        least=1,
        most=365_000,
    )
    dry_run: bool = option(False, "Only list what would be deleted.")
