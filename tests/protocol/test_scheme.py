from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpcore.errors import InvalidRecord, SchemeError
from dpcore.mechanisms.declaration import Option
from dpcore.mechanisms.registry import BY_TYPE
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.syntax import attribute_table, fields, keys


def test_canonical_text_reads_back_to_the_same_digest(small: Scheme) -> None:
    again = Scheme.from_toml(small.canonical)
    assert again.canonical == small.canonical
    assert again.digest == small.digest
    assert len(small.digest) == 64


def test_a_canonical_text_with_a_column_without_a_name_keeps_its_digest(small: Scheme) -> None:
    said = small.canonical.replace('column = "height"', 'column = ""', 1)
    assert said != small.canonical
    assert Scheme.from_toml(said).canonical == said


def test_comments_and_order_of_keys_do_not_change_the_digest_but_epsilon_does(small: Scheme, small_text: str) -> None:
    assert Scheme.from_toml("# a remark\n" + small_text).digest == small.digest
    assert Scheme.from_toml(small_text.replace("epsilon = 0.5", "epsilon = 0.50")).digest == small.digest
    assert Scheme.from_toml(small_text.replace("epsilon = 0.5", "epsilon = 0.51")).digest != small.digest


def test_an_error_of_a_record_carries_no_other_that_quotes_it(small: Scheme) -> None:
    with pytest.raises(InvalidRecord) as refused:
        small.attributes["height"].encode(["a secret"])
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_a_column_without_a_name_keeps_its_digest(small_text: str) -> None:
    """Records may have a column named '', as pandas writes an index; it is not the attribute's own name."""
    text = small_text.replace('type = "numeric"', 'type = "numeric"\ncolumn = ""')
    scheme = Scheme.from_toml(text)
    assert scheme.attributes["height"].column == ""
    assert Scheme.from_toml(scheme.canonical).digest == scheme.digest


def test_a_client_spends_the_sum(small: Scheme, small_text: str) -> None:
    assert small.budget.text == "1.5 + ln 3"
    assert small.epsilon == pytest.approx(1.5 + np.log(3))


def test_the_dearest_unit_is_found_where_floats_tell_no_difference(subtests: pytest.Subtests) -> None:
    """ln 3 is 1.098612288668109691395245236922..."""
    for order in [1, -1]:
        for decimal, is_dearer in [("1.0986122886681096914", True), ("1.09861228866810969139524523692", False)]:
            with subtests.test(order=order, decimal=decimal, is_dearer=is_dearer):
                near, logarithm = Budget.parse(decimal), Budget.parse("ln 3")
                epsilons = ['"ln 3"', near.text][::order]
                assert float(near) == float(logarithm)
                tables = [
                    f'[attributes.a{place}]\ntype = "categorical"\ncategories = ["x", "y"]\nepsilon = {epsilon}\n'
                    for place, epsilon in enumerate(epsilons)
                ]
                scheme = Scheme.from_toml("\n".join(['name = "near"\nreporting = "one"', *tables]))
                assert scheme.budget == (near if is_dearer else logarithm)


def test_reporting_one_spends_the_dearest_unit(small_text: str) -> None:
    one = Scheme.from_toml('reporting = "one"\n' + small_text)
    assert one.units == (("side", "height"), ("colour",))
    assert one.budget.text == "1 + ln 3"


