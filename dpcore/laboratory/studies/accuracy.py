"""The accuracy study: targets x clients x epsilons x methods, each cell measured on its own and told as soon as it is known.

Rows.  A metric's `value` is the median error over all repetitions, low and high its order-statistic interval.
The rows `METRIC.first` and `METRIC.second` are the medians of the even and of the odd repetitions: the best peer in hindsight
is chosen on the first and measured on the second, so that it does not profit from its own luck.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import floor, sqrt
from typing import Any

import numpy as np
import pandas as pd

from dpcore.errors import SchemeError, check_one_of, check_within
from dpcore.laboratory.studies import metrics, runner, targets
from dpcore.laboratory.studies.contestants import contestants
from dpcore.laboratory.studies.method import Method, Setting
from dpcore.laboratory.studies.peers.catalogue import PREFIX, peers
from dpcore.laboratory.studies.runner import Cell, seed

STUDY = "accuracy"
EDITION = 1  # of targets, peers, metrics and seeds; another edition's rows are not gone on with
CLIENTS = (10_000, 100_000, 1_000_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
REPETITIONS = 50
PEERS = "peers"  # the name that stands for all of them
FIRST, SECOND = ".first", ".second"
_CONFIDENT = 1.96

# A cell that a table has: method, parameters, target, clients, epsilon, repetitions.
Known = tuple[str, str, str, int, float, int]


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
            check_within(100, 10**12, clients=n)
        for epsilon in self.epsilons:
            check_within(0.01, 16, epsilon=epsilon)
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
        check_one_of(method_names(), methods=name)
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
    pieces = [(*piece, grid.repetitions) for piece in pending(grid, known)]
    yield from runner.measured(measure, pieces, workers)


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
