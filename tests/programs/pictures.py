"""The guide's pictures, each drawn from estimates made here, under fixed seeds: `make pictures` writes data/guide/pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import dpcore as dp
from dpcore.laboratory.plots.curves import plot_curves
from dpcore.laboratory.studies.peers import square_wave
from dpcore.laboratory.studies.targets.densities import target
from dpcore.results.plots import style

FOLDER = Path(__file__).parents[2] / "data/guide/pictures"
LAW, CLIENTS, EPSILON, SEED, BINS = "bimodal", 100_000, 1, 7, 1024
_PEER = "#E69F00"  # orange
_MANY = 5_000_000  # clients of the picture of resolutions
_GRID = np.linspace(0, 1, 401)


def density() -> Figure:
    """The truth, our estimate with its band, and SW-EMS as published: the same law, clients, epsilon and seed."""
    law = target(LAW)
    estimate = dp.estimate(dp.simulate(_scheme(CLIENTS), law, random=dp.seeded(SEED), clients=CLIENTS), "x")
    low, high = estimate.band(_GRID)
    generator = dp.seeded(SEED).generator()
    reports = square_wave.reports(law.cells(BINS), CLIENTS, EPSILON, BINS, generator)
    peer = square_wave.decode(reports[None], EPSILON, smoothing=True)[0] * BINS
    figure, axes = style.new_axes(8.0, 4.4)
    axes.stairs(
        peer, np.linspace(0, 1, BINS + 1), color=_PEER, lw=1.3, label="Square Wave with EMS, 1,024 bins, as published"
    )
    axes.fill_between(
        _GRID, low, high, color=style.ESTIMATE, alpha=0.22, linewidth=0, label="its 95 % band at each point"
    )
    axes.plot(_GRID, estimate(_GRID), color=style.ESTIMATE, lw=2.2, label="ldpflow's estimate")
    axes.plot(_GRID, law.pdf(_GRID), color=style.TRUTH, lw=1.8, ls=(0, (5, 2.5)), label="the truth")
    axes.set(xlim=(0, 1))
    axes.set_ylim(bottom=0)
    told = f"law: {LAW}  ·  {CLIENTS:,} simulated clients  ·  epsilon {EPSILON}  ·  seed {SEED}  ·  "
    told += "both methods at their defaults"
    style.dress(axes, title="One density from reports that each hide their person", subtitle=told)
    style.label(axes, x="value", y="density")
    handles, names = axes.get_legend_handles_labels()
    order = [names.index(name) for name in ("the truth", "ldpflow's estimate", "its 95 % band at each point")]
    order.append(next(i for i in range(len(names)) if i not in order))
    style.place_below(axes, [handles[i] for i in order], [names[i] for i in order], columns=2)
    return figure


def unmixing() -> Figure:
    """Categories: what people are, what their reports say, and what is estimated from these."""
    categories, shares, n = ["excellent", "good", "fair", "poor"], np.array([0.546, 0.362, 0.077, 0.015]), 20_190
    scheme = dp.Scheme.from_toml(
        f'name = "h"\nclients = {n}\n[attributes.health]\ntype = "categorical"\ncategories = {categories}\nepsilon = 1\n'
    )
    people = pd.DataFrame({"health": np.repeat(categories, np.round(shares * n).astype(int))})
    batch = dp.privatize(scheme, people, random=dp.seeded(SEED))
    reports = np.bincount(batch.of("health").reports.values, minlength=4) / len(people)
    found = dp.estimate(dp.aggregate(scheme, batch), "health")
    figure, panels = style.new_panels(
        3,
        title="Four categories, epsilon 1",
        subtitle=f"{n:,} simulated people with the shares of the health insurance sample, seed {SEED}",
        height=3.6,
        width=3.4,
    )
    values = (shares, reports, np.asarray(found.values))
    errors = (np.zeros(4), np.zeros(4), 196 * np.asarray(found.standard_errors))
    for axes, title, value, error, colour in zip(
        panels,
        ("1. What people are", "2. What reports say", "3. The estimate"),
        values,
        errors,
        (style.TRUTH, style.PREVIOUS, style.ESTIMATE),
        strict=True,
    ):
        axes.bar(categories, 100 * value, color=colour, width=0.65)
        axes.set_ylim(0, 62)
        for place, share in enumerate(100 * value):
            axes.annotate(
                f"{share:.1f} %",
                (place, max(share, 0) + error[place]),
                (0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=9,
            )
        style.dress(axes, title=title)
    panels[2].errorbar(categories, 100 * values[2], yerr=errors[2], fmt="none", ecolor=style.INK, capsize=3)
    return figure


def resolution() -> Figure:
    """The same reports read at three resolutions."""
    law = target(LAW)
    lines = "coarsest_level = 2\ndegree = 1\nfinest_level = 7"
    scheme = _scheme(_MANY, "wavelet_laplace", lines=lines)
    aggregate = dp.simulate(scheme, law, random=dp.seeded(SEED), clients=_MANY)
    chosen = dp.estimate(aggregate, "x").level
    figure, panels = style.new_panels(
        3,
        title="The same reports at three resolutions",
        subtitle=f"law: {LAW}, {_MANY:,} simulated clients, epsilon {EPSILON}, seed {SEED}; dashed: the truth",
        height=3.6,
        width=3.6,
    )
    levels = {"too coarse": 2, "chosen": chosen, "too fine": chosen + 2}
    for axes, (words, level) in zip(panels, levels.items(), strict=True):
        estimate = dp.estimate(aggregate, "x", estimator=dp.Projection(level_rule=dp.Fixed(level)))
        axes.plot(_GRID, estimate(_GRID), color=style.ESTIMATE, lw=2.0)
        axes.plot(_GRID, law.pdf(_GRID), color=style.TRUTH, lw=1.6, ls=(0, (5, 2.5)))
        axes.set(xlim=(0, 1), ylim=(-0.3, 4.5))
        style.dress(axes, title=f"Level {level}: {words}")
    return figure


def precision() -> Figure:
    """How the error of a mean falls with clients, at three epsilons."""
    rows = []
    for epsilon in (0.5, 1, 2):
        for n in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000):
            aggregate = dp.simulate(_scheme(n, epsilon=epsilon), target("beta_2_5"), random=dp.seeded(SEED), clients=n)
            error = dp.estimate(aggregate, "x").functional(dp.functionals.Mean()).standard_error
            rows.append({"curve": f"epsilon {epsilon}", "x": n, "value": error, "error": np.nan, "stated": np.nan})
    figure, axes = style.new_axes(7.2, 4.6)
    told = "The error of a mean of values between 0 and 1"
    plot_curves(pd.DataFrame(rows), axes, x="clients", y="standard error", logarithmic="xy", title=told)
    return figure


PICTURES = {"density": density, "unmixing": unmixing, "resolution": resolution, "precision": precision}


def _scheme(n: int, mechanism: str = "dyadic_wave", epsilon: float = EPSILON, lines: str = "") -> dp.Scheme:
    head = f'name = "picture"\nclients = {n}\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\n'
    return dp.Scheme.from_toml(f'{head}epsilon = {epsilon}\nmechanism = "{mechanism}"\n{lines}\n')


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(style.svg(draw()), encoding="utf-8")
        print(f"wrote data/guide/pictures/{name}.svg")


if __name__ == "__main__":
    main()
