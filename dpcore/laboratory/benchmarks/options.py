"""The study of options: errors of shares where a respondent may choose several, beside published constructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import pandas as pd

from dpcore.laboratory.benchmarks.option import option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies import options, runner
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.runner import Cell

_NOMINAL = (0.93, 0.97)  # of intervals of 95 %
_SIMULATED = 8  # chosen at most; 20 of 20 options have 2^20 answers, and a round takes six seconds


@dataclass(frozen=True, kw_only=True)
class Options(Study):
    """Questions where several options may be chosen: exact variances, and simulated rounds of ours.

    Example: ldpflow benchmark options --chosen 2 --repetitions 20
    """

    name = "options"
    title = "Variance of the shares of options for one report, and coverage of 95 % intervals"
    table: ClassVar = {
        "question": "{target}",
        "epsilon": "{epsilon:g}",
        **{name.replace("_", " "): f"{{{name}:.3g}}" for name in {**options.OURS, **options.PUBLISHED}},
        "simulated / exact": "{ratio:.2f}",
        **{f"{kind} covered": f"{{{kind}:.1%}}" for kind in options.KINDS},
        "rounds": "{rounds:,}",
    }
    edition = 1
    stands = "metric = 'mse' or method = 'exact'"
    grows = True
    measure = staticmethod(options.measure)

    counts: tuple[int, ...] = option((8, 20, 60), "Numbers of options.", flag="--options", least=2, most=62)
    chosen: tuple[int, ...] = option((2, 4, 0), "How many may be chosen; 0 for all.", least=0, most=62)
    epsilons: tuple[float, ...] = option((0.5, 1.0, 2.0, 4.0), "Epsilons.", least=0.01, most=16)
    clients: int = option(20_000, "Respondents of a simulated round.", least=100, most=10**7)
    repetitions: int = option(200, "Repetitions a cell; more can be added later.", least=2, most=1_000_000)

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        cells = [
            (count, most or count, Cell(options.target(count, most or count), self.clients, epsilon))
            for count, most, epsilon in product(self.counts, self.chosen, self.epsilons)
        ]
        exact = runner.left([(options.EXACT, cell) for *_, cell in cells], 1, 1, measured)
        small = [cell for _, most, cell in cells if most <= _SIMULATED]
        asked = [(options.SIMULATED, cell) for cell in small]
        return [*exact, *runner.left(asked, self.repetitions, options.CHUNK, measured)]

    def shown(self, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
        """Yield a question and epsilon each."""
        for (target, clients, epsilon), cell in rows.groupby(["target", "clients", "epsilon"], sort=False):
            sums = cell.groupby(["method", "metric"])[["value", "repetitions"]].sum()
            means = (sums["value"] / sums["repetitions"]).unstack("method")
            exact = (
                {str(name): value for name, value in means[options.EXACT].dropna().items()}
                if options.EXACT in means
                else {}
            )
            line: dict[str, Any] = {"target": target, "epsilon": epsilon, **dict.fromkeys(options.KINDS), "ratio": None}
            line |= {"rounds": 0, **dict.fromkeys({**options.OURS, **options.PUBLISHED})} | exact
            if options.SIMULATED in means:
                simulated = {str(name): value for name, value in means[options.SIMULATED].dropna().items()}
                line |= simulated | {"rounds": int(cell.loc[cell["metric"] == "mse", "repetitions"].sum())}
                if "set_selection" in exact:
                    line["ratio"] = simulated["mse"] * clients / exact["set_selection"]
            yield line

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        lines = list(self.shown(rows)) if len(rows) else []
        ratios = [
            min(line[name] for name in options.OURS if line[name] is not None)
            / min(line[name] for name in options.PUBLISHED if line[name] is not None)
            for line in lines
            if line["wheel"] is not None
        ]
        covered = {kind: [line[kind] for line in lines if line[kind] is not None] for kind in options.KINDS}
        within = {
            kind: sum(_NOMINAL[0] <= share <= _NOMINAL[1] for share in shares) / len(shares) if shares else None
            for kind, shares in covered.items()
        }
        return [
            Verdict("variance to the best published one's, the largest ratio", max(ratios, default=None), 1.0),
            *(
                Verdict(f"cells whose {kind} intervals cover 93 to 97 %", part, 0.9, True)
                for kind, part in within.items()
            ),
        ]
