"""The accuracy study: targets x clients x epsilons x methods, each cell measured on its own and told as soon as it is known.

Every repetition has its own seed, named by (target, clients, epsilon, method, repetition), so that a cell gives the same
errors whoever measures it and whatever was measured before.

Rows.  A metric's `value` is the median error over all repetitions, low and high its order-statistic interval.
The rows `METRIC.first` and `METRIC.second` are the medians of the even and of the odd repetitions: the best peer in hindsight
is chosen on the first and measured on the second, so that it does not profit from its own luck.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from math import floor, sqrt
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

from dpcore import _checks
from dpcore.errors import SchemeError
from dpcore.studies import metrics, targets
from dpcore.studies.contestants import contestants
from dpcore.studies.method import Method, Setting
from dpcore.studies.peers.catalogue import PREFIX, peers

STUDY = "accuracy"
EDITION = 1  # of targets, peers, metrics and seeds; another edition's rows are not gone on with
CLIENTS = (10_000, 100_000, 1_000_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
REPETITIONS = 50
PEERS = "peers"  # the name that stands for all of them
FIRST, SECOND = ".first", ".second"
_CONFIDENT = 1.96
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # processes share the cores; BLAS threads would fight for them

# A cell that a table has: method, parameters, target, clients, epsilon, repetitions.
Known = tuple[str, str, str, int, float, int]


@dataclass(frozen=True)
class Cell:
    """Where methods are compared."""

    target: str
    clients: int
    epsilon: float


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What is measured.

    targets: names of `targets.NAMES`.  clients: persons, each >= 100.  epsilons: natural-log units, each > 0.
    methods: names of ours, `peers` for all peers, or one peer's.  repetitions: an even number >= 2.
    Raises SchemeError for anything else.
    """

    targets: tuple[str, ...] = targets.NAMES
    clients: tuple[int, ...] = CLIENTS
    epsilons: tuple[float, ...] = EPSILONS
    methods: tuple[str, ...] = ()
    repetitions: int = REPETITIONS

    def __post_init__(self) -> None:
        for name in self.targets:
            targets.target(name)
        for n in self.clients:
            _checks.within(100, 10**12, clients=n)
        for epsilon in self.epsilons:
            _checks.within(0.01, 16, epsilon=epsilon)
        if self.repetitions < 2 or self.repetitions % 2:
            raise SchemeError(
                f"repetitions must be an even number of at least 2, half to choose the best peer and half to measure it; "
                f"got {self.repetitions}"
            )
        chosen(self.methods)

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(Cell(*each) for each in product(self.targets, self.clients, self.epsilons))


def method_names() -> tuple[str, ...]:
    """Return what `Grid.methods` may name: ours, `peers`, and each peer."""
    ours = [setting.method for method in contestants() for setting in method.settings]
    return (*ours, PEERS, *dict.fromkeys(setting.method for peer in peers() for setting in peer.settings))


def chosen(names: Sequence[str]) -> tuple[Method, ...]:
    """Return the methods of those names, all of them for none; raises SchemeError for an unknown name."""
    everything: tuple[Method, ...] = (*contestants(), *peers())
    if not names:
        return everything
    for name in names:
        _checks.one_of(method_names(), methods=name)
    wanted = []
    for method in everything:
        name = method.settings[0].method
        if name in names or (PEERS in names and name.startswith(PREFIX)):
            wanted.append(method)
    return tuple(wanted)


def pending(grid: Grid, known: Collection[Known]) -> list[tuple[Cell, tuple[str, ...]]]:
    """Return the pieces of work that are left: a cell and the first settings' names of the methods to measure there.

    Peers of a cell are one piece, each of ours is another: they take seconds and a minute.
    """
    pieces: list[tuple[Cell, tuple[str, ...]]] = []
    for cell in grid.cells:
        cheap: list[str] = []
        for method in chosen(grid.methods):
            if all(_key(setting, cell, grid.repetitions) in known for setting in method.settings):
                continue
            name = _named(method)
            if name.startswith(PREFIX):
                cheap.append(name)
            else:
                pieces.append((cell, (name,)))
        if cheap:
            pieces.append((cell, tuple(cheap)))
    return pieces


