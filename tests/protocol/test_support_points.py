"""A number that says which values there are: what a scheme may say of it, and the input cell of each value."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.mechanisms.fisher_information import spread
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.mechanisms.registry import BY_KIND, CATEGORICAL
from dpcore.protocol.domain.support_points import MOST_POINTS
from dpcore.protocol.revision import revise
from dpcore.protocol.simulation import category_law
from tests.helpers.statistical import law_agrees

STEPS = "lower = -1\nupper = 3\nstep = 0.5\n"
LISTED = "values = [0.5, 1, 4, 1000]\n"
SILENT = 'missing = "category"\ncodes = { -9 = "missing", "no idea" = "missing" }\n'


ASKED = '[attributes.a]\ntype = "numeric"\nepsilon = 1\n'


def scheme(said: str, more: str = "") -> dp.Scheme:
    return dp.Scheme.from_toml(f'name = "s"\n{ASKED}{said}{more}')


def attribute(said: str, more: str = "") -> Any:
    return scheme(said, more).attributes["a"]


def test_every_mechanism_that_fits_gives_each_value_a_cell_of_its_own(subtests: pytest.Subtests) -> None:
    for said in [STEPS, LISTED, LISTED + SILENT, STEPS + SILENT]:
        for name in [*BY_KIND["lattice"], "auto"]:
            with subtests.test(said=said, name=name):
                read = scheme(said, f'mechanism = "{name}"\n')
                again = dp.Scheme.from_toml(read.canonical)
                assert again.canonical == read.canonical
                a = again.attributes["a"]
                assert np.all(np.diff(a.cells) > 0)
                assert 0 <= a.cells[0] <= a.cells[-1] < a.mechanism.inputs
                assert len(a.cells) == len(a.categories) == len(a.points) + (a.missing == "category")
                assert a.estimator == "log_linear"
                values = [float(point) for point in a.points]
                assert a.encode(values).tolist() == a.cells[: len(values)].tolist()
                if a.missing == "category":
                    assert set(a.encode([None, "", -9, "-9", "-9.0", "no idea", float("nan")]).tolist()) == {
                        a.cells[-1]
                    }
                    assert set(a.encode(np.array([-9.0, np.nan])).tolist()) == {a.cells[-1]}


@pytest.mark.parametrize("said", [STEPS, LISTED])
def test_a_value_is_the_nearest_there_is_and_of_two_the_larger(said: str) -> None:
    a = attribute(said)
    points = np.array([float(point) for point in a.points])
    x = np.random.default_rng(3).uniform(points[0] - 1, points[-1] + 1, 500)
    x = np.concatenate([x, points, (points[1:] + points[:-1]) / 2])
    slow = [
        max(range(len(points)), key=lambda i, v=v: (-abs(points[i] - v), i)) for v in np.clip(x, points[0], points[-1])
    ]
    assert a.encode(x).tolist() == a.cells[slow].tolist()


def test_silence_is_behind_an_empty_quarter_of_a_wave() -> None:
    assert spread(4, 5, True).tolist() == [0, 1, 2, 3, 4]
    assert spread(4, 512, True).tolist() == [48, 144, 240, 336, 511]
    assert spread(384, 512, True)[-2:].tolist() == [383, 511]


def test_what_is_no_lattice_is_refused_in_one_line(subtests: pytest.Subtests) -> None:
    for said, words in [
        ("lower = 0\nstep = 1\n", "needs both lower and upper"),
        ("lower = 0\nupper = 10\nstep = 3\n", "into whole steps"),
        ("lower = 0\nupper = 10\nstep = 0\n", "above 0"),
        ("lower = 0\nupper = 10\nstep = -1\n", "above 0"),
        (f"lower = 0\nupper = {MOST_POINTS}\nstep = 1\n", f"got {MOST_POINTS + 1:,}"),
        ("values = [1, 2, 2]\n", "must increase"),
        ("values = [3, 1]\n", "must increase"),
        ("values = [3]\n", "at least 2"),
        ("values = [1, 2]\nlower = 0\n", "replace lower, upper and step"),
        ("values = [1, 2]\nstep = 1\n", "replace lower, upper and step"),
        (
            'values = [1, 2]\nmissing = "category"\ncodes = { 2 = "missing" }\n',
            "codes.2 is one of the attribute's values",
        ),
        ('values = [1, 2]\nmissing = "category"\ncodes = { 9 = "one" }\n', "may only declare nonresponse"),
        ("values = [1, 2, 4]\nheaps = [4]\n", "at least two multiples among the values, got 4"),
        ("values = [1, 2, 4]\nheaps = [2, 0]\n", "at least two multiples among the values, got 0"),
        ("values = [1, 2, 4]\nheaps = [-1]\n", "above 0"),
        ("values = [1, 2, 4]\nheaps = 2\n", "heaps must be a list"),
        ('values = [1, 2]\nmechanism = "wavelet_laplace"\n', "mechanism must be one of"),
        ('values = [1, 2]\nestimator = "log_spline"\n', "estimator must be one of"),
        ("values = [1, 2]\nlevel = 3\n", "unknown key 'level'"),
        ('lower = 0\nupper = 600\nstep = 1\nmechanism = "dyadic_wave"\nlevels = 4\n', "512 input cells"),
        ('lower = 0\nupper = 399\nstep = 1\nmissing = "category"\nmechanism = "dyadic_wave"\nlevels = 4\n', "need 535"),
        (
            'lower = 0\nupper = 999\nstep = 1\nmissing = "category"\nmechanism = "square_wave"\n',
            "at most 1,024 cells, and 1,335 are needed; take dyadic_wave",
        ),
    ]:
        with subtests.test(said=said, words=words):
            with pytest.raises(SchemeError) as refused:
                scheme(said)
            assert words in str(refused.value)
            assert "\n" not in str(refused.value)


def test_what_people_round_to_is_of_the_analysis_and_in_the_text(subtests: pytest.Subtests) -> None:
    for heaps in ["[0.5, 1]", '["1/2"]', "[]"]:
        with subtests.test(heaps=heaps):
            plain, said = scheme(STEPS), scheme(STEPS, f"heaps = {heaps}\n")
            a, again = said.attributes["a"], dp.Scheme.from_toml(said.canonical).attributes["a"]
            assert a.heaps == again.heaps == tuple(Fraction(1, 2 - i) for i in range(len(a.heaps)))
            assert said.digest != plain.digest
            assert "heaps" not in plain.canonical
            assert plain.attributes["a"].heaps is None
            assert a.mechanism == plain.attributes["a"].mechanism
            assert revise(plain, said).alike == ("a",)
            answers = [dp.privatize(asked, {"a": [0.5, 2.0]}, dp.seeded(1)).of("a").reports for asked in (plain, said)]
            assert answers[0].values.tolist() == answers[1].values.tolist()


def test_points_in_a_pair_are_counted_and_have_no_groups() -> None:
    other = '[attributes.b]\ntype = "categorical"\ncategories = ["x", "y"]\nepsilon = 1\n'
    asked = dp.Scheme.from_toml(f'name = "s"\npairs = [["a", "b"]]\n{ASKED}{LISTED}{other}')
    assert asked.pairs == (("a", "b"),)
    assert asked.grouped == ()


def test_a_code_without_an_answer_is_refused_as_one_that_is_missing(subtests: pytest.Subtests) -> None:
    for said in [STEPS, LISTED, "lower = 0\nupper = 200\n"]:
        with subtests.test(said=said):
            a = attribute(said, 'codes = { 99 = "missing", "no idea" = "missing" }\n')
            assert a.missing == "refuse"
            for column in ([1, 99], [1, "99.0"], [1, "no idea"], np.array([1.0, 99.0]), [1, None]):
                with pytest.raises(
                    InvalidRecord, match=r"has no value at record 2 \(1 such in all\); expected a number in"
                ) as refused:
                    a.encode(column)
                assert "99" not in str(refused.value)
            assert a.encode([1]).tolist() == attribute(said).encode([1]).tolist()


def test_absence_is_refused_where_it_is_no_answer_and_no_value_is_shown() -> None:
    with pytest.raises(InvalidRecord, match="has no value at record 2"):
        attribute(LISTED).encode([1, None])
    for column in ([1, "secret"], [True], [1, [1, 2]], [None, "secret"], np.array(["secret"])):
        with pytest.raises(InvalidRecord, match="must hold numbers") as refused:
            attribute(LISTED + SILENT).encode(column)
        assert "secret" not in str(refused.value)
    with pytest.raises(InvalidRecord, match="outside its bounds at record 1"):
        attribute(LISTED, 'outside = "refuse"\n').encode([0.4])


DENSITIES = [("lower = -1\nupper = 3\n", "dyadic_wave"), ("lower = -1\nupper = 3\n", "square_wave")]


@pytest.mark.parametrize("compiled", ["0", "1"])
def test_who_is_silent_is_as_well_hidden_as_the_others(
    compiled: str, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """Reports of silent clients have the law that the channel says, which the certificate enumerates, levels included."""
    monkeypatch.setenv("LDPFLOW_COMPILED", compiled)
    for said, name in (*((STEPS, name) for name in BY_KIND["lattice"]), *DENSITIES):
        with subtests.test(name=name, said=said):
            a = attribute(said + SILENT, f'mechanism = "{name}"\n')
            mechanism, n = a.mechanism, 60_000
            cells = a.encode([None] * n)
            reports = mechanism.privatize(cells, dp.seeded(1))
            counts = mechanism.statistics(reports)
            law = np.zeros(mechanism.inputs)
            law[a.cells[-1]] = 1.0
            model = mechanism.model()
            if isinstance(model, FiniteChannel):
                for seen, expected in zip(model.split(counts), model.split(model.probabilities(law)), strict=True):
                    assert law_agrees(seen, expected)
                assert len(model.levels) == 1 or law_agrees(model.reports(counts), model.level_law)
                channel = mechanism.channel()
                assert all(np.all(rows > 0) for rows in channel)
            else:
                off = model.frequencies(counts, n) - law
                assert np.all(np.abs(off) <= 7 * np.sqrt(model.variance(law, n)))
            assert mechanism.certificate().holds


class Uniform:
    def cell_probabilities(
        self, name: str, lower: float, upper: float, cells: int, condition: Any = None
    ) -> np.ndarray:
        return np.full(cells, 1 / cells)


def test_simulated_people_have_the_value_that_is_nearest_to_theirs() -> None:
    assert category_law(attribute(STEPS), Uniform()) == pytest.approx([1 / 16, *[1 / 8] * 7, 1 / 16])
    law = category_law(attribute("values = [0, 1, 4]\n" + SILENT), Uniform())
    assert law == pytest.approx([0.125, 0.5, 0.375, 0.0])


def test_auto_takes_the_least_error_that_is_to_be_expected() -> None:
    few, many = "values = [1, 2, 3, 4, 5, 6]\n", "lower = 0\nupper = 250\nstep = 1\n"
    assert attribute(few).mechanism.name in CATEGORICAL
    assert attribute(many).mechanism.name == "dyadic_wave"
    assert attribute("lower = 0\nupper = 600\nstep = 1\n").mechanism.inputs >= 601
