"""The keys of a scheme, each with type, range, default and description, and the reading of an attribute's table.

Mechanisms declare their own options.  `json_schema` and the page of the reference are generated from these declarations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpcore.errors import SchemeError
from dpcore.mechanisms.categorical.text_hashing import MOST_SYMBOLS
from dpcore.mechanisms.declaration import Option
from dpcore.mechanisms.registry import BY_KIND, BY_TYPE, IN_SCHEMES, options_of
from dpcore.privacy.budget import Budget
from dpcore.protocol.records.texts import NORMALIZATIONS
from dpcore.protocol.syntax.attribute_types import TYPES
from dpcore.protocol.syntax.fields import check_known, read

AUTO = "auto"  # `mechanism_design` chooses the mechanism; the canonical scheme names it
LOG_LINEAR = "log_linear"  # the estimator on support points
LOG_SPLINE = "log_spline"  # the estimator of densities with nonresponse
DISTRIBUTION_FREE = "distribution_free"  # a value of `intervals`
NONE = "none"  # a value of `missing`: no value is the empty set
OTHER = "other"  # the category for unlisted values with `outside = "other"`
CLIENTS = Option("clients", int, least=1, most=10**12, default=100_000, words="the planned number of clients")
_FUNCTIONALS = Option("functionals", list[str], fewest=0, words="what to estimate: 'mean', 'quantile(0.5)' and others")
_NAME = "lower-case letters, digits{} and _, the first a letter"

SCHEME = (
    Option("format", int, words="the version of canonical texts; set by ldpflow"),
    Option("draws", int, words="the version of the rule that turns random words into answers; set by ldpflow"),
    Option("name", str, is_needed=True, words=f"the scheme's name: {_NAME.format(', -')}"),
    Option("description", str, default="", words="a description, for readers"),
    CLIENTS,
    Option(
        "reporting",
        str,
        choices=("all", "one"),
        default="all",
        words="each client reports all attributes, or one that is drawn publicly",
    ),
    Option(
        "pairs",
        list[list[str]],
        fewest=0,
        default=(),
        words='pairs of attributes with joint counts, such as [["income", "urban_rural"], ["income", "age"]]',
    ),
    replace(_FUNCTIONALS, default=("mean", "quantile(0.5)")),
    Option(
        "attributes",
        dict,
        is_needed=True,
        words=f"a table [attributes.NAME] for each attribute, NAME of {_NAME.format('')}",
    ),
    Option(
        "labels", dict, default={}, words="a table [labels.NAME] for each public label of clients, such as a region"
    ),
)
_TYPE = Option("type", str, choices=tuple(BY_TYPE), is_needed=True, words=" or ".join(map(repr, TYPES)))
_SHARED = (
    Option("column", str, words="the column's name in record files; default: the attribute's name"),
    Option(
        "title", str, default="", words="the title that pages, pictures and forms show; default: the name as written"
    ),
    Option(
        "epsilon",
        Budget,
        is_needed=True,
        words='the epsilon of one report: a number above 0 or "ln 3"; optional for stated, which computes it',
    ),
    _FUNCTIONALS,
    Option("client", dict, words="the mechanism's integers in a canonical text; set by ldpflow"),
)
_PROMISED = replace(
    next(key for key in _SHARED if key.type is Budget), is_needed=False
)  # for channels of other systems
_OF_ONE = ("column", "functionals")  # keys that joint attributes lack
LATTICE = "lattice"  # a numeric attribute with support points
BINNED = "binned"  # a categorical attribute of ranges of a number
CROSSED = "crossed"  # a joint attribute of two columns' categories
SET = "set"  # a set of options
TEXT = "text"  # an open answer
PLANE = "plane"  # a joint attribute of two columns' numbers
_JOINT = Option(
    "of", list[str], fewest=2, is_needed=True, words="the two columns of a joint attribute, such as job and region"
)
_BINS = Option(
    "bins",
    list[Fraction],
    fewest=1,
    is_needed=True,
    words="the edges between ranges, increasing; an edge belongs to the upper range",
)
_STEP = Option(
    "step", Fraction, words="the distance between values, from lower to upper: 1 for counts, 1000 for rounded incomes"
)
_POINTS = Option(
    "values", list[Fraction], fewest=2, words="the possible values, increasing, in place of lower, upper and step"
)
_HEAPS = Option(
    "heaps",
    list[Fraction],
    fewest=0,
    words="respondents round to multiples of these numbers, such as [5, 10]; [] if not; default: estimated from reports",
)
_TITLES = Option(
    "titles",
    dict,
    default={},
    words='the titles of categories, such as { yes = "Yes, at least once" }; default: their names',
)
_CODES = Option("codes", dict, default={}, words='codes in record files and their categories, such as { 1 = "urban" }')
_NONRESPONSE = (  # of numbers
    replace(_CODES, words='codes for no answer in record files, such as { -1 = "missing" }'),
    Option(
        "missing",
        str,
        choices=("refuse", "category"),
        default="refuse",
        words="a missing value is an error, or an answer whose share is estimated",
    ),
)
_OWN = {
    "numeric": (
        Option("lower", Fraction, is_needed=True, words="the smallest value, a number"),
        Option("upper", Fraction, is_needed=True, words="the largest value, a number"),
        Option("unit", str, default="", words="the unit of the values, shown in tables and charts"),
        Option(
            "outside",
            str,
            choices=("clip", "refuse"),
            default="clip",
            words="a value outside the bounds is moved to the nearer one, or is an error",
        ),
        *_NONRESPONSE,
        Option(
            "level_rule",
            str,
            choices=("lepski", "undersmoothed", "fixed"),
            default="lepski",
            words="how the estimator projection chooses its resolution",
        ),
        Option("level", int, most=20, words='the resolution of level_rule = "fixed"'),
        Option(
            "assume",
            dict,
            words="{ second_derivative = M }: adds intervals that assume a root of int f''^2 of at most M",
        ),
        Option(
            "intervals",
            list[str],
            choices=(DISTRIBUTION_FREE,),
            fewest=0,
            default=(),
            words='["distribution_free"]: adds intervals that hold for every distribution of the values and are longer',
        ),
    ),
    "categorical": (
        Option(
            "categories",
            list[str],
            fewest=2,
            is_needed=True,
            words="the names of the categories; they are never taken from data",
        ),
        _TITLES,
        _CODES,
        Option("values", list[Fraction], words="a number for each category, for functionals"),
        Option(
            "outside",
            str,
            choices=("refuse", OTHER),
            default="refuse",
            words='a value that is neither category nor code is an error, or becomes "other", which categories must list',
        ),
        Option(
            "missing",
            str,
            choices=("refuse", "category"),
            default="refuse",
            words='a missing value is an error, or becomes the category "missing", which is added',
        ),
    ),
}
_CATEGORIES, _OUTSIDE = (key for key in _OWN["categorical"] if key.name in ("categories", "outside"))
_OWN[SET] = (
    replace(_CATEGORIES, words="the names of the options, 62 at most; they are never taken from data"),
    _TITLES,
    replace(_CODES, words='codes in record files and their options, such as { 1 = "bus" }'),
    Option("at_most", int, least=1, words="how many options one respondent may choose; default: all, 20 at most"),
    Option("columns", list[str], words="the columns of yes or no, one for each option; without them column is read"),
    Option("separator", str, default=";", words="separates the options in a text of a record file"),
    replace(
        _OUTSIDE,
        words='a value that is neither option nor code is an error, or the option "other", which must be listed',
    ),
    Option(
        "missing",
        str,
        choices=("refuse", NONE),
        default="refuse",
        words="a missing value is an error, or means that no option is chosen",
    ),
)
_OWN[TEXT] = (
    Option("max_bytes", int, least=1, most=MOST_SYMBOLS, is_needed=True, words="the most bytes of a text in UTF-8"),
    Option(
        "alphabet", str, default="", words="the characters of texts; default: all, with which fewer texts are found"
    ),
    Option(
        "normalize",
        list[str],
        choices=NORMALIZATIONS,
        fewest=0,
        default=NORMALIZATIONS,
        words="what makes two spellings one text: Unicode form NFC, small letters, single blanks; default: all three",
    ),
    replace(_OUTSIDE, words='a text too long, or with other characters, is an error, or becomes the text "other"'),
    next(key for key in _OWN["categorical"] if key.name == "missing"),
)
_LABELS = ("column", "title", "categories", "titles", "codes", "outside", "missing")
LABEL = (
    *(key for key in (*_SHARED, *_OWN["categorical"]) if key.name in _LABELS),
    Option(
        "control",
        str,
        default="",
        words="makes the categories the arms of an experiment: the category of the control arm, compared with all others",
    ),
)
_OWN[LATTICE] = (
    *(replace(key, is_needed=False) for key in _OWN["numeric"] if key.name in ("lower", "upper", "unit", "outside")),
    _STEP,
    _POINTS,
    _HEAPS,
    *_NONRESPONSE,
)
_OWN[BINNED] = (
    _BINS,
    next(key for key in _OWN["numeric"] if key.name == "unit"),
    replace(
        next(key for key in _OWN["categorical"] if key.name == "values"),
        words="a number for each range, for functionals",
    ),
    *_NONRESPONSE,
)
_OWN[CROSSED] = (
    _JOINT,
    Option(
        "categories",
        list[list[str]],
        fewest=2,
        is_needed=True,
        words="two lists: the names of the categories of each column; they are never taken from data",
    ),
    Option("outside", str, choices=("refuse",), default="refuse", words="a value that is no category is an error"),
    Option("missing", str, choices=("refuse",), default="refuse", words="an absent value is refused"),
)
_OWN[PLANE] = (
    _JOINT,
    Option("lower", list[Fraction], fewest=2, is_needed=True, words="the smallest value of each column, two numbers"),
    Option("upper", list[Fraction], fewest=2, is_needed=True, words="the largest value of each column, two numbers"),
    Option("units", list[str], fewest=2, default=("", ""), words="the unit of each column, shown in tables and charts"),
    next(key for key in _OWN["numeric"] if key.name == "outside"),
    Option("missing", str, choices=("refuse",), default="refuse", words="an absent value is refused"),
)


_DEFAULTS = {
    "numeric": "the default, with the lowest error",
    "categorical": "the default with these options",
}
_AUTOMATIC = {
    "categorical": "the smallest report among mechanisms within 1 % of the lowest variance",
    LATTICE: "the lowest expected error for the planned clients",
}
_DEFAULTS[BINNED], _AUTOMATIC[BINNED] = _DEFAULTS["categorical"], _AUTOMATIC["categorical"]
_AUTOMATIC[CROSSED] = _AUTOMATIC["categorical"]
_DEFAULTS[PLANE] = "the only mechanism for two numbers"
_DEFAULTS[SET] = "the only mechanism for sets of options"
_DEFAULTS[TEXT] = "the only mechanism for texts"
_CHOSEN = ("categorical", BINNED, LATTICE, CROSSED)  # kinds with an automatic choice of the mechanism


def kind_of(table: Mapping[str, Any]) -> str:
    """Return the kind of an attribute's values, a key of `BY_KIND`: its type, refined by the table's other keys."""
    kind = str(read((_TYPE,), table)["type"])
    if kind in (SET, TEXT):
        return kind
    if _JOINT.name in table:
        return PLANE if kind == "numeric" else CROSSED
    if kind == "numeric":
        return LATTICE if _STEP.name in table or _POINTS.name in table else kind
    return BINNED if _BINS.name in table else kind


def of_attribute(kind: str, mechanism: str) -> tuple[Option, ...]:
    """Return the keys of an attribute's table, including the mechanism's options; kind: see `kind_of`."""
    kinds, named = IN_SCHEMES[kind], _mechanism(kind)
    declared = kinds.get(mechanism, next(iter(kinds.values()))).declared
    estimators = (LOG_LINEAR,) if kind == LATTICE else declared.estimators
    estimator = Option("estimator", str, choices=estimators, default=estimators[0], words="the estimator")
    shared = [
        key if declared.is_asked or key.type is not Budget else _PROMISED
        for key in _SHARED
        if kind not in (CROSSED, PLANE) or key.name not in _OF_ONE
    ]
    return (_TYPE, *shared, named, estimator, *_OWN[kind], *(declared.options if mechanism in kinds else ()))


def _mechanism(kind: str) -> Option:
    names = (*IN_SCHEMES[kind], AUTO) if kind in _AUTOMATIC else tuple(IN_SCHEMES[kind])
    return Option(
        "mechanism",
        str,
        choices=names,
        default=AUTO if kind in _CHOSEN else names[0],
        words="the mechanism that privatizes answers on the device",
    )


def read_attribute(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the values of an attribute's table by key; raises SchemeError, which names the key, for an invalid one."""
    read((_TYPE,), table, where)
    kind = kind_of(table)
    mechanism = read((replace(_mechanism(kind), default=_default(kind, table)),), table, where)["mechanism"]
    keys, options = of_attribute(kind, mechanism), options_of(kind)
    check_known(table, (*(key.name for key in keys if key.name not in options), *options), where.removesuffix("."))
    for key, owners in options.items():
        if key in table and mechanism not in owners:
            raise SchemeError(
                f'{where}{key} needs mechanism = "{owners[0]}", got mechanism = "{mechanism}"; remove or change one'
            )
    return read(keys, table, where) | {"mechanism": mechanism}


