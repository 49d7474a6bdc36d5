"""The study of values on points: errors beside oracles that know the values and peers at their best, and coverage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import exp, hypot, log
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpcore.laboratory.benchmarks.option import Place, option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies import points, runner
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.studies.targets.discrete_distributions import point_laws

_PLACES = (Place(100_000, 1.0), Place(1_000_000, 1.0), Place(100_000, 4.0))
_OTHERS = "others"
_ERRORS = 50  # repetitions of the peers
_WITHIN = (0.93, 0.97)


@dataclass(frozen=True, kw_only=True)
class Points(Study):
    """Counts, ages, rounded incomes and values without order, declared in the scheme.

    Ours are rounds of `mechanism = "auto"`.  The best of the others is chosen in hindsight, cell by cell, of frequency oracles
    that know the values, with the nearest proper frequencies, and the settings of the accuracy study's peers.

    Example: ldpflow benchmark points --laws counts,incomes --at 100000@1 --repetitions 25
    """

    name = "points"
    title = "Wasserstein error to the best of the others, and coverage of nominal 95 % intervals"
    table: ClassVar = {
        "law": "{target}",
        "clients": "{clients:,}",
        "epsilon": "{epsilon:g}",
        "error, % of the range": "{error:.3f}",
        "best of the others": "{best}",
        "ratio": "{ratio:.2f} +- {uncertainty:.2f}",
        "intervals hold": "{least:.1%} to {most:.1%}",
        "rounds": "{rounds:,}",
    }
    edition = 1
    stands = "metric = 'w1'"
    grows = True
    measure = staticmethod(points.measure)

    laws: tuple[str, ...] = option(tuple(point_laws()), "Discrete distributions.", choices=tuple(point_laws()))
    places: tuple[Place, ...] = option(_PLACES, "Numbers of clients, each with its epsilon.", flag="--at")
    repetitions: int = option(1000, "Repetitions a cell; more can be added later.", least=2, most=1_000_000)

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        cells = [Cell(name, at.clients, at.epsilon) for name, at in product(self.laws, self.places)]
        ours = [(points.OURS, cell) for cell in cells]
        there = (
            measured.assign(method=measured["method"].where(measured["method"] == points.OURS, _OTHERS))
            if len(measured)
            else measured
        )
        others = runner.left([(_OTHERS, cell) for cell in cells], min(_ERRORS, self.repetitions), points.CHUNK, there)
        return [*others, *runner.left(ours, self.repetitions, points.CHUNK, there)]

    def shown(self, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
        """Yield a law and place each."""
        for (target, clients, epsilon), cell in rows.groupby(["target", "clients", "epsilon"], sort=False):
            whole = cell.groupby(["method", "metric"])[["value", "repetitions"]].sum().unstack("metric")
            sums, rounds = whole["value"], whole["repetitions"]["w1"]
            errors = sums["w1"] / rounds
            spread = np.sqrt(np.maximum(sums["w1_square"] / rounds - errors**2, 0) / rounds) / errors
            line = {"target": target, "clients": clients, "epsilon": epsilon}
            if points.OURS not in errors.index:
                continue
            own, others = sums.loc[points.OURS], errors.drop(points.OURS)
            best = others.idxmin() if len(others) else None
            held = {name: own[f"held:{name}"] / rounds[points.OURS] for name in _asked(own)}
            yield line | {
                "error": 100 * errors[points.OURS],
                "best": best,
                "ratio": errors[points.OURS] / others.min() if best else None,
                "uncertainty": hypot(spread[points.OURS], spread[best]) * errors[points.OURS] / others.min()
                if best
                else None,
                "least": min(held.values()),
                "most": max(held.values()),
                "rounds": int(rounds[points.OURS]),
                "held": held,
            }

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        lines = list(self.shown(rows)) if len(rows) else []
        ratios = [row for row in lines if row["ratio"] is not None]
        surely = [row["ratio"] - 2 * row["uncertainty"] for row in ratios]
        held = [(name, share) for row in lines for name, share in row["held"].items()]
        within = [_WITHIN[0] <= share and (share <= _WITHIN[1] or name.startswith("quantile")) for name, share in held]
        return [
            Verdict("ratio less two of its errors, the largest", max(surely, default=None), 1.1),
            Verdict(
                "geometric mean of the ratios",
                exp(float(np.mean([log(r["ratio"]) for r in ratios]))) if ratios else None,
                0.9,
            ),
            Verdict("cells in which 93 to 97 % hold", float(np.mean(within)) if within else None, 0.9, at_least=True),
        ]


def _asked(sums: pd.Series) -> list[str]:
    return [metric.removeprefix("held:") for metric in sums.dropna().index if metric.startswith("held:")]