def measured(grid: Grid, known: Collection[Known] = (), workers: int = 1) -> Iterator[pd.DataFrame]:
    """Yield the rows of each piece of work that `known` lacks, as they are made.

    workers: processes, 1 for this one.  Columns: those of `benchmarks` but `measured_at` and `version`.
    """
    pieces = pending(grid, known)
    if workers == 1 or len(pieces) < 2:
        for piece in pieces:
            yield measure(*piece, grid.repetitions)
        return
    with _one_thread_each(), ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(measure, *piece, grid.repetitions) for piece in pieces]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:  # an interrupt, or whoever asks for rows had enough
            pool.shutdown(wait=False, cancel_futures=True)


def measure(cell: Cell, names: Sequence[str], repetitions: int) -> pd.DataFrame:
    """Return the rows of one piece of work; names: as `pending` gives them."""
    rows: list[dict[str, Any]] = []
    for method in (*contestants(), *peers()):
        if _named(method) in names:
            seeds = [seed(cell, _named(method), repetition) for repetition in range(repetitions)]
            found = method.errors(cell.target, cell.clients, cell.epsilon, seeds)
            for setting, errors in zip(method.settings, found, strict=True):
                rows += _rows(setting, cell, errors)
    return pd.DataFrame(rows)


def representative(cell: Cell, ours: str, peer: str, repetitions: int = 9) -> pd.DataFrame:
    """Return the densities of the fits whose ise is the median of a few repetitions: x, truth, ours, peer, and their names.

    ours: a method of ours.  peer: a peer's setting without the prefix, as `accuracy_cells.hindsight` has it.
    """
    truth = metrics.truth(cell.target)
    contestant = next(each for each in contestants() if each.name == ours)
    seeds = [seed(cell, ours, repetition) for repetition in range(repetitions)]
    estimates = [contestant.estimate(truth.target, cell.clients, cell.epsilon, each) for each in seeds]
    fit = estimates[_median_of([metrics.score_estimate(truth, each)["ise"] for each in estimates])]
    names = {f"{s.method} {s.parameters}": (each, i) for each in peers() for i, s in enumerate(each.settings)}
    method, index = names[PREFIX + peer]
    seeds = [seed(cell, _named(method), repetition) for repetition in range(repetitions)]
    cells = method.estimates(truth.target, cell.clients, cell.epsilon, seeds)[index]
    row = cells[_median_of(list(metrics.score_cells(truth, cells)["ise"]))]
    return pd.DataFrame(
        {
            "x": metrics.CENTRES,
            "truth": truth.density,
            "ours": fit(metrics.CENTRES),
            "peer": np.repeat(row * len(row), metrics.GRID // len(row)),
            "method": ours,
            "hindsight": peer,
        }
    )


def seed(cell: Cell, method: str, repetition: int) -> tuple[int, ...]:
    """Return what one repetition's randomness is seeded with; method: name and parameters of its first setting."""
    return (
        zlib.crc32(cell.target.encode()),
        cell.clients,
        round(cell.epsilon * 10**6),
        zlib.crc32(method.encode()),
        repetition,
    )


def _rows(setting: Setting, cell: Cell, errors: Mapping[str, np.ndarray]) -> Iterator[dict[str, Any]]:
    common = {"study": STUDY, "method": setting.method, "parameters": setting.parameters, **cell.__dict__}
    for metric, values in errors.items():
        low, high = interval(values)
        for suffix, some in (("", values), (FIRST, values[0::2]), (SECOND, values[1::2])):
            whole = suffix == ""
            yield common | {
                "metric": metric + suffix,
                "repetitions": len(some),
                "value": float(np.median(some)),
                "low": low if whole else None,
                "high": high if whole else None,
            }


def interval(values: np.ndarray) -> tuple[float, float]:
    """The order-statistic interval of the median, 95 %: ranks (n -+ 1.96 sqrt n) / 2."""
    n = len(values)
    ordered = np.sort(values)
    reach = _CONFIDENT * sqrt(n) / 2
    below = max(floor(n / 2 - reach), 0)
    return float(ordered[below]), float(ordered[n - 1 - below])


def _median_of(values: list[float]) -> int:
    return int(np.argsort(values)[len(values) // 2])


def _named(method: Method) -> str:
    first = method.settings[0]
    return f"{first.method} {first.parameters}".strip()


def _key(setting: Setting, cell: Cell, repetitions: int) -> Known:
    return (setting.method, setting.parameters, cell.target, cell.clients, cell.epsilon, repetitions)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started inside read the environment when they load numpy."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
