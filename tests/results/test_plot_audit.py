"""An audit in pictures: bars of what reports show, marks of what is proven and promised, shares guessed by round."""

from __future__ import annotations

import pandas as pd
import pytest

from dpcore.results.plots import new_axes, plot_audit, plot_averaging, svg
from dpcore.results.plots.style import ESTIMATE, TRUTH

BOUNDS = pd.DataFrame(
    {
        "attribute": ["home_town", "income", "pets"],
        "promised": [1.0, 1.0, 2.0],
        "epsilon": [0.99, 1.0, 2.0],
        "lower_bound": [0.95, 1.4, float("nan")],
    }
)
ROUNDS = pd.DataFrame({"round": [1, 2, 3], "right": [0.8, 0.8, 0.8], "fresh": [0.8, 0.9, 0.95]})


def test_a_bar_reaches_to_what_reports_show_and_is_red_beyond_the_promise() -> None:
    figure, axes = new_axes()
    plot_audit(BOUNDS, axes)
    bars = [(bar.get_width(), bar.get_facecolor()) for bar in axes.patches]
    assert [width for width, _ in bars] == [0.95, 1.4]  # of the third nobody has seen reports
    from matplotlib.colors import to_rgba

    assert [colour for _, colour in bars] == [to_rgba(ESTIMATE), to_rgba(TRUTH)]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["home town", "income", "pets"]
    assert axes.get_xlim()[1] > 2
    assert svg(figure).startswith("<?xml")


def test_two_lines_of_shares_by_round() -> None:
    _, axes = new_axes()
    plot_averaging(ROUNDS, axes)
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines if len(line.get_xdata()) == 3}
    assert lines == {"fresh noise every time": [0.8, 0.9, 0.95], "the client": [0.8, 0.8, 0.8]}
    assert list(axes.get_xticks()) == [1, 2, 3]


@pytest.mark.parametrize("plot", [plot_audit, plot_averaging])
def test_rows_that_are_none_are_refused(plot: object) -> None:
    _, axes = new_axes()
    with pytest.raises(ValueError, match="needs the columns"):
        plot(BOUNDS[["attribute"]], axes)  # type: ignore[operator]
    with pytest.raises(ValueError, match="no rows"):
        plot((BOUNDS if plot is plot_audit else ROUNDS)[:0], axes)  # type: ignore[operator]
