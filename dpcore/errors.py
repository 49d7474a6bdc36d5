"""The exceptions of dpcore, the range checks that raise them, and the extras of an installation.

DPCoreError ── SchemeError ── SchemeMismatch, CalibrationError      (the scheme is invalid)
            ├─ InvalidRecord, InvalidReport ── RefusedReport        (a record or a report is invalid)
            ├─ BudgetExceeded                                       (a charge exceeds a client's budget)
            ├─ NotEstimable ── EmptyWindow, TooFewClients           (too few reports for an estimate)
            ├─ WarehouseError ── MigrationError, AlreadyLanded      (the warehouse, or the round has another run)
            └─ StoreError                                           (a collector cannot store reports)

Rule: a message states what was expected, what was received and what to do, on one line.  It never shows a record, a key or a
raw coefficient; it may show parameters.
"""

from __future__ import annotations

import re
from fractions import Fraction
from numbers import Integral

_NUMBER = re.compile(r"[-+]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][-+]?\d{1,2})?|[-+]?\d{1,40}/\d{1,40}", re.ASCII)

EXTRAS = {  # module -> the extra that installs it, as in pyproject.toml
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
_NOT_IN_ALL = {"compiled", "dask", "survey"}  # extras that `all` does not install


class DPCoreError(Exception):
    """Any error that a caller of dpcore can cause."""


class SchemeError(DPCoreError):
    """A scheme, option or parameter is invalid."""


class SchemeMismatch(SchemeError):
    """Two sides use different schemes: their digests differ."""


class CalibrationError(SchemeError):
    """The stated noise or weights would exceed the stated epsilon."""


class InvalidRecord(DPCoreError):
    """A record that the scheme does not allow; the message names the column and the position, never the value."""


class InvalidReport(DPCoreError):
    """A report that no client following the scheme could have sent."""


class RefusedReport(InvalidReport):
    """A single refused report; `reason` is one of `dpcore.wire.REASONS`, and the message does not quote the report."""

    def __init__(self, reason: str, expected: str) -> None:
        super().__init__(f"{reason}: {expected}")
        self.reason = reason


class BudgetExceeded(DPCoreError):
    """A charge that would exceed a client's budget."""


class NotEstimable(DPCoreError):
    """Too few reports for the requested estimate."""


class EmptyWindow(NotEstimable):
    """No level satisfies both a theorem's bound on the bias and its bound on the noise."""


class TooFewClients(NotEstimable):
    """Fewer clients than the round's minimum; nothing has landed and the reports remain."""


class WarehouseError(DPCoreError):
    """The warehouse file is missing, locked, foreign or of another version."""


class MigrationError(WarehouseError):
    """A migration was edited after it had been applied, or could not be applied."""


class AlreadyLanded(WarehouseError):
    """The round already has another landed run, which is unchanged; the privacy spent in this run is still recorded."""


class StoreError(DPCoreError):
    """A collector's store cannot be read or written; new reports were not stored, and stored reports remain."""


def installation(module: str) -> str | None:
    """Return how to install the package of a missing module; None if no extra installs it."""
    extra = EXTRAS.get(module.partition(".")[0])
    if extra is None:
        return None
    return f"run `pip install 'ldpflow[{extra}]'`" + (
        "" if extra in _NOT_IN_ALL else ", or 'ldpflow[all]' for all commands"
    )


def exact(**named: object) -> Fraction:
    """Return the one named value, a finite number below 10^140 or its text, as an exact fraction."""
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
    """Raise SchemeError for a value that is not a finite number above zero."""
    for name, value in named.items():
        if not 0 < value < float("inf"):
            raise SchemeError(f"{name} must be a finite number above 0, got {value}")


def check_within(low: float, high: float, **named: float | Fraction) -> None:
    """Raise SchemeError for a value outside the closed interval [low, high]."""
    for name, value in named.items():
        if not low <= value <= high:
            raise SchemeError(f"{name} must lie between {low} and {high}, got {value}")


def check_bend(lower: float | Fraction, upper: float | Fraction, **named: float | Fraction) -> None:
    """Raise SchemeError for implausible bounds on the root of int f''^2 over [lower, upper], such as bounds in another unit.

    A curvature of a hundredth of the uniform density is indistinguishable from a line; a bump of width 0.001 has about 10^7.
    """
    check_positive(**named)
    unit = float(upper - lower) ** 2.5
    check_within(float(f"{1e-2 / unit:.1g}"), float(f"{1e8 / unit:.1g}"), **named)


def check_whole(low: int, high: int, **named: object) -> None:
    """Raise SchemeError for a value that is not a whole number in the closed interval [low, high]."""
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
            raise SchemeError(f"{name} must be a whole number between {low} and {high}, got {value}")


def check_one_of(choices: tuple[str, ...] | list[str], **named: object) -> None:
    """Raise SchemeError for a value that is not one of the choices."""
    for name, value in named.items():
        if value not in choices:
            accepted = ", ".join(repr(choice) for choice in choices)
            raise SchemeError(f"{name} must be one of {accepted}; got {value!r}")
