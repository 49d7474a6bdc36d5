"""The study of malicious clients: what they gain beside what theory says, and how often the checks see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from dpcore.laboratory.benchmarks import landing
from dpcore.laboratory.benchmarks.report import Report
from dpcore.laboratory.plots.poisoning import plot_power
from dpcore.laboratory.studies import poisoning
from dpcore.results import plots
from dpcore.results.reading import in_words

_SENT = {  # what malicious clients send
    poisoning.RANDOM: "random reports",
    poisoning.ITEM: "honest reports of a value one does not have",
    poisoning.MAXIMAL: "the reports that gain most",
    poisoning.OWN: "the reports that gain most at the level one is given",
}


def measure(file: Path, methods: Sequence[str], repetitions: int, workers: int = 1) -> Iterator[tuple[int, int]]:
    """Measure and land a study of malicious clients, yielding (done, all) methods, first (0, all); see `studies.poisoning`."""
    frames = poisoning.measured(methods, repetitions, workers)
    edition = f"{version('ldpflow')}+{poisoning.STUDY}"
    yield from landing.landed(file, len(methods), frames, edition, datetime.now(UTC))


def report(file: Path) -> Report:
    """Return how the newest study of malicious clients stands: its rows, and the aims."""
    rows = landing.newest(file, poisoning.STUDY, "method, parameters, target, metric")
    return Report(rows, poisoning.verdicts(rows))


def summary(report: Report) -> list[tuple[str, ...]]:
    """Return a line a method and attack, as a person reads it.

    method, attack, and at 1, 5 and 10 % the rise of the mean, or of the targets' frequency together, what theory says of that,
    and the share of rounds in which some check sees the attack.
    """
    rows = poisoning.told(report.rows)
    rows = rows[rows["beta"].isin(poisoning.BIASED) & rows["target"].isin(("frequency", "mean"))]
    return [
        (str(method), str(attack), *(_at(of[of["beta"] == beta]) for beta in poisoning.BIASED))
        for (method, attack), of in rows.groupby(["method", "attack"], sort=False)
    ]


def _at(rows: pd.DataFrame) -> str:
    """What was found at one share of malicious clients."""
    values = rows.drop_duplicates("metric").set_index("metric")["value"]
    texts = {"bias": "{:+.3g}", "theory": "theory {:+.3g}", "seen:any": "seen {:.0%}"}
    return "; ".join(text.format(values[metric]) for metric, text in texts.items() if metric in values)


def draw(file: Path, folder: Path) -> dict[str, Path]:
    """Draw how often checks see each attack, a picture an attack and a panel a mechanism; return name -> file."""
    rows = poisoning.told(report(file).rows)
    rows = rows[rows["metric"].str.startswith("seen:") & (rows["beta"] > 0)]
    rows = rows.assign(check=rows["metric"].str.removeprefix("seen:"))
    pictures: dict[str, Path] = {}
    for attack, of in rows[~rows["check"].str.startswith("any")].groupby("attack", sort=False):
        methods = [name for name in poisoning.METHODS if name in set(of["method"])]
        figure, panels = plots.new_panels(
            len(methods),
            title=f"What the checks see of {_SENT.get(str(attack), attack)}",
            subtitle=f"{poisoning.CLIENTS:,} honest clients in 8 batches, malicious ones in the last; dashed: in all. "
            "False alarms: 0.1 %. Bars: 95 %",
            height=3.6,
        )
        for axes, method in zip(panels, methods, strict=True):
            plot_power(of[of["method"] == method], axes, title=in_words(method))
        name = f"poisoning_{str(attack).replace(' ', '_').replace('-', '_')}"
        pictures |= landing.picture(folder, name, figure)
    return pictures
