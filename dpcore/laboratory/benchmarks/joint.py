"""The study of two attributes together: coverage of nominal 95 % intervals, errors of what is shown, the size of tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpcore.audit.attacks.lower_bound import binomial_interval
from dpcore.laboratory.benchmarks.option import Place, option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies import joint, runner
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.studies.targets.joint_distributions import joint_laws

_PLACES = (Place(100_000, 1.0), Place(1_000_000, 1.0), Place(100_000, 4.0))
_WITHIN = (0.93, 0.97)
_SIZE = (0.04, 0.06)
_SURE = 0.95
_ERROR = {  # law, clients, number, of what: root mean squared errors, or standard errors as told -> the most, epsilon 1 each
    ("normal", 100_000, "correlation", "shown"): 0.17,
    ("normal", 1_000_000, "correlation", "shown"): 0.054,
    ("normal_together", 100_000, "correlation", "error"): 0.062,
    ("normal_together", 1_000_000, "correlation", "error"): 0.020,
    ("uniform_4x5", 100_000, "rectangle(0, 0)", "told"): 0.0074,
    ("uniform_4x5_together", 100_000, "rectangle(0, 0)", "told"): 0.0026,
    ("uniform_10x10", 100_000, "rectangle(0, 0)", "told"): 0.0134,
    ("uniform_10x10_together", 100_000, "rectangle(0, 0)", "told"): 0.0027,
}


@dataclass(frozen=True, kw_only=True)
class Joint(Study):
    """Numbers and categories, independent and not, each reported with the same epsilon and paired, or as a joint attribute.

    A cell is a law, a place and a number of both attributes.  Where the attributes are independent, how often tests reject.

    Example: ldpflow benchmark joint --laws table,rare --at 100000@1 --repetitions 100
    """

    name = "joint"
    title = "Two attributes together: coverage of nominal 95 % intervals"
    table: ClassVar = {
        "law": "{target}",
        "clients": "{clients:,}",
        "epsilon": "{epsilon:g}",
        "number": "{asked}",
        "intervals hold": "{held:.1%}",
        "error": "{error:.4f}",
        "error of what is shown": "{shown:.4f}",
        "tests reject": "{rejected:.2%}",
        "rounds": "{rounds:,}",
    }
    edition = 1
    stands = "metric LIKE 'held:%'"
    grows = True
    measure = staticmethod(joint.measure)

    laws: tuple[str, ...] = option(tuple(joint_laws()), "Laws of two attributes.", choices=tuple(joint_laws()))
    places: tuple[Place, ...] = option(_PLACES, "Numbers of clients, each with its epsilon.", flag="--at")
    repetitions: int = option(1000, "Repetitions a cell; more can be added later.", least=2, most=1_000_000)

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        cells = [Cell(name, at.clients, at.epsilon) for name, at in product(self.laws, self.places)]
        return list(runner.left([(joint.OURS, cell) for cell in cells], self.repetitions, joint.CHUNK, measured))

    def shown(self, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
        """Yield a number of a law and place each, and a test where the attributes are independent."""
        for (target, clients, epsilon), sums, rounds in _cells(rows):
            line: dict[str, Any] = {"target": target, "clients": clients, "epsilon": epsilon, "rounds": rounds}
            line |= dict.fromkeys(("held", "error", "shown", "told", "rejected"), np.nan)
            for metric in sums.index[sums.index.str.startswith("rejected:")]:
                yield line | {"asked": metric.removeprefix("rejected:"), "rejected": sums[metric] / rounds}
            for metric in sums.index[sums.index.str.startswith("held:")]:
                asked = metric.removeprefix("held:")
                errors = {key: (sums.get(f"{name}:{asked}", np.nan) / rounds) ** 0.5 for key, name in _ERRORS.items()}
                yield line | {"asked": asked, "held": sums[metric] / rounds, **errors}

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        lines = list(self.shown(rows)) if len(rows) else []
        held = [row["held"] for row in lines if not np.isnan(row["held"])]
        errors = {
            (row["target"], row["clients"], row["asked"], key): row[key]
            for row in lines
            for key in _ERRORS
            if row["epsilon"] == 1 and not np.isnan(row[key])
        }
        return [
            Verdict(
                "cells in which 93 to 97 % hold",
                float(np.mean([_WITHIN[0] <= share <= _WITHIN[1] for share in held])) if held else None,
                0.85,
                at_least=True,
            ),
            Verdict("tests whose size is significantly outside 4 to 6 %", _sizes(rows) if len(rows) else None, 0.0),
            *(
                Verdict(
                    f"{law}, {clients:,}: {asked}'s error, of {most:g}", errors[law, clients, asked, key] / most, 1.0
                )
                for (law, clients, asked, key), most in _ERROR.items()
                if (law, clients, asked, key) in errors
            ),
        ]


_ERRORS = {"error": "square", "shown": "shown", "told": "told"}


def _cells(rows: pd.DataFrame) -> Iterator[tuple[tuple[Any, ...], pd.Series, int]]:
    for place, cell in rows.groupby(["target", "clients", "epsilon"], sort=False):
        whole = cell.groupby("metric")[["value", "repetitions"]].sum()
        yield place, whole["value"], int(whole["repetitions"].max())


def _sizes(rows: pd.DataFrame) -> float | None:
    """How many tests reject significantly less or more often than their size, for independent attributes."""
    outside = []
    for _, sums, rounds in _cells(rows):
        low, high = binomial_interval(sums[sums.index.str.startswith("rejected:")].to_numpy(), rounds, _SURE)
        outside += ((high < _SIZE[0]) | (low > _SIZE[1])).tolist()
    return float(sum(outside)) if outside else None
