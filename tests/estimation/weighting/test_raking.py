"""Weights from known totals by label: against a slow reference of another kind, and one clear line where there are none."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.weighting.raking import Margins, rake

LABELS = {
    "region": SimpleNamespace(categories=("north", "middle", "south")),
    "sex": SimpleNamespace(categories=("female", "male")),
    "age": SimpleNamespace(categories=("young", "old")),
}
SHAPE = (3, 2, 2)
COUNTS = np.array([3, 90, 41, 7, 300, 12, 55, 80, 9, 210, 31, 2])
REGION = [("region", "north", 50.0), ("region", "middle", 30.0), ("region", "south", 20.0)]
SEX = [("sex", "female", 51.0), ("sex", "male", 49.0)]
AGE = [("age", "young", 40.0), ("age", "old", 60.0)]


def margins(*rows: tuple[str, str, float]) -> Margins:
    return Margins.from_rows(rows, LABELS)


def shares(weights: np.ndarray, counts: np.ndarray, *axes: int) -> np.ndarray:
    """The weighted shares of the reports by the labels on these axes."""
    table = (weights * counts).reshape(SHAPE)
    return table.sum(axis=tuple(axis for axis in range(3) if axis not in axes)) / table.sum()


def slowly_raked(counts: np.ndarray, wanted: dict[tuple[int, ...], np.ndarray]) -> np.ndarray:
    """Weights exp(a_i + b_j + ...) with the wanted shares: Newton's method on the sum of exponentials, cell by cell."""
    cells = list(product(*map(range, SHAPE)))
    columns, targets = [], []
    for axes, table in wanted.items():
        for place in np.ndindex(table.shape):
            columns.append([float(tuple(cell[axis] for axis in axes) == place) for cell in cells])
            targets.append(table[place] * counts.sum())
    X, t, free = np.array(columns).T, np.array(targets), np.zeros(len(columns))

    def left(at: np.ndarray) -> float:
        return float(np.exp(X @ at) @ counts - t @ at)

    for _ in range(200):
        fitted = counts * np.exp(X @ free)
        step = np.linalg.lstsq((X.T * fitted) @ X, t - X.T @ fitted, rcond=1e-12)[0]
        while left(free + step) > left(free) + 1e-9 and np.abs(step).max() > 1e-14:
            step = step / 2
        free = free + step
    return np.exp(X @ free)


@settings(max_examples=20, deadline=None)
@given(
    counts=st.lists(st.integers(1, 500), min_size=12, max_size=12),
    region=st.lists(st.floats(0.05, 1), min_size=3, max_size=3),
    rest=st.lists(st.floats(0.05, 1), min_size=4, max_size=4),
    together=st.booleans(),
)
def test_raked_weights_are_those_of_a_slow_reference(
    counts: list[int], region: list[float], rest: list[float], together: bool
) -> None:
    """To 1e-9, with margins one by one and with one of two labels."""
    first, other = np.array(region) / sum(region), np.array(rest) / sum(rest)
    rows = [("region", name, 1000 * share) for name, share in zip(LABELS["region"].categories, first, strict=True)]
    wanted = {(0,): first}
    if together:
        pairs = product(
            LABELS["age"].categories, LABELS["sex"].categories
        )  # as rows may have it, not as the scheme has
        rows += [("age*sex", f"{age}*{sex}", share) for (age, sex), share in zip(pairs, 1000 * other, strict=True)]
        wanted[1, 2] = other.reshape(2, 2).T
    else:
        half = other[:2] / other[:2].sum()
        rows += [("sex", name, 1000 * share) for name, share in zip(LABELS["sex"].categories, half, strict=True)]
        wanted[1,] = half
    found = rake(np.array(counts), margins(*rows))
    np.testing.assert_allclose(found.values, slowly_raked(np.array(counts), wanted), rtol=1e-9)
    assert found.values @ found.counts == pytest.approx(sum(counts), rel=1e-12)
    for axes, table in wanted.items():
        np.testing.assert_allclose(shares(found.values, np.array(counts), *axes), table, rtol=1e-10)


def test_one_margin_is_post_stratification() -> None:
    """w = n P / n_c, whatever the margin's totals add up to."""
    found = rake(COUNTS, margins(*REGION))
    reports = COUNTS.reshape(3, 4).sum(axis=1)
    expected = COUNTS.sum() * np.array([0.5, 0.3, 0.2]) / reports
    np.testing.assert_allclose(found.values.reshape(3, 4), np.repeat(expected[:, None], 4, axis=1), rtol=1e-12)
    assert found.labels == ("region",)
    cv = np.std(np.repeat(found.values, COUNTS)) / np.mean(np.repeat(found.values, COUNTS))
    assert found.design_effect == pytest.approx(1 + cv**2)
    assert found.effective_n == pytest.approx(COUNTS.sum() / (1 + cv**2))


