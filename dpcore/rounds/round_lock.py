"""One at a time: whoever carries out a scheme's round keeps others from it, from before people are asked until it has landed.

Two runs of one round at once would ask its people twice, and only then would one of them be refused.  So the second waits, and
then finds what stands: it is refused, or lands the same rows again.  Other rounds, and other schemes', never wait; nor do
rehearsals, which are nobody's round.
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
    scheme: Path, by: str, *, round_: str | None = None, day: str | None = None, **told: Any
) -> AbstractContextManager[None]:
    """Return the turn of a round that is to be prepared; the arguments are those of `prepare`.

    by: who carries it out, as others read it who wait.  Raises SchemeError as `prepare` does, and WarehouseError where
    nothing can be locked beside the warehouse.
    """
    asked = named(scheme, round_=round_, day=day, **told)
    return nullcontext() if asked.is_rehearsal else _turn(asked.landing, asked.scheme.name, asked.round, by)


def turn_of(run: Run, by: str) -> AbstractContextManager[None]:
    """Return the turn of a run that has been prepared."""
    return _turn(Path(run.plan.warehouse), run.scheme.name, run.plan.round, by)


@contextmanager
def _turn(landing: Path, scheme: str, round_: str, by: str) -> Iterator[None]:
    """Hold a lock of scheme and round, beside the warehouse: a hash is its name, as a round's may be longer than a file's."""
    what, name = f"round {round_} of scheme {scheme}", hashlib.sha256(json.dumps([scheme, round_]).encode()).hexdigest()
    with ExitStack() as held:
        try:
            file = landing.resolve()
            held.enter_context(alone(file.with_name(f".{file.name}.{name[:16]}.lock"), what, by))
        except OSError as error:
            raise WarehouseError(f"{what} cannot be locked beside {landing}: {error.strerror}") from error
        yield
