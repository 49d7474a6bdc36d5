"""Where the time and memory of a round go: the steps of `ldpflow run`, one after another on one core.

`python -m dpcore.laboratory.profiling SCHEME CLIENTS FOLDER` runs a whole round in that folder and writes one line of JSON;
with `--plain` it reports steps only, and times nothing else.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial, reduce
from inspect import isgenerator
from pathlib import Path
from time import process_time
from typing import Any

from dpcore import wire
from dpcore.mechanisms.numeric.wave import WaveMechanism
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.registry import CATEGORICAL
from dpcore.populations import Population
from dpcore.protocol import aggregates
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.run import Run
from dpcore.rounds.steps.preparation import prepare
from dpcore.rounds.steps.sequence import carry_out

SEED = 7


def _name(kind: type) -> str:
    return str(getattr(kind, "name", "waves"))


_KINDS = (*CATEGORICAL.values(), WaveletLaplace, WaveMechanism)
# Functions that are timed within shards: owner, name, description.
_TIMED_FUNCTIONS: tuple[tuple[Any, str, str], ...] = (
    (Population, "records_block", "make people"),
    (Scheme, "encode", "encode records"),
    *((kind, "privatize", f"privatize, {_name(kind)}") for kind in _KINDS),
    (wire, "write_reports", "write reports"),
    (wire, "read_parts", "read reports"),
    (aggregates, "_validate", "validate reports"),
    *((kind, "statistics", f"count, {_name(kind)}") for kind in _KINDS),
    (wire, "write_aggregate", "write aggregates"),
)


@dataclass(frozen=True, kw_only=True)
class Profiled:
    """One round: processor seconds in all and by what they went to, and the largest resident memory of each step, bytes.

    seconds: step, or what part of the shards' time -> processor seconds; they add up to `total`.
    """

    clients: int
    total: float
    seconds: dict[str, float]
    peaks: dict[str, int]


def profile(scheme: Path, clients: int, data: Path, *, plain: bool = False) -> Profiled:
    """Run a round of simulated people and return what it took; plain: by steps alone."""
    seconds: dict[str, float] = {}
    peaks: dict[str, int] = {}
    within: dict[str, float] = {}

    begun = process_time()
    with _measured("prepare", seconds, peaks):
        run = prepare(scheme, clients=clients, seed=SEED, data=data)
    carry_out(run, _Watched(seconds, peaks, None if plain else within))
    total = process_time() - begun
    if within:
        seconds |= within | {"the rest of the shards": seconds.pop("shards") - sum(within.values())}
    return Profiled(clients=clients, total=total, seconds=seconds, peaks=peaks)


@contextmanager
def _measured(name: str, seconds: dict[str, float], peaks: dict[str, int]) -> Iterator[None]:
    _forget_peak()
    begun = process_time()
    yield
    seconds[name], peaks[name] = process_time() - begun, _peak()


@dataclass(frozen=True)
class _Watched:
    """Hands of this process that measure each step, one piece after another."""

    seconds: dict[str, float]
    peaks: dict[str, int]
    within: dict[str, float] | None

    def one(self, step: Callable[..., Any], run: Run, *arguments: Any) -> Any:
        with _measured(step.__name__, self.seconds, self.peaks):
            return step(run, *arguments)

    def map(self, steps: Sequence[Callable[..., Any]], run: Run, items: Sequence[Any]) -> list[Path]:
        with (
            _measured("shards", self.seconds, self.peaks),
            nullcontext() if self.within is None else _timed(self.within),
        ):
            return [reduce(lambda output, step: step(run, output), steps, item) for item in items]


@contextmanager
def _timed(seconds: dict[str, float]) -> Iterator[None]:
    """Add to `seconds` what the functions of `_TIMED_FUNCTIONS` take, each without the others that it calls."""
    inner = [0.0]  # processor seconds of the functions that those under way have called

    def timed(function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            inner.append(0.0)
            begun = process_time()
            try:
                result = function(*arguments, **named)
            finally:
                spent = process_time() - begun
                seconds[part] = seconds.get(part, 0.0) + spent - inner.pop()
                inner[-1] += spent
            return items(result) if isgenerator(result) else result

        def items(iterator: Iterator[Any]) -> Iterator[Any]:
            end = object()
            following = timed(partial(next, iterator, end), part)
            while (item := following()) is not end:
                yield item

        return call

    before = [(owner, name, getattr(owner, name)) for owner, name, _ in _TIMED_FUNCTIONS]
    for owner, name, part in _TIMED_FUNCTIONS:
        setattr(owner, name, timed(getattr(owner, name), part))
    try:
        yield
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def _peak() -> int:
    """The largest resident memory since `_forget_peak`, bytes; on systems without /proc since the process began."""
    status = Path("/proc/self/status")
    if status.exists():
        held = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        return int(held.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def main(arguments: list[str]) -> None:
    """Profile a round and write what was found."""
    plain = "--plain" in arguments
    scheme, clients, folder = (argument for argument in arguments if argument != "--plain")
    sys.stdout.write(json.dumps(asdict(profile(Path(scheme), int(clients), Path(folder), plain=plain))) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
