"""The keys of a scheme, each with type, range, default and description, and what a kind of attribute declares.

Mechanisms declare their own options.  `json_schema` and the page of the reference are generated from these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpcore.mechanisms.declaration import Option
from dpcore.mechanisms.registry import BY_TYPE
from dpcore.privacy.budget import Budget
from dpcore.protocol.syntax.attribute_types import TYPES

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
TYPE = Option("type", str, choices=tuple(BY_TYPE), is_needed=True, words=" or ".join(map(repr, TYPES)))
SHARED = (
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
PROMISED = replace(next(key for key in SHARED if key.type is Budget), is_needed=False)  # for channels of other systems
OF_ONE = ("column", "functionals")  # keys that joint attributes lack
LATTICE = "lattice"  # a numeric attribute with support points
BINNED = "binned"  # a categorical attribute of ranges of a number
CROSSED = "crossed"  # a joint attribute of two columns' categories
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
TITLES = Option(
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
OWN = {
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
        TITLES,
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
_LABELS = ("column", "title", "categories", "titles", "codes", "outside", "missing")
LABEL = (
    *(key for key in (*SHARED, *OWN["categorical"]) if key.name in _LABELS),
    Option(
        "control",
        str,
        default="",
        words="makes the categories the arms of an experiment: the category of the control arm, compared with all others",
    ),
)
OWN[LATTICE] = (
    *(replace(key, is_needed=False) for key in OWN["numeric"] if key.name in ("lower", "upper", "unit", "outside")),
    _STEP,
    _POINTS,
    _HEAPS,
    *_NONRESPONSE,
)
OWN[BINNED] = (
    _BINS,
    next(key for key in OWN["numeric"] if key.name == "unit"),
    replace(
        next(key for key in OWN["categorical"] if key.name == "values"),
        words="a number for each range, for functionals",
    ),
    *_NONRESPONSE,
)
OWN[CROSSED] = (
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
OWN[PLANE] = (
    _JOINT,
    Option("lower", list[Fraction], fewest=2, is_needed=True, words="the smallest value of each column, two numbers"),
    Option("upper", list[Fraction], fewest=2, is_needed=True, words="the largest value of each column, two numbers"),
    Option("units", list[str], fewest=2, default=("", ""), words="the unit of each column, shown in tables and charts"),
    next(key for key in OWN["numeric"] if key.name == "outside"),
    Option("missing", str, choices=("refuse",), default="refuse", words="an absent value is refused"),
)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of attribute: its keys, and how its table becomes an attribute (`attribute_table`).

    keys: its own.  reason: why it has its default mechanism.  automatic: what `mechanism = "auto"` minimizes, '' without it.
    estimators: in place of its mechanism's.  is_joint: whether it has two columns.
    attribute: the class of attributes; 'Attribute' has no other methods than those of numbers and categories.
    read: its entries and its table -> further entries.  sizes: its entries -> what the design of its mechanism depends on.
    check: its entries with the mechanism, and the sizes -> further entries.  Both raise SchemeError for invalid tables.
    functionals: its entries and the scheme's functionals -> those of a table that names none.
    own_table: an attribute -> its own keys in a canonical text.
    """

    keys: tuple[Option, ...]
    reason: str
    attribute: type[Any]
    read: Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]
    sizes: Callable[[Mapping[str, Any]], dict[str, int]]
    own_table: Callable[[Any], dict[str, Any]]
    check: Callable[[Mapping[str, Any], Mapping[str, int]], dict[str, Any]] = lambda entries, sizes: {}
    functionals: Callable[[Mapping[str, Any], tuple[str, ...]], tuple[str, ...]] = lambda entries, functionals: ()
    automatic: str = ""
    estimators: tuple[str, ...] = ()
    is_joint: bool = False


def own(kind: str, name: str, **changes: Any) -> Option:
    """Return a key of a kind's own, with changes."""
    return replace(next(key for key in OWN[kind] if key.name == name), **changes)
