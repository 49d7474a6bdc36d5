"""Two columns of categories that are asked together: what a scheme may say of them, and what one report tells of both."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore import pipeline, populations
from dpcore.audit import audit_scheme, to_markdown
from dpcore.audit.attacks.averaging import averaging
from dpcore.audit.attacks.report_distribution import faithfulness
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.mechanisms.registry import BY_KIND
from dpcore.protocol.revision import revise
from dpcore.protocol.simulation import category_law
from dpcore.protocol.syntax.mechanism_design import choose
from dpcore.results.tables.round_tables import tables_of, truths
from tests.helpers.audits import few_by_hand
from tests.helpers.statistical import law_agrees

JOBS, REGIONS = ("a", "b", "c", "d"), ("n", "e", "s", "w", "m")
ASKED = '[attributes.job_region]\ntype = "categorical"\nepsilon = 2\n'
OF = 'of = ["job", "region"]\n'
CATEGORIES = 'categories = [["a", "b", "c", "d"], ["n", "e", "s", "w", "m"]]\n'


def scheme(said: str = OF + CATEGORIES, more: str = "") -> dp.Scheme:
    return dp.Scheme.from_toml(f'name = "s"\n{ASKED}{said}{more}')


def attribute(said: str = OF + CATEGORIES, more: str = "") -> Any:
    return scheme(said, more).attributes["job_region"]


def test_every_mechanism_of_categories_answers_for_two_columns(subtests: pytest.Subtests) -> None:
    for name in [*BY_KIND["crossed"], "auto", ""]:
        with subtests.test(name=name):
            read = scheme(more=f'mechanism = "{name}"\n' if name else "")
            again = dp.Scheme.from_toml(read.canonical)
            assert again.canonical == read.canonical
            a = again.attributes["job_region"]
            assert (a.of, a.parts, a.kind) == (("job", "region"), (JOBS, REGIONS), "crossed")
            assert a.categories == tuple(f"{one} & {other}" for one in JOBS for other in REGIONS)
            assert a.mechanism.inputs == 20
            assert a.mechanism.name == (name if name not in ("auto", "") else choose(a.budget, categories=20).name)
            for cell in a.cells:
                values = a.values_of(int(cell))
                assert a.categories[cell] == f"{values['job']} & {values['region']}"
                assert a.encode([[values["job"]], [values["region"]]]).tolist() == [cell]


def test_a_cell_is_the_place_of_the_first_times_how_many_the_others_are_and_the_place_of_the_second() -> None:
    read = scheme()
    job, region = ["a", "d", "b"], ["e", "m", "n"]
    for records in (
        {"job": job, "region": region, "more": [1, 2, 3]},
        pd.DataFrame({"region": pd.Categorical(region), "job": job}),
        pa.table({"job": job, "region": region}),
    ):
        assert read.encode(records)["job_region"].tolist() == [1, 19, 5]
    assert read.encode({"job": "c", "region": "s"})["job_region"].tolist() == [12]


def test_a_record_that_lacks_one_is_refused_and_not_shown(subtests: pytest.Subtests) -> None:
    for records, words in [
        ({"job": ["a"]}, "column 'region' (attribute job_region) is missing"),
        ({"job": ["a", None], "region": ["n", "n"]}, "column 'job' has no value at record 2"),
        (
            {"job": ["a", "b"], "region": ["n", "secret"]},
            "column 'region' is not one of the scheme's categories at record 2",
        ),
        ({"job": ["a", "b"], "region": ["n"]}, "must have the same length, got 2 and 1"),
        ({"job_region": ["a & n"]}, "column 'job' (attribute job_region) is missing"),
    ]:
        with subtests.test(records=records, words=words):
            with pytest.raises(InvalidRecord) as refused:
                scheme().encode(records)
            assert words in str(refused.value)
            assert "secret" not in str(refused.value)


def test_what_cannot_be_asked_together_is_refused_in_one_line(subtests: pytest.Subtests) -> None:
    for said, words in [
        ('of = ["job"]\n' + CATEGORIES, "of must be a list of at least 2"),
        ('of = ["job", "region", "age"]\n' + CATEGORIES, "of must list two different columns"),
        ('of = ["job", "job"]\n' + CATEGORIES, "of must list two different columns"),
        (OF + 'categories = [["a", "b"]]\n', "categories must be a list of at least 2"),
        (OF + 'categories = [["a", "b"], ["c", "d"], ["e", "f"]]\n', "categories must list one entry for each column"),
        (OF + 'categories = ["a", "b"]\n', "categories[0] must be a list"),
        (OF + 'categories = [["a", "b"], ["c"]]\n', "categories[1] must be a list of at least 2"),
        (OF + 'categories = [["a", "a"], ["c", "d"]]\n', "categories of job must differ"),
        (OF + 'categories = [["a", "b"], ["c", ""]]\n', "categories of region must differ and not be empty"),
        (OF + 'categories = [["a", "b"], ["c & d", "e"]]\n', "may not contain ' & '"),
        (OF, "categories is missing"),
        (OF + CATEGORIES + 'missing = "category"\n', "missing must be one of 'refuse'"),
        (OF + CATEGORIES + 'outside = "other"\n', "outside must be one of 'refuse'"),
        (OF + CATEGORIES + 'codes = { 1 = "a" }\n', "unknown key 'codes'"),
        (OF + CATEGORIES + 'column = "x"\n', "unknown key 'column'"),
        (OF + CATEGORIES + "values = [1, 2]\n", "unknown key 'values'"),
        (OF + CATEGORIES + 'mechanism = "dyadic_wave"\n', "mechanism must be one of"),
    ]:
        with subtests.test(said=said, words=words):
            with pytest.raises(SchemeError) as refused:
                scheme(said)
            assert words in str(refused.value)
            assert "\n" not in str(refused.value)


def test_there_are_no_more_pairs_than_a_mechanism_takes() -> None:
    many = ", ".join(f'"c{number}"' for number in range(101))
    with pytest.raises(SchemeError, match="at most 10,000 pairs, got 10,100"):
        scheme(OF + f"categories = [[{many}], [{many.rsplit(',', 1)[0]}]]\n")


def test_a_label_cannot_send_a_column_in_clear() -> None:
    with pytest.raises(SchemeError, match=r"labels\.region: region is also an attribute"):
        scheme(more='[labels.region]\ncategories = ["n", "e"]\n')


def test_a_round_of_records_gives_the_joint_law() -> None:
    rng = np.random.default_rng(3)
    law = rng.dirichlet(np.ones(20)).reshape(4, 5)
    cells = rng.choice(20, 100_000, p=law.ravel())
    people = {"job": np.array(JOBS)[cells // 5], "region": np.array(REGIONS)[cells % 5]}
    estimate = dp.estimate(dp.aggregate(scheme(), dp.privatize(scheme(), people, dp.seeded(5))), "job_region")
    shares = np.bincount(cells, minlength=20) / len(cells)
    frame = estimate.to_frame()
    assert np.all(np.abs(frame["estimate"] - shares) < 4.5 * frame["standard_error"])


def test_a_4_by_5_table_has_the_error_that_one_report_on_the_product_allows() -> None:
    """Of 10^5 clients at epsilon 2, uniform: .0026; two reports of half the epsilon each have .0073."""
    aggregate = dp.simulate(scheme(), Uniform(), dp.seeded(7), 100_000)
    errors = dp.estimate(aggregate, "job_region").to_frame()["standard_error"]
    assert np.sqrt(np.mean(errors**2)) < 0.0026


class Uniform:
    """People who are everywhere alike, for `simulate`."""

    weights = {"all": 1.0}  # noqa: RUF012 - a test's

    def shares(self, condition: Any = None) -> dict[str, float]:
        return dict(self.weights)

    def cell_probabilities(self) -> None:
        """What says that these are a population."""

    def probabilities(self, name: str, categories: tuple[str, ...], condition: Any = None) -> np.ndarray:
        return np.full(len(categories), 1 / len(categories))


POPULATION = """
name = "consumer_expenditure"
[attributes.children]
type = "categorical"
of = ["urban_rural", "kids_count"]
categories = [["urban", "rural"], ["0", "1", "2", "3", "4", "5+"]]
epsilon = 2
"""


def test_simulated_people_have_the_joint_law_of_their_groups() -> None:
    people = populations.by_scheme("consumer_expenditure")
    read = dp.Scheme.from_toml(POPULATION)
    law = category_law(read.attributes["children"], people)
    drawn = read.encode(people.records(200_000, dp.seeded(5)))["children"]
    assert law_agrees(np.bincount(drawn, minlength=len(law)), law)
    round_ = pipeline.estimate_all(dp.simulate(read, people, dp.seeded(6), 100_000))
    true = truths(round_, people).set_index(["attribute", "quantity"])["value"]
    assert true["children", "frequency(rural & 0)"] == pytest.approx(law[6])


def test_the_audit_enumerates_what_one_report_tells_of_both() -> None:
    found = audit_scheme(scheme(more='mechanism = "subset_selection"\n'))
    (asked,) = found.attributes
    weights = asked.configuration
    assert found.proven
    assert found.loss.ratio == Fraction(weights["weight_in"], weights["weight_out"])
    assert "joint attribute of job and region" in to_markdown([found], "2026-11-24", "0")


BOTH = scheme(more='[attributes.job]\ntype = "categorical"\ncategories = ["a", "b", "c", "d"]\nepsilon = 1\n')


def test_a_column_may_be_asked_alone_too_and_audits_know(monkeypatch: pytest.MonkeyPatch) -> None:
    few_by_hand(monkeypatch)
    cells = BOTH.encode({"job": ["d"], "region": ["m"]})
    assert {name: int(cell[0]) for name, cell in cells.items()} == {"job_region": 19, "job": 3}
    assert faithfulness(BOTH, dp.seeded(13), trials=20_000).holds
    assert averaging(BOTH, dp.seeded(17), people=20, rounds=2).changed == 0


def test_other_columns_or_categories_are_another_question() -> None:
    one, other = scheme(), scheme(OF.replace("job", "work") + CATEGORIES)
    assert revise(one, other).apart == ("job_region",)
    assert revise(one, scheme(OF + CATEGORIES.replace('"w"', '"x"'))).apart == ("job_region",)
    added = revise(
        dp.Scheme.from_toml(f'name = "s"\n{ASKED.replace(".job_region", ".b")}{OF}{CATEGORIES}'), one
    ).changes
    assert any("job: 4 categories together with region: 5 categories" in change.after for change in added)


NUMBERS = """
name = "consumer_expenditure"
[attributes.money]
type = "numeric"
of = ["income", "expenditure"]
lower = [0, 0]
upper = [200000, 50000]
units = ["USD a year", "USD a quarter"]
epsilon = 2
"""


def test_two_numbers_are_a_cell_of_the_plane() -> None:
    read = dp.Scheme.from_toml(NUMBERS)
    again = dp.Scheme.from_toml(read.canonical)
    assert again.canonical == read.canonical
    a = again.attributes["money"]
    assert (a.of, a.kind, a.has_density, a.parts) == (("income", "expenditure"), "plane", False, ((), ()))
    assert (a.lowers, a.uppers) == ((Fraction(0), Fraction(0)), (Fraction(200_000), Fraction(50_000)))
    assert [side.unit for side in a.sides] == ["USD a year", "USD a quarter"]
    income, expenditure = [0, -7, 199_999, 1e9, "100000"], [0, 50_000, 49_999, -1, 25_000]
    cells = read.encode({"income": income, "expenditure": expenditure})["money"]
    assert cells.tolist() == [0, 31, 1023, 31 * 32, 16 * 32 + 16]
    for cell in a.cells[::37]:
        values = a.values_of(int(cell))
        assert a.encode([[values["income"]], [values["expenditure"]]]).tolist() == [cell]


def test_numbers_that_cannot_be_asked_together_are_refused_in_one_line(subtests: pytest.Subtests) -> None:
    for old, new, words in [
        ("lower = [0, 0]", "lower = [0]", "lower must be a list of at least 2"),
        ("lower = [0, 0]", "lower = 0", "lower must be a list of at least 2"),
        ("lower = [0, 0]", "lower = [0, 0, 0]", "lower must list one entry for each column"),
        ("lower = [0, 0]", "lower = [0, 50000]", "lower must be below upper"),
        ("lower = [0, 0]\n", "", "lower is missing"),
        ("units = [", 'unit = "USD"\nunits = [', "unknown key 'unit'"),
        ("epsilon", "step = 1\nepsilon", "unknown key 'step'"),
        ("epsilon", 'missing = "category"\nepsilon', "missing must be one of 'refuse'"),
        ("epsilon", 'functionals = ["mean"]\nepsilon', "unknown key 'functionals'"),
        ("epsilon", 'mechanism = "dyadic_wave"\nepsilon', "mechanism must be one of 'crossed_wave'"),
        ("epsilon", "cells = 64\nepsilon", "cells must be one of 8, 16, 32"),
        ("epsilon", "widths = [3, 5, 4, 5]\nepsilon", "widths must be odd numbers"),
    ]:
        with subtests.test(old=old, new=new, words=words):
            with pytest.raises(SchemeError) as refused:
                dp.Scheme.from_toml(NUMBERS.replace(old, new, 1))
            assert words in str(refused.value)
            assert "\n" not in str(refused.value)


def test_numbers_outside_are_clipped_or_refused_and_not_shown() -> None:
    strict = dp.Scheme.from_toml(NUMBERS.replace("epsilon", 'outside = "refuse"\nepsilon', 1))
    for records, words in (
        ({"income": [1, 200_001], "expenditure": [1, 1]}, "column 'income' is outside its bounds at record 2"),
        ({"income": [1, 2], "expenditure": [1, None]}, "column 'expenditure' has no value at record 2"),
        ({"income": [1, 2], "expenditure": [1, "secret"]}, "column 'expenditure' must hold numbers"),
    ):
        with pytest.raises(InvalidRecord) as refused:
            strict.encode(records)
        assert words in str(refused.value)
        assert "secret" not in str(refused.value)


def test_a_round_of_two_numbers_runs_through_and_says_what_to_ask() -> None:
    people, read = populations.by_scheme("consumer_expenditure"), dp.Scheme.from_toml(NUMBERS)
    law = category_law(read.attributes["money"], people)
    drawn = read.encode(people.records(200_000, dp.seeded(5)))["money"]
    assert law_agrees(np.bincount(drawn, minlength=1024), law)
    read = dp.Scheme.from_toml(NUMBERS + "cells = 8\n")
    round_ = pipeline.estimate_all(dp.simulate(read, people, dp.seeded(6), 100_000))
    assert 'use dp.joint(aggregate, "income", "expenditure")' in round_.unavailable["money"]
    tables = tables_of(round_, people)
    assert tables["attributes"][["lower", "upper"]].isna().all(axis=None)
    assert truths(round_, people).empty


def test_the_audit_enumerates_the_plane_the_product_and_either_number(monkeypatch: pytest.MonkeyPatch) -> None:
    few_by_hand(monkeypatch)
    read = dp.Scheme.from_toml(NUMBERS)
    found = audit_scheme(read)
    assert found.proven
    assert found.loss.ratio == read.attributes["money"].mechanism.certificate().kept
    assert "1,024 x 2,304 + 1,024 x 1,456 + 1,024 x 36 + 1,024 x 36 weights" in found.attributes[0].finding.how
    assert faithfulness(read, dp.seeded(13), trials=20_000).holds
