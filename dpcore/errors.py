"""Everything dpcore raises on purpose, one tree.

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
