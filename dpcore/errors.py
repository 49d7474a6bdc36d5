"""Everything dpcore raises on purpose, one tree; the checks of ranges that raise it; and the extras that bring what an
installation lacks.

DPCoreError ── SchemeError ── SchemeMismatch, CalibrationError      (ours: the agreement is wrong)
            ├─ InvalidRecord, InvalidReport ── RefusedReport        (theirs: a record or bytes we cannot accept)
            ├─ BudgetExceeded                                       (a client asked for more than was promised)
            ├─ NotEstimable ── EmptyWindow, TooFewClients           (too few reports to say anything)
            ├─ WarehouseError ── MigrationError, AlreadyLanded      (the round is another run's)
            └─ StoreError                                         (a collector cannot keep what it is sent)

Rule: a message says what was expected, what came and what to do, on one line, and never shows a record, a key or
a raw coefficient.  Parameters may be shown.
"""

from __future__ import annotations

import re
from fractions import Fraction
from numbers import Integral

_NUMBER = re.compile(r"[-+]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][-+]?\d{1,2})?|[-+]?\d{1,40}/\d{1,40}", re.ASCII)

EXTRAS = {  # module -> the extra that brings it, as pyproject.toml lists them
    **dict.fromkeys(("cryptography", "fsspec", "pandas", "pyarrow", "pydantic", "pywt"), "estimate"),
    **dict.fromkeys(("rich", "scipy", "typer", "upath"), "estimate"),
    **dict.fromkeys(("asyncpg", "duckdb", "jinja2", "markupsafe", "sqlalchemy"), "warehouse"),
    **dict.fromkeys(("PIL", "matplotlib"), "charts"),
    **dict.fromkeys(("fastapi", "h11", "prometheus_client", "starlette", "uvicorn"), "collector"),
    **dict.fromkeys(("anyio", "httpx", "prefect"), "flows"),
    **dict.fromkeys(("openpyxl", "pyreadstat"), "survey"),
    "distributed": "dask",
    "numba": "compiled",
}
_APART = {"compiled", "dask", "survey"}  # extras that `all` does not bring


class DPCoreError(Exception):
    """Any error a caller of dpcore can provoke."""


class SchemeError(DPCoreError):
    """The scheme says something that cannot be carried out."""


class SchemeMismatch(SchemeError):
    """Two sides hold different schemes: their digests differ."""


class CalibrationError(SchemeError):
    """The stated noise or weights would not keep the stated epsilon."""


class InvalidRecord(DPCoreError):
    """A record the scheme does not allow; the message names the column and the position, never the value."""


class InvalidReport(DPCoreError):
    """A report that no client following the scheme could have sent."""


class RefusedReport(InvalidReport):
    """A single report that is not taken; `reason` is one of `dpcore.wire.REASONS`, and nothing of the report is shown."""

    def __init__(self, reason: str, expected: str) -> None:
        super().__init__(f"{reason}: {expected}")
        self.reason = reason


class BudgetExceeded(DPCoreError):
    """A charge that would take a client beyond its budget."""


class NotEstimable(DPCoreError):
    """Too few reports for the estimate that was asked for."""


class EmptyWindow(NotEstimable):
    """No level is both fine enough for the bias and coarse enough for the noise that a theorem allows."""


class TooFewClients(NotEstimable):
    """Fewer clients than a round was told to wait for; nothing has landed and the reports are kept."""


class WarehouseError(DPCoreError):
    """The warehouse file is missing, locked, foreign or of another version."""


class MigrationError(WarehouseError):
    """A migration was edited after it had been applied, or could not be applied."""


class AlreadyLanded(WarehouseError):
    """Another run stands for the round, and nothing has changed there; what people were asked by then is charged."""


class StoreError(DPCoreError):
    """A collector's store cannot be read or written; what was to be kept was not, and what was kept stands."""


def installation(module: str) -> str | None:
    """Return how to install what a missing module is of, None where no extra brings it."""
    extra = EXTRAS.get(module.partition(".")[0])
    if extra is None:
        return None
    return f"run `pip install 'ldpflow[{extra}]'`" + ("" if extra in _APART else ", or 'ldpflow[all]' for all commands")


def exact(**named: object) -> Fraction:
    """Return the one named value as an exact fraction; a number or the text of one, below 10^140 and not infinite."""
    ((name, value),) = named.items()
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, bool) and _NUMBER.fullmatch(str(value).strip()):
        try:
            return Fraction(str(value).strip())
        except ZeroDivisionError:
            pass
    kind = (
        "a number with at most 40 digits and two in its exponent"
        if isinstance(value, (int, float, str))
        else "a number"
    )
    raise SchemeError(f"{name} must be {kind}, got {str(value)[:40]!r}")


def check_positive(**named: float | Fraction) -> None:
    """Refuse any value that is not a finite number above zero."""
    for name, value in named.items():
        if not 0 < value < float("inf"):
            raise SchemeError(f"{name} must be a finite number above 0, got {value}")


def check_within(low: float, high: float, **named: float | Fraction) -> None:
    """Refuse any value outside the closed interval [low, high]."""
    for name, value in named.items():
        if not low <= value <= high:
            raise SchemeError(f"{name} must lie between {low} and {high}, got {value}")


def check_bend(lower: float | Fraction, upper: float | Fraction, **named: float | Fraction) -> None:
    """Refuse bounds on the root of int f''^2 that no density of values in [lower, upper] comes near, such as of another unit.

    A line bent by a hundredth of the uniform density is not told from straight; a bump of a thousandth of the range has 10^7.
    """
    check_positive(**named)
    unit = float(upper - lower) ** 2.5
    check_within(float(f"{1e-2 / unit:.1g}"), float(f"{1e8 / unit:.1g}"), **named)


def check_whole(low: int, high: int, **named: object) -> None:
    """Refuse any value that is not a whole number in the closed interval [low, high]."""
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
            raise SchemeError(f"{name} must be a whole number between {low} and {high}, got {value}")


def check_one_of(choices: tuple[str, ...] | list[str], **named: object) -> None:
    """Refuse any value that is not one of the choices."""
    for name, value in named.items():
        if value not in choices:
            accepted = ", ".join(repr(choice) for choice in choices)
            raise SchemeError(f"{name} must be one of {accepted}; got {value!r}")
