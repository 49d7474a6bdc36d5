"""One small awkward round, frozen whole: every table, the page's words, and what each picture is drawn of.

More categories than a table shows, groups, numbers that are refused, a round before it, and reports that came late, twice or as
no client sends them.  Nothing is rendered, so that quick tests can afford it: of a picture its artists are kept, no pixels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

import dpcore as dp
from dpcore import wire
from dpcore.results import warehouse
from dpcore.results.pages.content import gather
from dpcore.results.pages.pictures import Picture
from dpcore.results.pages.round import odds_of
from dpcore.results.pages.template import fill
from dpcore.results.plots.attribute import attribute_figures
from tests.frozen import behaviour
from tests.helpers import undrawn
from tests.helpers.kept_open import kept_open

_TOWNS = [f"town_{number}" for number in range(34)]
_SCHEME = f"""
name = "awkward"
description = "Of <everything> & too little"
clients = 5000
pairs = [["income", "home"]]

[attributes.town]
type = "categorical"
categories = {_TOWNS}
mechanism = "unary_encoding"
epsilon = 3

[attributes.home]
type = "categorical"
categories = ["urban", "rural"]
values = [0, 2.5]
epsilon = "ln 9"
functionals = ["mean", "variance"]

[attributes.income]
type = "numeric"
unit = "USD"
lower = -1000
upper = 9000
mechanism = "dyadic_wave"
cells = 16
levels = 2
epsilon = 4
functionals = ["mean", "variance", "quantile(0.5)", "cdf(2000)", "atom(9000)", "entropy"]

