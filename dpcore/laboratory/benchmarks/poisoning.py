"""The study of malicious clients: their gains compared with theory, and how often checks detect them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from dpcore.laboratory import landing
from dpcore.laboratory.benchmarks.option import option
from dpcore.laboratory.benchmarks.study import Study
from dpcore.laboratory.studies import poisoning
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.results.text.phrases import in_words

_SENT = {  # what malicious clients send
    poisoning.RANDOM: "random reports",
    poisoning.ITEM: "honest reports of a value one does not have",
    poisoning.MAXIMAL: "the reports that gain most",
    poisoning.OWN: "the reports that gain most at the level one is given",
}


@dataclass(frozen=True, kw_only=True)
class Poisoning(Study):
    """Rises and how often they are seen, at 1, 5 and 10 % of malicious clients.

    Example: ldpflow benchmark poisoning --methods randomized_response,unary_encoding --repetitions 100
    """

    name = "poisoning"
    title = "rise of the mean, or of the frequency of five targets together; rounds in which a check sees it"
    table: ClassVar = {
        "mechanism": "{method}",
        "attack": "{attack}",
        "1 % malicious": "{at_1}",
        "5 %": "{at_5}",
        "10 %": "{at_10}",
    }
    edition = 1
    measure = staticmethod(poisoning.measure)

    methods: tuple[str, ...] = option(poisoning.METHODS, "Mechanisms.", choices=poisoning.METHODS)
    repetitions: int = option(
        400, "Rounds of each attack; fewer are fitted.", least=poisoning.LEAST_REPETITIONS, most=1_000_000
    )

    def pending(self, measured: pd.DataFrame) -> list[tuple[Any, ...]]:
        return [(method, self.repetitions) for method in self.methods]

    def verdicts(self, rows: pd.DataFrame) -> list[Verdict]:
        return poisoning.verdicts(rows)

    def shown(self, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
        """Yield for each method and attack: gains by share of malicious clients, their theory, and detection rates."""
        rows = poisoning.with_attacks(rows)
        rows = rows[rows["beta"].isin(poisoning.BIASED) & rows["target"].isin(("frequency", "mean"))]
        for (method, attack), group in rows.groupby(["method", "attack"], sort=False):
            rises = {f"at_{100 * beta:g}": _at(group[group["beta"] == beta]) for beta in poisoning.BIASED}
            yield rises | {"method": method, "attack": attack}

    def draw(self, file: Path, folder: Path) -> dict[str, Path]:
        """Draw how often checks see each attack, a picture an attack and a panel a mechanism; return name -> file."""
        from dpcore.laboratory.plots.poisoning import plot_power
        from dpcore.results import plots

        rows = poisoning.with_attacks(self.rows(file))
        rows = rows[rows["metric"].str.startswith("seen:") & (rows["beta"] > 0)]
        rows = rows.assign(check=rows["metric"].str.removeprefix("seen:"))
        pictures: dict[str, Path] = {}
        for attack, group in rows[~rows["check"].str.startswith("any")].groupby("attack", sort=False):
            methods = [name for name in poisoning.METHODS if name in set(group["method"])]
            figure, panels = plots.new_panels(
                len(methods),
                title=f"What the checks see of {_SENT.get(str(attack), attack)}",
                subtitle=f"{poisoning.CLIENTS:,} honest clients in 8 batches, malicious ones in the last; dashed: in all. "
                "False alarms: 0.1 %. Bars: 95 %",
                height=3.6,
            )
            for axes, method in zip(panels, methods, strict=True):
                plot_power(group[group["method"] == method], axes, title=in_words(method))
            name = f"poisoning_{str(attack).replace(' ', '_').replace('-', '_')}"
            pictures |= landing.picture(folder, name, figure)
        return pictures


def _at(rows: pd.DataFrame) -> str:
    """What was found at one share of malicious clients."""
    values = rows.drop_duplicates("metric").set_index("metric")["value"]
    texts = {"bias": "{:+.3g}", "theory": "theory {:+.3g}", "seen:any": "seen {:.0%}"}
    return "; ".join(text.format(values[metric]) for metric, text in texts.items() if metric in values)