BAD = {
    "unknown top key": ("clients = 20000", "client = 20000", ["'client'", "accepted"]),
    "unknown attribute key": ('unit = "m"', 'units = "m"', ["attributes.height", "'units'", "unit"]),
    "negative epsilon": ("epsilon = 0.5", "epsilon = -0.5", ["attributes.colour", "epsilon", "-0.5"]),
    "zero epsilon": ("epsilon = 0.5", "epsilon = 0", ["epsilon", "above 0", "got 0"]),
    "epsilon nan": ("epsilon = 0.5", "epsilon = nan", ["epsilon", "nan"]),
    "epsilon missing": ("epsilon = 0.5\n", "", ["attributes.colour.epsilon is missing"]),
    "epsilon a truth": ("epsilon = 0.5", "epsilon = true", ["epsilon", "True"]),
    "epsilon a list": ("epsilon = 0.5", "epsilon = [1]", ["epsilon", "[1]"]),
    "type unknown": ('type = "numeric"', 'type = "number"', ["attributes.height.type", "'number'", "numeric"]),
    "bounds swapped": ("lower = 0.5", "lower = 3", ["lower must be below upper", "got 3"]),
    "bound missing": ("upper = 2.5\n", "", ["upper is missing"]),
    "one category": ('categories = ["left", "right"]', 'categories = ["left"]', ["at least 2", "['left']"]),
    "twins": ('["red", "green", "blue"]', '["red", "green", "red"]', ["must differ"]),
    "values short": ("values = [0, 1, 2.5]", "values = [0, 1]", ["values", "3 categories"]),
    "code to nowhere": ('2 = "right"', '2 = "up"', ["codes.2", "'up'", "left, right"]),
    "pair of one": ('[["height", "side"]]', '[["side", "side"]]', ["pairs", "two different attributes"]),
    "pair of three": ('[["height", "side"]]', '[["side", "height", "colour"]]', ["pairs", "two different attributes"]),
    "pair twice": ('[["height", "side"]]', '[["height", "side"], ["height", "side"]]', ["pairs must differ"]),
    "pair both ways": ('[["height", "side"]]', '[["side", "height"], ["height", "side"]]', ["pairs must differ"]),
    "pair of strangers": ('[["height", "side"]]', '[["height", "age"]]', ["pairs", "age"]),
    "mechanism unknown": ("degree = 1", 'mechanism = "laplace"', ["mechanism", "'laplace'", "wavelet_laplace"]),
    "degree too high": ("degree = 1", "degree = 4", ["degree", "3", "4"]),
    "coarsest too coarse": ("degree = 1", "degree = 1\ncoarsest_level = 0", ["coarsest_level", "0"]),
    "allocation unknown": ("degree = 1", 'degree = 1\nallocation = "best"', ["allocation", "'best'", "sample"]),
    "a too small": ("degree = 1", 'degree = 1\nallocation = "paper"\na = 1', ["1 < a", "got a = 1"]),
    "clients a float": ("clients = 20000", "clients = 2e4", ["clients", "whole number", "2e4"]),
    "functional unknown": ("clients = 20000", 'functionals = ["mode"]', ["functionals", "'mode'", "quantile"]),
    "two coins at another epsilon": ('epsilon = "ln 3"', "epsilon = 1.0986", ["two_coin", "1.0986"]),
    "fixed without level": ("degree = 1", 'degree = 1\nlevel_rule = "fixed"', ["level"]),
    "outside unknown": ("degree = 1", 'degree = 1\noutside = "drop"', ["outside", "'drop'", "clip"]),
    "epsilon beyond numbers": ("epsilon = 0.5", "epsilon = 1e999999", ["epsilon", "above 0"]),
    "bound beyond numbers": ("upper = 2.5", "upper = 1e999999", ["upper", "1e999999"]),
    "bound too large": ("upper = 2.5", "upper = 1e40", ["upper", "between"]),
    "bounds too close": ("upper = 2.5", "upper = 0.5000000000000001", ["too close"]),
    "values beyond numbers": ("values = [0, 1, 2.5]", "values = [0, 1, 1e400]", ["values"]),
    "a number among categories": (
        '"red", "green"',
        '"red", 3',
        ["attributes.colour.categories[1] must be a text", "3"],
    ),
    "a text among values": ("values = [0, 1, 2.5]", 'values = [0, 1, "x"]', ["values[2] must be a number", "'x'"]),
    "pairs of one list": ('[["height", "side"]]', '["height", "side"]', ["pairs[0] must be a list", '[["income"']),
    "an argument too many": ("clients = 20000", 'functionals = ["mean(1)"]', ["mean takes no arguments", "'mean(1)'"]),
    "functionals a text": ("clients = 20000", 'functionals = "mean"', ["functionals", "'mean'"]),
    "a line break in a name": ('"red", "green"', '"red", "gr\\neen"', ["printable"]),
    "not toml": ("clients = 20000", "clients 20000", ["not valid TOML"]),
    "a column twice": ("[attributes.colour]", "[attributes.height_level]", ["height and height_level", "rename one"]),
    "bad name": ('name = "small"', 'name = "Small one"', ["name", "'Small one'"]),
}


