"""Pictures: what is drawn is what the rows say, labels carry units, and nothing global is touched."""

import threading

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from dpcore.protocol.domain import dates
from dpcore.results.pages.query import queries
from dpcore.results.plots import (
    PICTURES,
    attribute_pictures,
    height_for,
    new_axes,
    plot_comparison,
    plot_density,
    plot_frequency,
    plot_functional,
    plot_groups,
    plot_law,
    png,
    style,
    svg,
)
from dpcore.results.plots.density import CURVE
from dpcore.results.plots.picture_kind import everyone, with_simultaneous_bands
from dpcore.results.plots.truth import beside_truth
from dpcore.results.warehouse.views import RESULTS

X = np.linspace(0, 250_000, 51)
PDF = 6 * (X / 250_000) * (1 - X / 250_000) / 250_000


def density(**changes):
    values = {
        "attribute": "income",
        "estimator": "projection",
        "given": "",
        "x": X,
        "density": PDF,
        "low": np.clip(PDF - 1e-6, 0, None),
        "high": PDF + 1e-6,
        "confidence": 0.95,
    }
    return pd.DataFrame(values | changes)


def frequency(**changes):
    values = {
        "attribute": "urban_rural",
        "estimator": "frequency",
        "given": "",
        "category": ["urban", "rural"],
        "estimate": [0.78, 0.22],
        "low": [0.77, 0.21],
        "high": [0.79, 0.23],
        "confidence": 0.9,
    }
    return pd.DataFrame(values | changes)


def functional(**changes):
    values = {
        "attribute": "income",
        "estimator": "projection",
        "given": "",
        "functional": ["mean", "quantile(0.5)", "entropy"],
        "estimate": [61_234.5, 52_000.0, np.nan],
        "plug_in": [61_234.5, 52_000.0, 10.0],
        "low": [60_800.0, 51_300.0, np.nan],
        "high": [61_669.0, 52_700.0, np.nan],
        "confidence": 0.95,
        "reason": [None, None, "too few reports; ten times as many would do"],
    }
    return pd.DataFrame(values | changes)


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def line(axes, name):
    (found,) = [line for line in axes.get_lines() if line.get_label() == name]
    return found


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_a_density_is_drawn_in_percent_per_round_width():
    figure, axes = new_axes()
    frame = density(truth=PDF, before=PDF / 2).iloc[::-1]
    assert plot_density(frame, axes, unit="USD") is axes
    assert legend(axes) == ["estimate", "95 % band", "true density", "previous round"]
    np.testing.assert_allclose(line(axes, "estimate").get_ydata(), 100 * 10_000 * PDF)
    np.testing.assert_allclose(line(axes, "true density").get_ydata(), 100 * 10_000 * PDF)  # sorted by x
    np.testing.assert_allclose(line(axes, "previous round").get_ydata(), 50 * 10_000 * PDF)
    assert line(axes, "true density").get_linestyle() == "--"
    assert axes.get_xlabel() == "income (USD)"
    assert axes.get_ylabel() == "percent of clients per 10,000 USD"
    assert axes.get_title(loc="left") == "Density of income"
    assert axes.get_xlim() == (0, 250_000)
    png(figure)
    assert "200,000" in [label.get_text() for label in axes.get_xticklabels()]


def test_the_band_is_what_the_rows_say():
    _, axes = new_axes()
    plot_density(density(), axes)
    (band,) = axes.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx(100 * 10_000 * (PDF.max() + 1e-6))
    assert legend(axes) == ["estimate", "95 % band"]


def test_the_density_axis_starts_at_zero_unless_the_estimate_does_not():
    _, axes = new_axes()
    plot_density(density(), axes)
    assert axes.get_ylim()[0] == 0
    _, axes = new_axes()
    plot_density(density(density=PDF - 1e-6, low=np.nan, high=np.nan), axes)
    assert axes.get_ylim()[0] < 100 * 10_000 * -1e-6