def reason(table: Mapping[str, Any]) -> str:
    """Return why an attribute has its mechanism, if its table does not name one; otherwise ''."""
    kind, mechanism = kind_of(table), table.get("mechanism")
    if mechanism is not None:
        return _AUTOMATIC[kind] if mechanism == AUTO else ""
    if _default(kind, table) == AUTO:
        return _AUTOMATIC[kind]
    if _default(kind, table) != next(iter(BY_KIND[kind])):
        return f"the first mechanism with {', '.join(_restricting(kind, table))}"
    return _DEFAULTS[kind]


def _default(kind: str, table: Mapping[str, Any]) -> str:
    """The default mechanism: the first that has the table's options and estimator, otherwise the first."""
    own_keys = _restricting(kind, table)
    if kind in _CHOSEN and not {*own_keys} - {"estimator"}:
        return AUTO
    fitting = (
        name
        for name, mechanism in IN_SCHEMES[kind].items()
        if {key for key in own_keys if key != "estimator"} <= {option.name for option in mechanism.declared.options}
        and ("estimator" not in own_keys or kind == LATTICE or table["estimator"] in mechanism.declared.estimators)
    )
    return next(fitting, next(iter(BY_KIND[kind])))


def _restricting(kind: str, table: Mapping[str, Any]) -> list[str]:
    """The keys of a table that restrict its mechanism."""
    return [key for key in ("estimator", *options_of(kind)) if key in table]
