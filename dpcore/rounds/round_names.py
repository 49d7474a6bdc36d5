"""The names of rounds: a day's, or a trial's, which sorts before every day; and the seed that a name stands for."""

from __future__ import annotations

import hashlib

from dpcore.errors import SchemeError
from dpcore.rounds.defaults import today

_LENGTH = 64
_TRIAL = "0-trial"  # a trial's name begins with it, and thus sorts before every day


def round_of(
    day: str, *, clients: int | None = None, seed: int | None = None, records: object = None, reports: object = None
) -> str:
    """Return the name of a round that is given none: the day's or, where simulated people's number or seed is given, a trial's.

    >>> round_of("2026-11-20"), round_of("2026-11-20", clients=500), round_of("2026-11-20", clients=500, seed=7)
    ('2026-11-20', '0-trial-500', '0-trial-500-seed-7')
    """
    if records is not None or reports is not None or clients is seed is None:
        return day
    return "-".join([_TRIAL, *([] if clients is None else [str(clients)]), *([] if seed is None else [f"seed-{seed}"])])


def check_name(round_: str, *, is_trial: bool) -> None:
    """Raise SchemeError for a name that no round may have, or that is kept for trials."""
    if round_.startswith(_TRIAL) and not is_trial:
        raise SchemeError(
            f"a round that begins with {_TRIAL} is a trial's of simulated people, got {round_!r}; name another"
        )
    if not 0 < len(round_) <= _LENGTH or not round_.isprintable() or not {"/", "\\"}.isdisjoint(round_):
        raise SchemeError(
            f"round must be a text of 1 to {_LENGTH} characters without / and \\, such as {today()}, got {round_!r}"
        )


def seed_of(round_: str) -> int:
    """Return the seed that simulated people have in a round unless another is given: the same wherever it is run."""
    return int.from_bytes(hashlib.sha256(round_.encode()).digest()[:4], "big")