def atoms(**changes):
    values = {
        "functional": ["atom(0)", "atom(250000)"],
        "estimate": [np.nan, 0.0412],
        "plug_in": [0.02, 0.04],
        "low": [np.nan, 0.0391],
        "high": [np.nan, 0.0433],
    }
    return pd.DataFrame(values | changes)


def test_an_atom_is_a_bar_beyond_its_bound_with_the_area_of_its_share():
    figure, axes = new_axes()
    plot_density(density(), axes, atoms=atoms(truth=[np.nan, 0.042]))
    left, right = axes.patches
    assert left.get_x() + left.get_width() < 0 < 250_000 < right.get_x()
    for bar, share in ((left, 0.02), (right, 0.0412)):
        assert bar.get_height() / 100 / 10_000 * bar.get_width() == pytest.approx(share)
    assert {"2.000 %", "4.12 %\n3.91 to 4.33"} <= set(texts(axes))
    ((start, _),) = [c.get_paths()[0].vertices for c in axes.collections if len(c.get_paths()[0].vertices) == 2]
    assert start[1] * right.get_width() / 100 / 10_000 == pytest.approx(0.042)
    assert axes.get_xlim() == (-25_000, 275_000)
    png(figure)


def test_an_atom_that_would_dwarf_the_density_is_cut_off_and_says_so():
    _, axes = new_axes()
    plot_density(density(), axes, atoms=atoms(estimate=[np.nan, 0.6], low=[np.nan, 0.5], high=[np.nan, 0.7]))
    right = axes.patches[1]
    assert right.get_height() / 100 / 10_000 * right.get_width() < 0.3
    assert axes.get_ylim()[1] < 3 * 100 * 10_000 * PDF.max()
    assert "60 %\n50 to 70" in texts(axes)
    (mark,) = [line for line in axes.get_lines() if "approx" in str(line.get_marker())]
    assert mark.get_xdata()[0] > 250_000


def test_shuffled_rows_make_the_same_picture():
    pictures = []
    for frame in (density(), density().sample(frac=1, random_state=1)):
        figure, axes = new_axes()
        plot_density(frame, axes)
        pictures.append(png(figure))
    assert pictures[0] == pictures[1]


def test_frequencies_are_bars_from_zero_with_interval_and_truth():
    _, axes = new_axes(height=height_for(2))
    plot_frequency(frequency(truth=[0.8, 0.2], before=[0.7, 0.3]), axes)
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([78, 22])
    assert {bar.get_x() for bar in axes.patches} == {0}
    intervals, previous, truths = (
        [segment[:, 0].tolist() for segment in lines.get_segments()] for lines in axes.collections
    )
    np.testing.assert_allclose(intervals, [[77, 79], [21, 23]])
    np.testing.assert_allclose(previous, [[70, 70], [30, 30]])
    np.testing.assert_allclose(truths, [[80, 80], [20, 20]])
    assert texts(axes)[:2] == ["78.0 %", "22.0 %"]
    assert legend(axes) == ["estimate", "90 % interval", "true value", "previous round"]
    assert axes.get_title(loc="left") == "Proportions of urban rural"
    assert axes.get_xlim()[0] == 0


def test_a_functional_row_is_measured_by_its_own_interval():
    _, axes = new_axes(height=height_for(3))
    plot_functional(functional(truth=[61_669.0, 90_000.0, np.nan]), axes, unit="USD")
    assert line(axes, "true value").get_xdata() == pytest.approx(
        [1], abs=2e-3
    )  # on the upper end of the mean's interval
    arrows = [found for found in axes.get_lines() if found.get_marker() == ">" and len(found.get_xdata())]
    assert [found.get_ydata().tolist() for found in arrows] == [[1]]  # the median's truth lies far outside
    assert line(axes, "estimate").get_ydata().tolist() == [0, 1]
    written = texts(axes)
    assert "61,230 USD" in written
    assert "60,800 to 61,670" in written
    assert "no estimate" in written
    assert any("too few reports" in text for text in written)