def test_totals_that_differ_by_rounding_are_shares() -> None:
    """Per cent that add up to 99 stand beside people."""
    people = [("sex", "female", 5100.0), ("sex", "male", 4900.0)]
    rounded = [("region", "north", 4950.0), ("region", "middle", 2970.0), ("region", "south", 1980.0)]
    np.testing.assert_allclose(
        rake(COUNTS, margins(*rounded, *people)).values, rake(COUNTS, margins(*REGION, *SEX)).values
    )


def test_cells_without_reports_have_no_weight() -> None:
    """Of one margin a category needs a report; a combination does not."""
    counts = COUNTS.copy()
    counts[[0, 7]] = 0
    found = rake(counts, margins(*REGION, *SEX, *AGE))
    assert (found.values[[0, 7]] == 0).all()
    assert (np.delete(found.values, [0, 7]) > 0).all()
    np.testing.assert_allclose(shares(found.values, counts, 2), [0.4, 0.6], rtol=1e-10)


NOBODY = [("region", "north", 1), ("region", "middle", 1), ("region", "south", 0)]
WRONG = {
    "none": ([], "need a row (label, category, total)"),
    "twice": ([*SEX, SEX[0]], "sex=female twice"),
    "below": ([("sex", "female", -1.0), SEX[1]], "total of sex=female must be a number of at least 0, got -1.0"),
    "no number": ([("sex", "female", float("nan")), SEX[1]], "got nan"),
    "no label": ([("town", "x", 1.0)], "the scheme's labels, got 'town'; it has region, sex, age"),
    "no category": ([*SEX, ("sex", "other", 1.0)], "sex has no category 'other'; the scheme has female, male"),
    "absent": (REGION[:2], "margins of region lack south; write 0"),
    "absent together": ([("sex*age", "male*old", 1.0)], "lack female*young, female*old, male*young"),
    "itself": ([("sex*sex", "male*male", 1.0)], "names each label once, got sex*sex"),
    "in two": (
        [*SEX, *((("sex*age"), f"{s}*{a}", 1.0) for s in ("male", "female") for a in ("old", "young"))],
        "sex is in two margins",
    ),
    "empty": ([("sex", "female", 0.0), ("sex", "male", 0.0)], "give at least one above 0"),
    "contradiction": (
        [*REGION, ("sex", "female", 500.0), ("sex", "male", 511.0)],
        "sex adds up to 1,011 and region to 100",
    ),
}


def test_margins_that_cannot_be_are_refused_in_one_line(subtests: pytest.Subtests) -> None:
    for case in WRONG:
        with subtests.test(case=case):
            rows, line = WRONG[case]
            with pytest.raises(SchemeError) as error:
                margins(*rows)
            assert line in str(error.value)
            assert "\n" not in str(error.value)


def without(*cells: int) -> np.ndarray:
    counts = COUNTS.copy()
    counts[list(cells)] = 0
    return counts


IMPOSSIBLE = {
    "nobody answered": (np.zeros(12, dtype=int), REGION, "no report to weight"),
    "an empty category": (without(0, 1, 2, 3), REGION, "no report is of region=north, which is 0.5 of the population"),
    "of two labels": (
        without(0),
        [("region*sex*age", "*".join(c), 1.0) for c in product(*(each.categories for each in LABELS.values()))],
        "no report is of region*sex*age=north*female*young",
    ),
    "nobody there": (COUNTS, NOBODY, "reports are of region=south, whose total in the margins is 0"),
    # All of the north are women, of whom the population has fewer than it has northerners
    "no way": (
        without(2, 3),
        [*REGION, ("sex", "female", 40.0), ("sex", "male", 60.0)],
        "2 combinations of labels without a report; leave a margin out",
    ),
}


def test_reports_that_no_weights_fit_are_refused_in_one_line(subtests: pytest.Subtests) -> None:
    for case in IMPOSSIBLE:
        with subtests.test(case=case):
            counts, rows, line = IMPOSSIBLE[case]
            with pytest.raises(NotEstimable) as error:
                rake(counts, margins(*rows))
            assert line in str(error.value)
            assert "\n" not in str(error.value)