def test_a_bad_scheme_names_the_field_the_value_and_what_would_do(small_text: str, subtests: pytest.Subtests) -> None:
    for case in BAD:
        with subtests.test(case=case):
            old, new, parts = BAD[case]
            assert old in small_text
            with pytest.raises(SchemeError) as caught:
                Scheme.from_toml(small_text.replace(old, new, 1))
            message = str(caught.value)
            assert "\n" not in message
            for part in parts:
                assert part in message


ALIEN = {str: "[[1]]", int: "-1", Fraction: "[1]", Budget: "[1]", dict: '"nowhere"'}  # no value of such a key
KEYS = [(kind, key) for kind in BY_TYPE for key in attribute_table.of_attribute(kind, next(iter(BY_TYPE[kind])))]


def test_what_no_key_can_be_is_refused_by_its_path(subtests: pytest.Subtests) -> None:
    """The contract of every declared key, the options of the default mechanisms among them."""
    values = {"type": "", "epsilon": "1", "lower": "0", "upper": "1", "max_bytes": "8", "categories": '["a", "b"]'}
    for kind, key in KEYS:
        said = {name: value for name, value in values.items() if name in keys_of(kind)} | {"type": f'"{kind}"'}
        for wrong in (ALIEN.get(key.type, '"nowhere"'), None) if key.is_needed else (ALIEN.get(key.type, '"nowhere"'),):
            lines = said | {key.name: wrong}
            text = "".join(f"{name} = {value}\n" for name, value in lines.items() if value is not None)
            with subtests.test(kind=kind, key=key.name, value=wrong):
                with pytest.raises(SchemeError, match=rf"^attributes\.x(\.|: )(a )?{key.name} ") as caught:
                    Scheme.from_toml(f'name = "s"\n[attributes.x]\n{text}')
                assert "\n" not in str(caught.value)


def keys_of(kind: str) -> set[str]:
    return {key.name for of, key in KEYS if of == kind}


WHOLE = {
    f"{kind}-{mechanism}-{key.name}": key
    for kind, mechanisms in BY_TYPE.items()
    for mechanism in mechanisms
    for key in (*keys.SCHEME, *attribute_table.of_attribute(kind, mechanism))
    if key.type in (int, list[int])
}


def test_a_whole_number_is_one_within_its_bounds(subtests: pytest.Subtests) -> None:
    def said(key: Option, value: Any) -> Any:
        return fields.value_of(key, value if key.type is int else [value])

    for name, key in WHOLE.items():
        with subtests.test(key=name):
            for good in (key.least, key.most):
                assert said(key, good) == (good if key.type is int else [good])
            for bad in (key.least - 1, key.most + 1, True, False, str(key.least), "1.0", None):
                with pytest.raises(SchemeError, match=rf"{key.name}(\[0\])? must be a whole number between"):
                    said(key, bad)


@pytest.mark.parametrize(
    "of",
    [
        lambda text: text + "x = " + "[" * 9000,
        lambda text: text.replace("epsilon = 0.5", f'epsilon = "{" + ".join(3000 * ["0.1"])}"'),
    ],
)
def test_a_text_that_goes_too_deep_is_refused_in_one_line(of: Callable[[str], str], small_text: str) -> None:
    with pytest.raises(SchemeError) as refused:
        Scheme.from_toml(of(small_text))
    assert "\n" not in str(refused.value)


def test_a_missing_scheme_file_is_one_line() -> None:
    with pytest.raises(SchemeError, match="no scheme file"):
        Scheme.from_toml("nowhere.toml")


