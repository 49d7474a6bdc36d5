"""A lock for each round of a scheme, from its preparation to its landing.

Two simultaneous runs of one round would ask its clients twice before one of them fails.  With the lock the second run waits;
then it fails, or lands the same rows again.  Other rounds, other schemes and dry runs do not wait.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from dpcore.errors import WarehouseError
from dpcore.rounds.run import Run
from dpcore.rounds.steps.preparation import named
from dpcore.wire.locks import alone


def turn(
    scheme: Path, by: str, *, round_: str | None = None, day: str | None = None, **options: Any
) -> AbstractContextManager[None]:
    """Return the lock of a round that is to be prepared, with the parameters of `prepare`.

    by: a description of the holder, for those who wait.  Raises SchemeError as `prepare` does, and WarehouseError if the lock
    file cannot be created next to the warehouse.
    """
    request = named(scheme, round_=round_, day=day, **options)
    return nullcontext() if request.is_rehearsal else _turn(request.landing, request.scheme.name, request.round, by)


def turn_of(run: Run, by: str) -> AbstractContextManager[None]:
    """Return the lock of a prepared run."""
    return _turn(Path(run.plan.warehouse), run.scheme.name, run.plan.round, by)


@contextmanager
def _turn(landing: Path, scheme: str, round_: str, by: str) -> Iterator[None]:
    """Hold a lock of scheme and round next to the warehouse; the file is named by a hash, as names of rounds can be long."""
    title, name = (
        f"round {round_} of scheme {scheme}",
        hashlib.sha256(json.dumps([scheme, round_]).encode()).hexdigest(),
    )
    with ExitStack() as stack:
        try:
            file = landing.resolve()
            stack.enter_context(alone(file.with_name(f".{file.name}.{name[:16]}.lock"), title, by))
        except OSError as error:
            raise WarehouseError(f"{title}: cannot be locked next to {landing}: {error.strerror}") from error
        yield