def test_an_estimate_without_a_finite_interval_keeps_its_number():
    _, axes = new_axes()
    plot_functional(functional(low=[60_800.0, -np.inf, np.nan], high=[61_669.0, np.inf, np.nan]), axes)
    assert line(axes, "estimate").get_ydata().tolist() == [0]
    assert {"52,000", "no interval", "no estimate"} <= set(texts(axes))


@pytest.mark.parametrize(
    ("plot", "frame"), [(plot_density, density), (plot_frequency, frequency), (plot_functional, functional)]
)
def test_rows_that_make_no_picture_are_refused(plot, frame):
    for bad in (frame().iloc[:0], frame().drop(columns="low"), frame(attribute=["a", *["b"] * (len(frame()) - 1)])):
        with pytest.raises(ValueError, match=r"no rows|needs the columns low|one attribute"):
            plot(bad, new_axes()[1])


@pytest.mark.parametrize(
    ("plot", "frame"),
    [
        (plot_density, density),
        pytest.param(plot_frequency, frequency, marks=pytest.mark.slow),
        pytest.param(plot_functional, functional, marks=pytest.mark.slow),
    ],
)
def test_a_picture_is_a_png_the_same_twice_even_in_threads_and_changes_nothing_global(plot, frame):
    before = dict(mpl.rcParams)
    pictures = []

    def draw():
        figure, axes = new_axes()
        plot(frame(), axes)
        pictures.append(png(figure))

    draw()
    threads = [threading.Thread(target=draw) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pictures) == 3
    assert len(set(pictures)) == 1
    assert pictures[0].startswith(b"\x89PNG")
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("plot", "frame"),
    [
        pytest.param(plot_density, density, marks=pytest.mark.slow),
        (plot_frequency, frequency),
        pytest.param(plot_functional, functional, marks=pytest.mark.slow),
    ],
)
def test_a_picture_is_the_same_svg_twice_and_needs_no_font(plot, frame):
    pictures = []
    for _ in range(2):
        figure, axes = new_axes()
        plot(frame(), axes)
        pictures.append(svg(figure))
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith("<?xml")
    assert "<text" not in pictures[0]


def test_groups_are_drawn_together_each_with_its_own_truth():
    rural = density(given="home=rural", density=PDF / 2, truth=PDF / 3)
    frame = pd.concat([density(given="home=urban"), rural], ignore_index=True)
    figure, axes = new_axes()
    assert plot_groups(frame, axes, unit="USD") is axes
    assert sorted(legend(axes)) == ["rural", "rural, true", "urban"]
    np.testing.assert_allclose(line(axes, "rural").get_ydata(), 50 * 10_000 * PDF)
    np.testing.assert_allclose(line(axes, "rural, true").get_ydata(), 100 / 3 * 10_000 * PDF)
    assert axes.get_title(loc="left") == "Density of income by home"
    assert png(figure)[:4] == b"\x89PNG"
    with pytest.raises(ValueError, match="up to 6 groups of one attribute"):
        plot_groups(pd.concat([frame, density(given="race=asian")]), axes)


def test_a_band_far_above_every_curve_leaves_the_picture_to_the_curves():
    wide = pd.concat([density(given="home=urban"), density(given="home=rural", high=PDF + 9e-5)], ignore_index=True)
    for plot, frame in ((plot_groups, wide), (plot_density, density(high=PDF + 9e-5))):
        _, axes = new_axes()
        plot(frame, axes)
        highest = 100 * 10_000 * PDF.max()
        assert 1.05 * highest < axes.get_ylim()[1] <= 2.0001 * highest
        band = max(path.vertices[:, 1].max() for part in axes.collections for path in part.get_paths())
        assert band > 10 * highest  # it is drawn as it is
    _, axes = new_axes()
    plot_density(density(), axes)
    assert axes.get_ylim()[1] < 1.3 * highest