[attributes.age]
type = "numeric"
unit = "years"
lower = 16
upper = 116
mechanism = "wavelet_laplace"
degree = 1
finest_level = 2
epsilon = 4
estimator = "projection"
level_rule = "fixed"
level = 2
functionals = ["mean", "integrated_square(0)", "quantile(0.25)"]
"""
_PEOPLE = (600, 3000, 800)  # of a file; a group of the first is too small to be told of


def awkward(folder: Path) -> behaviour.Document:
    """Two rounds of collected reports; the second is read, with files of its own and one that came late."""
    file, data, into = folder / "awkward.toml", folder / "data", folder / "reports"
    file.write_text(_SCHEME, encoding="utf-8")
    into.mkdir()
    scheme, names = dp.Scheme.from_toml(file), {}
    with kept_open():
        for round_, files, fewest in (("2026-11-19", (0,), 500), ("2026-11-20", (1, 2), 100)):
            for which in files:
                sent_for = "2026-11-19" if which == 2 else round_
                content = _send(scheme, into / f"{which}.parquet", which, sent_for)
                names[content] = f"(file {which} for {sent_for})"
            undrawn.run(file, reports=into, round_=round_, data=data, min_clients=fewest)
    return _found(folder, data / "warehouse.duckdb", names)


def _send(scheme: dp.Scheme, path: Path, number: int, sent_for: str) -> str:
    """Write a file of reports and return its hash: one came with another file, too, and three no client sends."""
    random, n = np.random.default_rng(number), _PEOPLE[number]
    share = random.beta(2, 5 - number, n)
    people = {
        "town": np.array(_TOWNS)[np.minimum(random.geometric(0.08 + 0.02 * number, n), 34) - 1],
        "home": np.where(share < 0.3, "urban", "rural"),
        "income": np.where(share > 0.6, 9000, 12000 * share),
        "age": 16 + 90 * share**0.5,
    }
    batch = dp.privatize(scheme, people, random=dp.seeded([7, number]))
    ids = random.integers(0, 256, (n, 16), dtype=np.uint8)
    ids[5] = 9
    home = batch.answers["home"]
    values = home.reports.values.copy()
    values[[1, 11, 12]] = 200  # there are two categories
    answers = {"home": replace(home, reports=replace(home.reports, values=values))}
    wire.write_reports(path, scheme, replace(batch, ids=ids, answers={**batch.answers, **answers}), sent_for)
    return hashlib.sha256(path.read_bytes()).hexdigest()


class _Unseen(Picture):
    """A picture of a page, of which the page shows words and its table alone."""

    def drawn(self, name: str) -> list[tuple[str, str, list[float]]]:
        return [("wide", "(drawn)", [])]


def _found(folder: Path, file: Path, names: dict[str, str]) -> behaviour.Document:
    with duckdb.connect(str(file), read_only=True) as ask:
        rounds = ask.execute("select run_id, round from runs order by round").fetchall()
        put = {str(folder): "FOLDER"} | names | {run: f"(run of {round_})" for run, round_ in rounds}
        put |= {text[:16]: called for text, called in names.items()}
        found = behaviour.tables(ask, put)
    run = rounds[-1][0]
    with warehouse.reader(file) as asked:
        content = gather(asked, run)
        content["odds"] = odds_of(content["run"], content["spent"], "en")
        tables = {name: asked(f"from {name} where run_id = '{run}'") for name in _DRAWN}
    units = {row["attribute"]: row["unit"] for row in content["promises"]}
    drawn: list[list[Any]] = []
    for part in content["sections"]:
        for number, picture in enumerate(part.pictures):
            drawn += _artists(f"{part.name}, page's {number}", picture.draw())
        for name, figure in attribute_figures(part.name, tables, units[part.name], run_id=run).items():
            drawn += _artists(name, figure)
    found["drawn"] = behaviour.section(_ARTISTS, drawn)
    for pair in content["pairs"]:
        for number, picture in enumerate(pair.pictures):
            drawn += _artists(f"{pair.name}, page's {number}", picture.draw())
    for kind in ("sections", "pairs"):
        content[kind] = [
            replace(part, pictures=[_Unseen(**vars(picture)) for picture in part.pictures]) for part in content[kind]
        ]
    found["page"] = behaviour.page_lines(fill("round.html", content), put)
    return found


_DRAWN = ("functionals", "comparisons")  # the page shows the others
_ARTISTS = ["picture", "artist", "says", "looks", "points", "x", "y", "x by place", "y by place"]


def _artists(name: str, figure: Figure) -> list[list[Any]]:
    """What a picture is drawn of, a row each: sums of coordinates, and sums in which each point has its place as weight."""
    return [[name, *row] for axes in figure.axes for row in _artists_of(axes)]


def _artists_of(axes: Axes) -> Iterator[list[Any]]:
    told = [axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()]
    yield ["axes", " / ".join(told), "", *_sums(np.array([axes.get_xlim(), axes.get_ylim()]).T)]
    for line in axes.lines:
        look = f"{to_hex(line.get_color())} {line.get_linestyle()} {line.get_marker()}"
        yield ["line", str(line.get_label()), look, *_sums(np.asarray(line.get_xydata()))]
    for each in axes.collections:
        points = np.concatenate([path.vertices for path in each.get_paths()] or [np.zeros((0, 2))])
        yield [
            "shape",
            str(each.get_label()),
            to_hex(np.concatenate([each.get_facecolor(), each.get_edgecolor()])[0], True),
            *_sums(points),
        ]
    for bar in axes.patches:
        assert isinstance(bar, Rectangle)
        yield [
            "bar",
            "",
            to_hex(bar.get_facecolor(), True),
            *_sums(np.array([bar.get_xy(), (bar.get_width(), bar.get_height())])),
        ]
    for text in axes.texts:
        yield [
            "text",
            text.get_text(),
            to_hex(text.get_color()),
            *_sums(np.array([text.xy if isinstance(text, Annotation) else text.get_position()])),
        ]
    legend = axes.get_legend()
    yield [
        "legend",
        " / ".join(text.get_text() for text in legend.get_texts()) if legend else "",
        "",
        *_sums(np.zeros((0, 2))),
    ]
    for side, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        at = axis.get_majorticklocs()
        told = axis.get_major_formatter().format_ticks(at)
        yield [f"ticks of {side}", " / ".join(told), "", *_sums(np.array([at, at]).T)]


def _sums(points: np.ndarray) -> list[Any]:
    place = np.arange(1, len(points) + 1) / max(len(points), 1)
    sums = [*np.nansum(points, axis=0), *(place @ np.nan_to_num(points))]
    return [len(points), *(float(f"{value:.9g}") for value in sums)]
