"""Categories that are a number's ranges: what a scheme may say of them, and in which range a number lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore import pipeline, populations
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.functionals import Mean
from dpcore.mechanisms.registry import BY_KIND
from dpcore.protocol.revision import revise
from dpcore.protocol.simulation import category_law
from dpcore.results.tables.round_tables import truths
from tests.helpers.statistical import law_agrees

ASKED = '[attributes.a]\ntype = "categorical"\nepsilon = 1\n'
EDGES = "bins = [-1.5, 0.3, 20000]\n"
SILENT = 'missing = "category"\ncodes = { -9 = "missing", "no idea" = "missing" }\n'
NAMES = ("below -1.5", "-1.5 to below 0.3", "0.3 to below 20000", "20000 and above")


def scheme(said: str, more: str = "") -> dp.Scheme:
    return dp.Scheme.from_toml(f'name = "s"\n{ASKED}{said}{more}')


def attribute(said: str, more: str = "") -> Any:
    return scheme(said, more).attributes["a"]


def test_every_mechanism_of_categories_answers_in_which_range_a_number_is(subtests: pytest.Subtests) -> None:
    for silent in ["", SILENT]:
        for name in [*BY_KIND["binned"], "auto"]:
            with subtests.test(silent=silent, name=name):
                read = scheme(EDGES + silent, f'mechanism = "{name}"\nunit = "USD"\nvalues = [-3, 0, 9, 30000.5]\n')
                again = dp.Scheme.from_toml(read.canonical)
                assert again.canonical == read.canonical
                a = again.attributes["a"]
                assert a.categories == NAMES + (("missing",) if silent else ())
                assert a.values == (-3.0, 0.0, 9.0, 30000.5)
                assert a.mechanism.inputs == len(a.categories)
                assert [a.encode([a.value_of(cell)]).tolist() for cell in a.cells] == [[cell] for cell in a.cells]


def test_an_edge_is_in_the_upper_range_as_numbers_are_read() -> None:
    a = attribute(EDGES)
    values = [-1e300, np.nextafter(-1.5, -2), -1.5, "-1.5", 0, 0.3, "0.3", "3e-1", 19999, 20000, " 20000 ", np.inf]
    assert a.encode(values).tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3]
    plain = [-2.0, 0.3, 5.0, 20000.0]
    for column in (np.array(plain), pd.Series(plain), pa.chunked_array([plain]), list(map(str, plain))):
        assert a.encode(column).tolist() == [0, 2, 2, 3]


def test_who_is_silent_has_a_category_of_their_own() -> None:
    a = attribute(EDGES, SILENT)
    assert set(a.encode([None, "", -9, "-9", "-9.0", "no idea", float("nan")]).tolist()) == {4}
    assert a.encode(np.array([-9.0, np.nan, 1.0])).tolist() == [4, 4, 2]


def test_a_code_without_an_answer_is_refused_as_one_that_is_missing() -> None:
    with pytest.raises(InvalidRecord, match="has no value at record 2"):
        attribute(EDGES, 'codes = { 99 = "missing" }\n').encode([1, 99])


def test_what_is_no_number_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidRecord, match=r"has no value at record 2 .*expected a number$"):
        attribute(EDGES).encode([1, None])
    for column in ([1, "secret"], [True], [1, [1, 2]], ["below -1.5"]):
        for silent in ("", SILENT):
            with pytest.raises(InvalidRecord, match="must hold numbers") as refused:
                attribute(EDGES, silent).encode(column)
            assert "secret" not in str(refused.value)


def test_what_is_no_bins_is_refused_in_one_line(subtests: pytest.Subtests) -> None:
    for said, words in [
        ("bins = []\n", "at least 1"),
        ("bins = [3, 3]\n", "must increase"),
        ("bins = [3, 1]\n", "must increase"),
        ('bins = [1, "1/1"]\n', "must increase"),
        ("bins = [1, 1.00000000000000001]\n", "must increase"),
        ("bins = [1e31]\n", "bins[0] must lie between"),
        ('bins = ["x"]\n', "bins[0]"),
        ('bins = [1]\ncategories = ["x", "y"]\n', "unknown key 'categories'"),
        ('bins = [1]\noutside = "other"\n', "unknown key 'outside'"),
        ("bins = [1]\nvalues = [1]\n", "each of the 2 bins, got 1"),
        ('bins = [1]\nfunctionals = ["mean"]\n', "functionals of bins need values"),
        ('bins = [1]\nmissing = "category"\ncodes = { 9 = "below 1" }\n', "may only declare nonresponse"),
        ('bins = [1]\nmechanism = "dyadic_wave"\n', "mechanism must be one of"),
    ]:
        with subtests.test(said=said, words=words):
            with pytest.raises(SchemeError) as refused:
                scheme(said)
            assert words in str(refused.value)
            assert "\n" not in str(refused.value)


def test_bins_go_with_categories_alone() -> None:
    with pytest.raises(SchemeError, match="unknown key 'bins'"):
        dp.Scheme.from_toml(
            'name = "s"\n[attributes.a]\ntype = "numeric"\nlower = 0\nupper = 1\nbins = [1]\nepsilon = 1\n'
        )


PAIR = """
name = "consumer_expenditure"
pairs = [["expenditure", "rich"]]
[attributes.expenditure]
type = "numeric"
lower = 0
upper = 35000
mechanism = "square_wave"
cells = 32
epsilon = 1
[attributes.rich]
type = "categorical"
column = "income"
bins = [60000]
unit = "USD"
epsilon = 1
"""


def test_groups_may_be_ranges_of_another_number() -> None:
    read = dp.Scheme.from_toml(PAIR)
    people = populations.by_scheme("consumer_expenditure").records(40_000, dp.seeded(3))
    rich = people["income"] >= 60_000
    aggregate = dp.simulate(read, people, dp.seeded(4))
    assert abs(dp.estimate(aggregate, "rich")["60000 and above"] - rich.mean()) < 0.03
    means = {
        category: density.functional(Mean())
        for category, density in dp.estimate(aggregate, "expenditure", given="rich").items()
    }
    for category, whom in (("below 60000", ~rich), ("60000 and above", rich)):
        error = (means[category].value - people["expenditure"][whom].mean()) / means[category].standard_error
        assert abs(error) < 5


def test_simulated_people_are_in_the_ranges_that_their_law_says() -> None:
    people = populations.by_scheme("consumer_expenditure")
    read = dp.Scheme.from_toml(
        'name = "consumer_expenditure"\n[attributes.income]\ntype = "categorical"\nbins = [20000, 50000]\nepsilon = 1\n'
        + SILENT
    )
    law = category_law(read.attributes["income"], people)
    drawn = people.records(200_000, dp.seeded(5))["income"]
    seen = np.array([(drawn < 20000).sum(), ((drawn >= 20000) & (drawn < 50000)).sum(), (drawn >= 50000).sum()])
    assert law_agrees(seen, law[:3])
    assert law[3] == 0
    for given in ("urban", "urban_rural=rural"):
        assert category_law(read.attributes["income"], people, given).sum() == pytest.approx(1)


def test_what_is_true_of_simulated_people_and_of_groups_of_them_lands() -> None:
    """Of groups by a range as of all: the mean of who is in it."""
    people = populations.by_scheme("consumer_expenditure")
    asked = PAIR.replace("rich", "income").replace('column = "income"\n', "")
    read = dp.Scheme.from_toml(asked.replace("cells = 32\n", 'cells = 32\nestimator = "ems"\nfunctionals = ["mean"]\n'))
    round_ = pipeline.estimate_all(dp.simulate(read, people, dp.seeded(6), 20_000))
    true = truths(round_, people).set_index(["attribute", "given", "quantity"])["value"]
    drawn = people.records(200_000, dp.seeded(7))
    rich = drawn["income"] >= 60_000
    assert true["income", "", "frequency(60000 and above)"] == pytest.approx(rich.mean(), abs=0.005)
    for given, whom in (("income=below 60000", ~rich), ("income=60000 and above", rich)):
        assert true["expenditure", given, "mean"] == pytest.approx(drawn["expenditure"][whom].mean(), rel=0.01)


def test_other_edges_are_another_question() -> None:
    one, other = scheme("bins = [1]\n"), scheme("bins = [2]\n")
    assert revise(one, other).apart == ("a",)
    added = revise(dp.Scheme.from_toml('name = "s"\n' + ASKED.replace(".a", ".b") + EDGES), one).changes
    assert any("2 ranges" in change.after for change in added)
