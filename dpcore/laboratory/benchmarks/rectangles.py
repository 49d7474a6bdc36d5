"""The study of rectangles: mean squared errors of shares of two numbers' ranges together, beside peers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import pandas as pd

from dpcore.laboratory.benchmarks.option import Place, option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies import rectangles, runner
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.runner import Cell

_PLACES = tuple(Place(n, epsilon) for n in (30_000, 100_000, 1_000_000) for epsilon in (1.0, 2.0))


@dataclass(frozen=True, kw_only=True)
class Rectangles(Study):
    """Two numbers, epsilon in all: our answers to two questions, or to both in one, and peers that ask for both.

    Example: ldpflow benchmark rectangles --laws normal --at 100000@2 --repetitions 10
    """

    name = "rectangles"
    title = "Mean squared error of the shares of rectangles"
    table: ClassVar = {
        "law": "{target}",
        "clients": "{clients:,}",
        "epsilon": "{epsilon:g}",
        **{method.replace("_", " "): f"{{{method}:.1e}}" for method in rectangles.METHODS},
        "rounds": "{rounds:,}",
    }
    edition = 1
    stands = "metric = 'mse'"
    grows = True
    measure = staticmethod(rectangles.measure)

    laws: tuple[str, ...] = option(rectangles.LAWS, "Laws of two numbers.", choices=rectangles.LAWS)
    places: tuple[Place, ...] = option(_PLACES, "Numbers of clients, each with its epsilon in all.", flag="--at")
    repetitions: int = option(50, "Repetitions a cell; more can be added later.", least=2, most=1_000_000)

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        cells = [Cell(name, at.clients, at.epsilon) for name, at in product(self.laws, self.places)]
        asked = [(method, cell) for cell in cells for method in rectangles.METHODS]
        return list(runner.left(asked, self.repetitions, rectangles.CHUNK, measured))

    def shown(self, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
        """Yield a law and place each."""
        for (target, clients, epsilon), cell in rows.groupby(["target", "clients", "epsilon"], sort=False):
            sums = cell.groupby("method")[["value", "repetitions"]].sum()
            errors = (sums["value"] / sums["repetitions"]).to_dict()
            line = {"target": target, "clients": clients, "epsilon": epsilon, "rounds": int(sums["repetitions"].min())}
            yield line | dict.fromkeys(rectangles.METHODS) | errors

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        ratios = []
        for row in self.shown(rows) if len(rows) else ():
            ours = [row[method] for method in (rectangles.PAIRED, rectangles.TOGETHER) if row[method] is not None]
            peers = [row[method] for method in rectangles.PEERS if row[method] is not None]
            if ours and peers:
                ratios.append(min(ours) / min(peers))
        return [Verdict("error to the better peer's, the largest ratio", max(ratios, default=None), 1.0)]