def test_every_kind_of_picture_is_of_a_tables_rows_under_names_of_its_own():
    assert len({(kind.table, kind.name) for kind in PICTURES}) == len(PICTURES)
    for kind in PICTURES:
        assert kind.table in RESULTS
        assert ("{part}" in kind.name) == (kind.parts not in (everyone, with_simultaneous_bands, CURVE.parts))
        assert "{attribute}" in kind.name
        assert bool(kind.shows) >= bool(kind.query)
        assert not kind.query or kind.query in queries()
        assert list(kind.parts(pd.DataFrame({"given": pd.Series(dtype=str)}))) == []


@pytest.mark.slow
def test_an_attribute_with_groups_has_pictures_of_everyone_and_of_each_group():
    everyone = {"densities": density(), "functionals": functional()}
    groups = {
        "densities": pd.concat([density(), density(given="home=urban")]),
        "functionals": pd.concat([functional(), functional(given="home=far away")]),
        "truths": pd.DataFrame(
            {"attribute": "income", "given": ["home=urban", ""], "quantity": "density", "x": 1.0, "value": 1e-6}
        ),
    }
    alone, found = attribute_pictures("income", everyone, "USD"), attribute_pictures("income", groups, "USD")
    assert set(alone) == {"income", "income_numbers"}
    assert set(found) == {*alone, "income_by_home", "income_numbers_of_home_far_away"}
    assert found["income_numbers"] == alone["income_numbers"]


def differences(**changes):
    values = {
        "attribute": "income",
        "other_run_id": "b" * 16,
        "given": "",
        "other_given": "",
        "functional": ["mean", "cdf(50000)", "quantile(0.5)", "entropy"],
        "difference": [-9000.0, 0.05, 400.0, np.nan],
        "standard_error": [1000.0, 0.02, 500.0, np.nan],
        "confidence": 0.95,
        "low": [-10_960.0, 0.0108, -580.0, np.nan],
        "high": [-7040.0, 0.0892, 1380.0, np.nan],
        "deviations": [9.0, 2.5, 0.8, np.nan],
        "threshold": [3.0, 3.0, 3.0, np.nan],
        "differs": [True, False, False, None],
        "reason": [None, None, None, "this round: too noisy; more reports would do"],
    }
    return pd.DataFrame(values | changes)


def test_a_difference_is_drawn_in_standard_errors_around_zero_with_both_its_intervals():
    figure, axes = new_axes(height=height_for(4))
    assert plot_comparison(differences(truth=[-8000.0, 0.0, 0.0, 0.1]), axes, unit="USD") is axes
    dots = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in dots] == pytest.approx([-9, 2.5, 0.8])
    assert [line.get_markerfacecolor() == "white" for line in dots] == [False, True, False]  # perhaps is hollow
    ends = [lines.get_segments()[0][:, 0].tolist() for lines in axes.collections]
    np.testing.assert_allclose(ends[1], [-10.96, -7.04])
    np.testing.assert_allclose(ends[0], [-9 - 3.0, -9 + 3.0], rtol=1e-3)  # 1.96 of its own, 3 with all rows at once
    assert axes.get_xlim()[0] < -12
    assert axes.get_xlim()[1] > 5.5
    assert line(axes, "true value").get_xdata() == pytest.approx([-8, 0, 0])
    written = texts(axes)
    assert {"−9,000 USD", "+5.0 % points", "+400 USD", "no difference"} <= set(written)
    assert any("too noisy" in text for text in written)
    assert legend(axes) == ["significant", "perhaps: by its own interval only", "not significant", "true value"]
    assert axes.get_xlabel() == "difference, in its standard errors"
    assert png(figure)[:4] == b"\x89PNG"


def test_differences_of_shares_are_drawn_in_percentage_points():
    frame = differences(functional=[f"frequency({name})" for name in "abcd"], difference=[0.08, 0.05, -0.01, 0.0])
    _, axes = new_axes()
    plot_comparison(frame.iloc[:1], axes)
    (dot,) = [found for found in axes.get_lines() if found.get_marker() == "o"]
    assert float(dot.get_xdata()[0]) == pytest.approx(8)
    assert axes.get_xlabel() == "difference, in percentage points"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a"]


