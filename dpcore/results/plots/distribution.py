"""The distribution function of a numeric attribute with simultaneous bands, if the scheme asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpcore.estimation.functional_estimate import REPEATED
from dpcore.results.plots import style
from dpcore.results.plots.picture_kind import Kind, with_simultaneous_bands
from dpcore.results.text.phrases import title_of


def plot_distribution(frame: pd.DataFrame, axes: Axes, *, unit: str = "") -> Axes:
    """Draw a distribution function with its pointwise and simultaneous bands, and return the Axes.

    frame: rows of `densities` of one attribute, estimator and group: x in the attribute's unit, cdf, cdf_low and cdf_high, and
    ESTIMATOR_cdf_low and ESTIMATOR_cdf_high of simultaneous bands.  unit: of the attribute.
    Raises ValueError if rows or columns are missing, or for several attributes.
    """
    style.need(frame, ("x", "cdf", "cdf_low", "cdf_high"))
    frame = frame.sort_values("x")
    ends = (100 * frame["cdf_low"], 100 * frame["cdf_high"])
    axes.fill_between(
        frame["x"], *ends, color=style.ESTIMATE, alpha=0.2, linewidth=0, label=style.share_of(frame, "band")
    )
    for estimator in REPEATED:
        style.outline(axes, frame, estimator, ("cdf_low", "cdf_high"), 100)
    axes.plot(frame["x"], 100 * frame["cdf"], color=style.ESTIMATE, linewidth=2.2, label="estimate")
    axes.set_xlim(frame["x"].iloc[0], frame["x"].iloc[-1])
    axes.set_ylim(0, 100)
    attribute = title_of(style.only(frame, "attribute")) or "x"
    style.separate_thousands(axes, "x", unit=unit)
    style.label(axes, x=style.with_unit(attribute, unit), y="percent of clients at or below")
    style.dress(axes, title=f"Distribution of {attribute}", subtitle=style.about(frame, interval="pointwise band"))
    style.legend(axes)
    return axes


def _with_bands(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows for all clients without the density, if there is a simultaneous band."""
    if len(rows) and rows["estimator"].isin(REPEATED).any():
        for part, own in with_simultaneous_bands(rows):
            yield part, own.drop(columns=["density", "truth", "before"], errors="ignore")


def _draw(rows: pd.DataFrame, numbers: pd.DataFrame, unit: str) -> Figure:
    figure, axes = style.new_axes()
    plot_distribution(rows, axes, unit=unit)
    return figure


CURVE = Kind(
    table="densities",
    draw=_draw,
    name="{attribute}_distribution",
    parts=_with_bands,
    shows="Estimated distribution function of {attribute} with simultaneous bands",
    query="density",
)
