"""Populations: the truth is a law, the laws are the people's, and nobody depends on who asks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from dpcore._random import secure, seeded
from dpcore.errors import SchemeError
from dpcore.populations import (
    BLOCK,
    NAMES,
    Beta,
    CategoricalLaw,
    NumericLaw,
    PointsLaw,
    Population,
    by_scheme,
    consumer_expenditure,
)

PEOPLE = consumer_expenditure()
NUMERIC = ("income", "expenditure")
GIVENS = (None, "urban", "rural", "race=asian")
BETA = NumericLaw(0.0, 1.0, ((1.0, Beta(3, 4)),))


def two_groups(**laws: object) -> Population:
    return Population(name="toy", group="side", weights={"left": 0.25, "right": 0.75}, laws=laws)  # type: ignore[arg-type]


def integral(law: NumericLaw, of: object = None) -> float:
    """Gauss-Legendre of pdf (times a function) over the law's own pieces."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    low, high = law.breakpoints[:-1, None], law.breakpoints[1:, None]
    x = (low + high) / 2 + (high - low) / 2 * nodes
    values = law.pdf(x) * (1.0 if of is None else of(x))  # type: ignore[operator]
    return float(np.sum(values * weights * (high - low) / 2))


def test_truth_integrates_to_one_and_quantiles_invert(subtests: pytest.Subtests) -> None:
    for attribute in NUMERIC:
        for given in GIVENS:
            with subtests.test(attribute=attribute, given=given):
                law = PEOPLE.truth(attribute, given)
                assert integral(law) == pytest.approx(1, abs=1e-12)
                t = np.concatenate([[1e-9, 1 - 1e-9], np.linspace(0.001, 0.999, 97)])
                np.testing.assert_allclose(law.cdf(law.quantile(t)), t, atol=1e-12)
                assert law.quantile(0.0) == law.lower
                assert law.cdf(law.lower) == 0
                assert law.cdf(law.upper) == 1
                assert np.all(law.pdf([law.lower - 1, law.upper + 1]) == 0)


def test_derivatives_are_those_of_the_density(subtests: pytest.Subtests) -> None:
    for attribute in NUMERIC:
        for order in [1, 2, 3]:
            with subtests.test(attribute=attribute, order=order):
                law = PEOPLE.truth(attribute)
                x = np.linspace(law.lower, law.upper, 203)[1:-1]
                step = (law.upper - law.lower) * 1e-5
                below = law.derivative(order - 1)
                numeric = (below(x + step) - below(x - step)) / (2 * step)
                exact = law.derivative(order)(x)
                np.testing.assert_allclose(exact, numeric, atol=1e-6 * np.abs(exact).max())


def test_density_and_slope_vanish_at_the_bounds() -> None:
    for attribute in NUMERIC:
        law = PEOPLE.truth(attribute)
        ends = np.array([law.lower, law.upper])
        assert np.all(law.pdf(ends) == 0)
        assert np.all(law.derivative(1)(ends) == 0)


def test_everybody_is_the_mixture_of_the_groups() -> None:
    x = np.linspace(0, 250_000, 101)
    mixed = 0.78 * PEOPLE.truth("income", "urban").pdf(x) + 0.22 * PEOPLE.truth("income", "rural").pdf(x)
    np.testing.assert_allclose(PEOPLE.truth("income").pdf(x), mixed, rtol=1e-12)
    urban, rural = (integral(PEOPLE.truth("income", group), lambda x: x) for group in ("urban", "rural"))
    assert urban == pytest.approx(250_000 * (0.55 * 3 / 15 + 0.35 * 4 / 12 + 0.10 * 8 / 14), rel=1e-12)
    assert urban - rural > 15_000  # the groups must differ visibly, or `given` has nothing to show


def test_given_another_category_is_bayes() -> None:
    asian_urban, asian_rural = 0.78 * 0.060, 0.22 * 0.010
    share = asian_urban / (asian_urban + asian_rural)
    assert PEOPLE.probabilities("urban_rural", ["urban", "rural"], "race=asian")[0] == pytest.approx(share)
    categories = PEOPLE.laws["race"]["urban"].categories  # type: ignore[union-attr]
    assert PEOPLE.probabilities("race", categories, "urban")[3] == pytest.approx(0.060)
    np.testing.assert_allclose(PEOPLE.probabilities("race", categories)[3], asian_urban + asian_rural)
    np.testing.assert_array_equal(PEOPLE.probabilities("race", categories, "race=asian"), [0, 0, 0, 1, 0, 0])
    with pytest.raises(SchemeError, match="name another category"):
        PEOPLE.probabilities("race", categories, "race=martian")


def test_cell_probabilities_are_the_mass_of_the_density(subtests: pytest.Subtests) -> None:
    for given in GIVENS:
        for cells in [1, 7, 4096]:
            with subtests.test(given=given, cells=cells):
                found = PEOPLE.cell_probabilities("income", 0, 250_000, cells, given)
                assert found.shape == (cells,)
                assert np.all(found >= 0)
                assert found.sum() == pytest.approx(1, abs=1e-12)
                nodes, weights = np.polynomial.legendre.leggauss(20)
                width = 250_000 / cells
                x = (np.arange(cells)[:, None] + (1 + nodes) / 2) * width
                np.testing.assert_allclose(
                    found, PEOPLE.truth("income", given).pdf(x) @ weights * width / 2, atol=1e-13
                )