def test_differences_that_make_no_picture_are_refused_and_refused_ones_alone_are_drawn():
    for bad in (differences().iloc[:0], differences().drop(columns="threshold"), differences(attribute=list("aabb"))):
        with pytest.raises(ValueError, match=r"no rows|needs the columns threshold|one attribute"):
            plot_comparison(bad, new_axes()[1])
    with pytest.raises(ValueError, match="up to 30 differences, the frame holds 32"):
        plot_comparison(pd.concat([differences()] * 8), new_axes()[1])
    figure, axes = new_axes()
    plot_comparison(differences().iloc[3:], axes)
    assert "no difference" in texts(axes)
    assert png(figure)[:4] == b"\x89PNG"


@pytest.mark.slow
def test_changes_of_everyone_of_groups_and_between_groups_are_pictures_of_their_own():
    of_groups = differences(given="home=urban", other_given="home=urban")
    between = differences(given="home=urban", other_given="home=rural", other_run_id="a" * 16)
    shares = pd.concat([differences(functional=f"frequency({i})").iloc[:1] for i in range(40)])
    tables = {"comparisons": pd.concat([differences(), of_groups, between, shares], ignore_index=True)}
    found = attribute_pictures("income", tables, "USD", run_id="a" * 16)
    assert set(found) == {
        "income_changes",
        "income_changes_numbers",
        "income_changes_by_home",
        "income_between_home",
    }
    assert set(attribute_pictures("income", {"comparisons": differences()})) == {"income_changes"}
    assert attribute_pictures("race", tables) == {}


def test_what_is_true_stands_beside_each_kind_of_row():
    truths = pd.DataFrame(
        [
            ("", "density", 1.0, 0.3),
            ("", "frequency(a)", None, 0.4),
            ("", "mean", None, 5.0),
            ("g=a", "mean", None, 7.0),
        ],
        columns=["given", "quantity", "x", "value"],
    )
    assert beside_truth(pd.DataFrame({"given": [""], "x": [1.0]}), truths)["truth"].tolist() == [0.3]
    assert beside_truth(pd.DataFrame({"given": [""], "category": ["a"]}), truths)["truth"].tolist() == [0.4]
    numbers = pd.DataFrame({"given": ["g=a", ""], "functional": ["mean", "mean"]})
    assert beside_truth(numbers, truths)["truth"].tolist() == [7.0, 5.0]
    assert beside_truth(numbers.assign(other_given=["", "g=a"]), truths)["truth"].tolist() == [2.0, -2.0]
    others = pd.DataFrame({"given": [""], "level": [3]})
    assert beside_truth(others, truths) is others


def test_a_law_names_its_few_values_and_shows_a_bar_for_each_and_the_round_before_dotted():
    _, axes = new_axes()
    plot_law(frequency(category=["0", "1"], estimator="log_linear", before=[0.7, 0.3]), axes)
    assert axes.get_xticks().tolist() == [0, 1]
    (before,) = [drawn for drawn in axes.collections if drawn.get_label() == "previous round"]
    assert before.get_linestyle()[0][1] is not None  # dashes: the page says "dotted"
    _, axes = new_axes()
    plot_law(frequency(category=["0", "0.001", "1000000"], estimate=[0.3] * 3, low=[0.2] * 3, high=[0.5] * 3), axes)
    assert min(bar.get_width() for bar in axes.patches) > 1000


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("days", [0.15, 1.0, 3.0, 3.5, 3.99, 30.0, 120.0, 1300.0, 1400.0, 1460.0, 10_000.0])
def test_every_range_of_dates_has_ticks(days: float) -> None:
    """Matplotlib warns, which is an error here, where no step of its own gives few enough ticks."""
    figure, axes = style.new_axes()
    axes.plot([20_000.3, 20_000.3 + days], [0, 1])
    style.separate_thousands(axes, "x", "y", unit=dates.DAYS)
    figure.canvas.draw()
    assert 3 <= len(axes.get_xticks()) <= 8