def test_bounds_are_exact(small: Scheme) -> None:
    assert small.attributes["height"].lower == Fraction(1, 2)


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_records_are_read_by_label_code_and_number(small: Scheme, kind: Any) -> None:
    columns = {"side": ["left", "2", "right"], "colour": ["red", "blue", "green"], "height": [0.5, 2.5, 1.5]}
    cells = small.encode(kind(columns))
    inputs = small.attributes["height"].mechanism.inputs
    assert cells["side"].tolist() == [0, 1, 1]
    assert cells["colour"].tolist() == [0, 2, 1]
    assert cells["height"].tolist() == [0, inputs - 1, inputs // 2]
    assert small.attributes["side"].encode(np.array([1, 2])).tolist() == [0, 1]
    assert small.attributes["side"].encode(np.array([1.0, 2.0])).tolist() == [0, 1]


def test_values_outside_are_clipped_or_refused(small: Scheme, small_text: str) -> None:
    inputs = small.attributes["height"].mechanism.inputs
    assert small.attributes["height"].encode([-1e9, 1e9, np.inf]).tolist() == [0, inputs - 1, inputs - 1]
    strict = Scheme.from_toml(small_text.replace('unit = "m"', 'outside = "refuse"'))
    with pytest.raises(InvalidRecord, match=r"column 'height'.* at record 12 \(1 such in all\)"):
        strict.attributes["height"].encode([1.0, 2.75, 1.0], first=10)


SECRET = "7.125"  # a value that must never be seen in a message


def test_a_bad_record_names_column_and_position_and_never_the_value(small: Scheme, subtests: pytest.Subtests) -> None:
    for column, values, parts in [
        ("height", [1.0, np.nan, np.nan], ["'height'", "record 2", "2 such in all"]),
        ("height", [1.0, "tall" + SECRET, 1.0], ["'height'", "numbers"]),
        ("side", ["left", None, "right"], ["'side'", "no value", "record 2"]),
        ("side", ["left", "up" + SECRET, "right"], ["'side'", "categories", "record 2", "left, right"]),
        ("colour", ["red", "red"], ["same length"]),
    ]:
        with subtests.test(column=column, values=values, parts=parts):
            columns: dict[str, list[Any]] = {"side": ["left"] * 3, "colour": ["red"] * 3, "height": [1.0] * 3}
            columns[column] = values
            with pytest.raises(InvalidRecord) as caught:
                small.encode(columns)
            message = str(caught.value)
            assert SECRET not in message
            assert "\n" not in message
            for part in parts:
                assert part in message


def test_a_missing_column_is_named(small: Scheme) -> None:
    with pytest.raises(InvalidRecord, match=r"column 'colour'.*missing"):
        small.encode({"side": ["left"], "height": [1.0]})


def test_categories_are_read_from_whatever_holds_a_column(small: Scheme, subtests: pytest.Subtests) -> None:
    for of in [list, np.array, pd.Series, pd.Categorical, pa.array, lambda said: pa.chunked_array([said])]:
        with subtests.test(of=of):
            side = small.attributes["side"]
            said = [side.categories[c] for c in (1, 0, 1)]
            assert side.encode(of(said)).tolist() == [1, 0, 1]


def test_records_may_be_a_table_of_arrows(small: Scheme) -> None:
    frame = pd.DataFrame(
        {name: of.categories[:1] * 2 if name != "height" else [1.0, 2.0] for name, of in small.attributes.items()}
    )
    cells, expected = small.encode(pa.Table.from_pandas(frame)), small.encode(frame)
    assert {name: found.tolist() for name, found in cells.items()} == {
        name: of.tolist() for name, of in expected.items()
    }


def test_missing_may_be_a_category(small_text: str) -> None:
    scheme = Scheme.from_toml(small_text.replace("values = [0, 1, 2.5]", 'missing = "category"'))
    attribute = scheme.attributes["colour"]
    assert attribute.categories == ("red", "green", "blue", "missing")
    assert attribute.encode(["red", None, float("nan"), pd.NA, ""]).tolist() == [0, 3, 3, 3, 3]
    with pytest.raises(InvalidRecord, match="not one of"):
        attribute.encode(["purple"])


def test_a_scheme_asks_something() -> None:
    with pytest.raises(SchemeError, match="at least one"):
        Scheme.from_toml('name = "nothing"\nclients = 10\n[attributes]\n')


NUMBER = '{}[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n{}\n'
MEANT = {
    "": "dyadic_wave",
    "cells = 512": "dyadic_wave",
    'estimator = "ems"': "dyadic_wave",
    "widths = [3, 5]": "dyadic_wave",
    "finest_level = 3": "wavelet_laplace",
    "degree = 1\ncells = 512": "wavelet_laplace",
    'estimator = "projection"': "wavelet_laplace",
    'mechanism = "square_wave"': "square_wave",
}


def test_a_number_without_a_mechanism_gets_the_first_that_has_its_options(subtests: pytest.Subtests) -> None:
    for options in MEANT:
        with subtests.test(options=options):
            told = NUMBER.format('name = "s"\n', options)
            attribute = Scheme.from_toml(told).attributes["x"]
            named = options if "mechanism" in options else f'{options}\nmechanism = "{MEANT[options]}"'
            assert attribute.mechanism.name == MEANT[options]
            assert Scheme.from_toml(told).digest == Scheme.from_toml(NUMBER.format('name = "s"\n', named)).digest


def test_options_that_no_mechanism_has_together_are_refused(subtests: pytest.Subtests) -> None:
    for options, said in [
        ("finest_level = 3\nlevels = 2", "needs mechanism = "),
        ('finest_level = 3\nestimator = "ems"', "needs mechanism = "),
        ('level_rule = "undersmoothed"', 'need estimator = "projection", got estimator = "log_spline"'),
    ]:
        with subtests.test(options=options, said=said), pytest.raises(SchemeError, match=said):
            Scheme.from_toml(NUMBER.format('name = "s"\n', options))


@pytest.mark.parametrize("told", ['name = "s\\n"\n[attributes.x]', 'name = "s"\n[attributes."x\\n"]'])
def test_a_name_with_a_line_break_is_refused(told: str) -> None:
    with pytest.raises(SchemeError, match="lower-case letters"):
        Scheme.from_toml(f'{told}\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\ncolumn = "x"\n')


_LATTICE = 'type = "numeric"\nlower = 0\nupper = 9\nstep = 1\nepsilon = 1'
_DENSITY = 'type = "numeric"\nlower = 0\nupper = 9\nepsilon = 1'
_BINS = 'type = "categorical"\nbins = [1, 2]\nepsilon = 1'
_NAMES = 'type = "categorical"\ncategories = ["a", "b", "other"]\nepsilon = 1'
_PLANE = 'type = "numeric"\nof = ["x", "y"]\nlower = [0, 0]\nupper = [1, 1]\nepsilon = 1'
_PAIRS = 'type = "categorical"\nof = ["x", "y"]\ncategories = [["a", "b"], ["a", "b"]]\nepsilon = 1'
_LABEL = 'type = "categorical"\ncategories = ["a", "b"]\nepsilon = 1\n\n[labels.l]\ncategories = ["a", "b", "other"]'
REPEATED = {
    _LATTICE: [
        'outside = "refuse"', 'missing = "category"', 'codes = { -1 = "missing" }', 'unit = "m"', "heaps = [3]", 'column = "c"',
        'title = "T"',
    ],
    _DENSITY: [
        'outside = "refuse"', 'missing = "category"', 'codes = { -1 = "missing" }', 'unit = "m"', 'column = "c"',
        "assume = { second_derivative = 2 }", 'intervals = ["distribution_free"]', 'functionals = ["mean"]',
        'estimator = "ems"', 'estimator = "projection"', 'title = "T"',
    ],
    _BINS: [
        'missing = "category"', 'codes = { -1 = "missing" }', 'unit = "m"', "values = [0, 1, 2]", 'column = "c"',
        'title = "T"',
    ],
    _NAMES: [
        'missing = "category"', 'codes = { 1 = "a" }', 'outside = "other"', "values = [0, 1, 2]", 'column = "c"',
        'mechanism = "unary_encoding"', 'title = "T"', 'titles = { a = "A" }',
    ],
    _PLANE: ['outside = "refuse"', 'units = ["m", ""]', "cells = 16", 'title = "T"'],
    _PAIRS: ['mechanism = "unary_encoding"', 'title = "T"'],
    _LABEL: [
        'missing = "category"', 'codes = { 1 = "a" }', 'outside = "other"', 'column = "c"', 'title = "T"',
        'titles = { a = "A" }',
    ],
}  # fmt: skip


def test_whatever_is_said_of_an_attribute_or_label_is_in_the_digest(subtests: pytest.Subtests) -> None:
    """What the digest does not cover one client may read otherwise than another, and the collector than both."""
    for table, lines in REPEATED.items():
        found = [Scheme.from_toml(f'name = "s"\n\n[attributes.a]\n{table}\n{said}\n') for said in ("", *lines)]
        for said, scheme in zip(("", *lines), found, strict=True):
            with subtests.test(table=table, said=said):
                assert Scheme.from_toml(scheme.canonical).canonical == scheme.canonical
                assert not said or scheme.digest != found[0].digest
