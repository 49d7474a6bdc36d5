"""Names of rounds: a date, or the name of a trial, which sorts before all dates; and the default seed of a round."""

from __future__ import annotations

import hashlib

from dpcore.errors import SchemeError
from dpcore.rounds.defaults import today

_LENGTH = 64
_TRIAL = "0-trial"  # prefix of trials' names, which sorts before all dates


def round_of(
    day: str, *, clients: int | None = None, seed: int | None = None, records: object = None, reports: object = None
) -> str:
    """Return the default name of a round: the date, or a trial's name if the number or seed of simulated clients is given.

    >>> round_of("2026-11-20"), round_of("2026-11-20", clients=500), round_of("2026-11-20", clients=500, seed=7)
    ('2026-11-20', '0-trial-500', '0-trial-500-seed-7')
    """
    if records is not None or reports is not None or clients is seed is None:
        return day
    return "-".join([_TRIAL, *([] if clients is None else [str(clients)]), *([] if seed is None else [f"seed-{seed}"])])


def check_name(round_: str, *, is_trial: bool) -> None:
    """Raise SchemeError for an invalid name, or one reserved for trials."""
    if round_.startswith(_TRIAL) and not is_trial:
        raise SchemeError(f"round {round_!r}: names that begin with {_TRIAL} are reserved for trials; choose another")
    if not 0 < len(round_) <= _LENGTH or not round_.isprintable() or not {"/", "\\"}.isdisjoint(round_):
        raise SchemeError(
            f"round {round_!r}: the name needs 1 to {_LENGTH} characters without / and \\, such as {today()}"
        )


def seed_of(round_: str) -> int:
    """Return the default seed of simulated clients in a round, the same on every machine."""
    return int.from_bytes(hashlib.sha256(round_.encode()).digest()[:4], "big")
