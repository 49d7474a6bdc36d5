"""The study of open answers: frequent texts that nobody has listed, beside three papers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import pandas as pd

from dpcore.laboratory.benchmarks.option import option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.open_answers import study
from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.peers.heavy_hitters import PEERS
from dpcore.laboratory.studies.runner import Cell

_PAPERS = ("pem", "sfp", "tree_hist")
_METHODS = (study.OURS, *PEERS)


@dataclass(frozen=True, kw_only=True)
class Texts(Study):
    """Open answers: recall of the 20 most frequent texts, false discoveries, and coverage of simultaneous intervals.

    Example: ldpflow benchmark texts --exponents 1.3 --lengths 8 --epsilons 4 --repetitions 4
    """

    name = "texts"
    title = "Share of the 20 most frequent of 100,000 texts that are found"
    table: ClassVar = {
        "texts": "{target}",
        "clients": "{clients:,}",
        "epsilon": "{epsilon:g}",
        **{method.replace("_", " "): f"{{{method}:.1%}}" for method in _METHODS},
        "ours, 20 largest": "{largest:.1%}",
        "false discoveries": "{false:.1%}",
        "all covered": "{covered:.1%}",
        "rounds": "{rounds:,}",
    }
    edition = 2
    stands = "metric in ('recall', 'seconds')"
    grows = True
    measure = staticmethod(study.measure)

    exponents: tuple[float, ...] = option((1.1, 1.3, 1.5), "Exponents of Zipf's shares.", least=0.5, most=3)
    lengths: tuple[int, ...] = option((8, 16), "Letters of the longest text.", least=4, most=16)
    counts: tuple[int, ...] = option((100_000, 1_000_000), "Clients.", flag="--clients", least=10_000, most=10**8)
    epsilons: tuple[float, ...] = option((1.0, 2.0, 4.0), "Epsilons.", least=0.1, most=8)
    repetitions: int = option(14, "Repetitions a cell; more can be added later.", least=2, most=1_000_000)

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        cells = [
            Cell(study.target(exponent, length), clients, epsilon)
            for exponent, length, clients, epsilon in product(self.exponents, self.lengths, self.counts, self.epsilons)
        ]
        asked = [(method, cell) for cell in cells for method in _METHODS]
        targets = [study.target(self.exponents[0], length) for length in self.lengths]
        largest = [(study.DECODING, Cell(target, max(self.counts), self.epsilons[0])) for target in targets]
        decoding = runner.left(largest, 1, 1, measured)
        return [*decoding, *runner.left(asked, self.repetitions, study.CHUNK, measured)]

    def shown(self, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
        """Yield a population, number of clients and epsilon each."""
        for (target, clients, epsilon), cell in rows.groupby(["target", "clients", "epsilon"], sort=False):
            sums = cell.groupby(["method", "metric"])[["value", "repetitions"]].sum().to_dict("index")
            line: dict[str, Any] = {"target": target, "clients": clients, "epsilon": epsilon}
            line |= dict.fromkeys(("largest", "reported", "false", "covered"))
            recall = {method: sums.get((method, "recall")) for method in _METHODS}
            line |= {method: one and one["value"] / one["repetitions"] for method, one in recall.items()}
            line["rounds"] = min((one["repetitions"] for one in recall.values() if one), default=0)
            if recall[study.OURS]:
                own = {name: sums[study.OURS, name] for name in ("largest", "reported", "false", "covered")}
                line |= {name: one["value"] / one["repetitions"] for name, one in own.items()}
            yield line

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        lines = [line for line in self.shown(rows) if line["covered"] is not None] if len(rows) else []

        def ratios(peers: tuple[str, ...]) -> list[float]:
            pairs = [(line[study.OURS], [line[peer] for peer in peers]) for line in lines]
            return [ours / max(theirs) for ours, theirs in pairs if None not in theirs and max(theirs) > 0]

        def mean(values: list[float]) -> float | None:
            return sum(values) / len(values) if values else None

        rounds = sum(line["rounds"] for line in lines)
        false, covered = (
            sum(line[name] * line["rounds"] for line in lines) / rounds if rounds else None
            for name in ("false", "covered")
        )
        decoding = rows[rows["method"] == study.DECODING] if len(rows) else rows
        cost = decoding.groupby("metric")["value"].max().to_dict()
        return [
            Verdict("recall to the best paper's, the smallest ratio", min(ratios(_PAPERS), default=None), 1.0, True),
            Verdict("and on average", mean(ratios(_PAPERS)), 1.15, True),
            Verdict("to PEM that knows the alphabet, on average", mean(ratios(("pem_symbols",))), 1.0, True),
            Verdict("reported texts that nobody has", false, 0.05),
            Verdict("rounds whose intervals all cover", covered, 0.93, True),
            Verdict("CPU seconds to decode a round of the most clients", cost.get("seconds"), 60),
            Verdict("MiB of memory", cost.get("memory"), 2048),
        ]