def test_cell_probabilities_put_what_is_outside_in_the_end_cells() -> None:
    law = PEOPLE.truth("income")
    found = PEOPLE.cell_probabilities("income", 50_000, 100_000, 5)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert found[0] == pytest.approx(float(law.cdf(60_000)))
    assert found[-1] == pytest.approx(1 - float(law.cdf(90_000)))


def test_probabilities_follow_the_order_asked_and_know_missing() -> None:
    found = PEOPLE.probabilities("urban_rural", ["rural", "missing", "urban"])
    np.testing.assert_allclose(found, [0.22, 0, 0.78])
    with pytest.raises(SchemeError, match=r"'rural'.*categories are 'urban'"):
        PEOPLE.probabilities("urban_rural", ["urban"])


def test_blocks_do_not_depend_on_who_asks_or_in_what_order() -> None:
    forward, backward = seeded(5), seeded(5)
    first = {block: PEOPLE.records_block(block, 500, forward) for block in (0, 1, 2)}
    backward.words(17)
    second = {block: PEOPLE.records_block(block, 500, backward) for block in (2, 0, 1)}
    for block, columns in first.items():
        for name, column in columns.items():
            np.testing.assert_array_equal(column, second[block][name])
    assert not np.array_equal(first[0]["income"], first[1]["income"])
    other = PEOPLE.records_block(0, 500, seeded(6))
    assert not np.array_equal(first[0]["income"], other["income"])


def test_records_are_columns_of_every_attribute() -> None:
    columns = PEOPLE.records(1000, secure())
    assert tuple(columns) == PEOPLE.attributes == ("urban_rural", "race", "kids_count", "income", "expenditure")
    assert {len(column) for column in columns.values()} == {1000}
    assert columns["income"].dtype == np.float64
    assert set(columns["urban_rural"]) == {"urban", "rural"}
    assert all(column.size == 0 for column in PEOPLE.records(0, seeded(1)).values())
    assert BLOCK == 65_536


def test_scipys_distributions_are_components() -> None:
    law = NumericLaw(0.0, 10.0, ((0.5, scipy.stats.uniform(2, 3)), (0.5, scipy.stats.truncnorm(-2, 2, loc=6, scale=1))))
    assert integral(law) == pytest.approx(1, abs=1e-3)
    assert {2.0, 5.0, 4.0, 8.0} <= set(law.breakpoints)
    drawn = law.draw(1000, np.random.default_rng(1))
    assert drawn.min() > 2
    assert drawn.max() < 8
    with pytest.raises(SchemeError, match="without derivatives"):
        law.derivative(1)


def test_registry_knows_who_answers_what() -> None:
    assert NAMES == ("consumer_expenditure",)
    for name in NAMES:
        assert by_scheme(name).name == name
    with pytest.raises(SchemeError, match=r"'health_insurance' has no simulated people.*--records"):
        by_scheme("health_insurance")


def test_what_cannot_be_is_refused(subtests: pytest.Subtests) -> None:
    for call, message in [
        (lambda: PEOPLE.truth("age"), "no attribute 'age'"),
        (lambda: PEOPLE.truth("race"), "categorical"),
        (lambda: PEOPLE.truth("income", "suburban"), "condition must be one of urban, rural"),
        (lambda: PEOPLE.truth("income", "income=3"), "categorical attribute"),
        (lambda: PEOPLE.truth("income").quantile(1.5), "between 0 and 1"),
        (lambda: PEOPLE.probabilities("income", ["a"]), "numeric"),
        (lambda: PEOPLE.cell_probabilities("income", 0, 1, 0), "cells"),
        (lambda: PEOPLE.cell_probabilities("income", 1, 1, 4), "lower below upper"),
        (lambda: PEOPLE.records(-1, seeded(1)), "n must be"),
        (lambda: Beta(0, 1), "Beta needs"),
        (lambda: NumericLaw(0.0, 1.0, ()), "weights"),
        (lambda: NumericLaw(0.0, 1.0, ((0.5, Beta(3, 3)),)), "sum to 1"),
        (lambda: NumericLaw(0.0, 0.5, ((1.0, Beta(3, 3)),)), "outside"),
        (lambda: CategoricalLaw(("a", "a"), (0.5, 0.5)), "all different"),
        (lambda: CategoricalLaw(("a", "b"), (1.5, -0.5)), "between 0 and 1"),
        (lambda: two_groups(x={"left": BETA}), "must name the groups left, right"),
        (lambda: two_groups(side={"left": BETA, "right": BETA}), "group attribute"),
        (
            lambda: two_groups(x={"left": BETA, "right": PointsLaw.from_values([0.5], [1])}),
            "must have one type, and the same categories, in all groups",
        ),
    ]:
        with subtests.test(call=call, message=message), pytest.raises(SchemeError, match=message):
            call()  # type: ignore[operator]
