"""The accuracy study: targets x clients x epsilons x methods, each cell measured separately and reported immediately.

Rows.  A metric's `value` is the median error over all repetitions, low and high its order-statistic interval.
The rows `METRIC.first` and `METRIC.second` are the medians of the even and of the odd repetitions: the best peer in hindsight
is chosen on the first and measured on the second, so that it does not profit from its own luck.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import floor, sqrt
from typing import Any

import numpy as np
import pandas as pd

from dpcore.laboratory.studies import metrics, runner
from dpcore.laboratory.studies.contestants import contestants
from dpcore.laboratory.studies.method import Method, Setting
from dpcore.laboratory.studies.peers.catalogue import PREFIX, peers
from dpcore.laboratory.studies.runner import Cell, seed

PEERS = "peers"  # the name that selects all of them
FIRST, SECOND = ".first", ".second"
_CONFIDENT = 1.96

Piece = tuple[Cell, tuple[str, ...], int]  # where, the first settings' names of the methods, repetitions


def method_names() -> tuple[str, ...]:
    """Return what may be asked for: ours, `peers` for all peers, and each peer."""
    ours = [setting.method for method in contestants() for setting in method.settings]
    return (*ours, PEERS, *dict.fromkeys(setting.method for peer in peers() for setting in peer.settings))


def chosen(names: Sequence[str]) -> tuple[Method, ...]:
    """Return the methods of those names, of `method_names`; all of them for none."""
    everything: tuple[Method, ...] = (*contestants(), *peers())
    if not names:
        return everything
    wanted = []
    for method in everything:
        name = method.settings[0].method
        if name in names or (PEERS in names and name.startswith(PREFIX)):
            wanted.append(method)
    return tuple(wanted)


def left(cells: Sequence[Cell], methods: Sequence[str], repetitions: int, measured: pd.DataFrame) -> list[Piece]:
    """Return the pieces of work that are left; methods: see `chosen`.

    Peers of a cell are one piece, each of ours is another: they take seconds and a minute.
    measured: a row for each measured setting and cell: method, parameters, target, clients, epsilon, repetitions.
    """
    there = set(measured.itertuples(index=False, name=None))
    pieces: list[Piece] = []
    for cell in cells:
        cheap: list[str] = []
        for method in chosen(methods):
            keys = [
                (s.method, s.parameters, cell.target, cell.clients, cell.epsilon, repetitions) for s in method.settings
            ]
            if there.issuperset(keys):
                continue
            name = _named(method)
            if name.startswith(PREFIX):
                cheap.append(name)
            else:
                pieces.append((cell, (name,), repetitions))
        if cheap:
            pieces.append((cell, tuple(cheap), repetitions))
    return pieces


def measure(cell: Cell, names: Sequence[str], repetitions: int) -> pd.DataFrame:
    """Return the rows of one piece of work; names: as `left` gives them."""
    rows: list[dict[str, Any]] = []
    for method in (*contestants(), *peers()):
        if _named(method) in names:
            seeds = [seed(cell, _named(method), repetition) for repetition in range(repetitions)]
            measured = method.errors(cell.target, cell.clients, cell.epsilon, seeds)
            for setting, errors in zip(method.settings, measured, strict=True):
                rows += _rows(setting, cell, errors)
    return pd.DataFrame(rows)


def representative(cell: Cell, ours: str, peer: str, repetitions: int = 9) -> pd.DataFrame:
    """Return the densities of the fits whose ise is the median of a few repetitions: x, truth, ours, peer, and their names.

    ours: a method of ours.  peer: a peer's setting without the prefix, as `accuracy_cells.hindsight` has it.
    """
    truth = metrics.truth(cell.target)
    contestant = next(candidate for candidate in contestants() if candidate.name == ours)
    seeds = [seed(cell, ours, repetition) for repetition in range(repetitions)]
    estimates = [contestant.estimate(truth.target, cell.clients, cell.epsilon, key) for key in seeds]
    fit = estimates[_median_of([metrics.score_estimate(truth, estimate)["ise"] for estimate in estimates])]
    names = {
        f"{s.method} {s.parameters}": (candidate, i) for candidate in peers() for i, s in enumerate(candidate.settings)
    }
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
    for metric, values in errors.items():
        low, high = interval(values)
        for suffix, some in (("", values), (FIRST, values[0::2]), (SECOND, values[1::2])):
            yield runner.row(
                cell,
                setting.method,
                metric + suffix,
                float(np.median(some)),
                parameters=setting.parameters,
                repetitions=len(some),
                low=None if suffix else low,
                high=None if suffix else high,
            )


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
