"""What a scheme may say, declared: each key with its type, range, default and words, and how a table of them is read.

Mechanisms declare their own options.  Scheme files are read by this, `json_schema` is made of it, and the reference's page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args, get_origin

from dpcore.errors import SchemeError, check_one_of, exact
from dpcore.mechanisms.declaration import Option
from dpcore.mechanisms.registry import BY_KIND, BY_TYPE, IN_SCHEMES, options_of
from dpcore.privacy.budget import INFINITE, UNBOUNDED, Budget
from dpcore.protocol.syntax.attribute_types import TYPES

AUTO = "auto"  # a categorical attribute's mechanism chosen by `mechanisms.choice`; the canonical scheme names the one it chose
LOG_LINEAR = "log_linear"  # the estimator of every attribute whose values are points
LOG_SPLINE = "log_spline"  # the estimator of every density of which silence is an answer
DISTRIBUTION_FREE = "distribution_free"  # of `intervals`
OTHER = "other"  # the declared category that `outside = "other"` maps unlisted values to
CLIENTS = Option("clients", int, least=1, most=10**12, default=100_000, words="how many are planned for")
_FUNCTIONALS = Option("functionals", list[str], fewest=0, words="what to estimate: 'mean', 'quantile(0.5)' and others")
_NAME = "lower-case letters, digits{} and _, the first a letter"

SCHEME = (
    Option("format", int, words="of a canonical text; nobody sets it"),
    Option("draws", int, words="how words become answers, a version; nobody sets it"),
    Option("name", str, is_needed=True, words=f"the scheme's name: {_NAME.format(', -')}"),
    Option("description", str, default="", words="what it is about, for people"),
    CLIENTS,
    Option("reporting", str, choices=("all", "one"), default="all", words="all attributes, or one drawn in public"),
    Option(
        "pairs",
        list[list[str]],
        fewest=0,
        default=(),
        words='two attributes each, whose joint counts are kept, such as [["income", "urban_rural"], ["income", "age"]]',
    ),
    replace(_FUNCTIONALS, default=("mean", "quantile(0.5)")),
    Option(
        "attributes",
        dict,
        is_needed=True,
        words=f"a table [attributes.NAME] for each question, NAME of {_NAME.format('')}",
    ),
    Option(
        "labels", dict, default={}, words="a table [labels.NAME] for each thing that is sent in clear, such as a region"
    ),
)
_TYPE = Option("type", str, choices=tuple(BY_TYPE), is_needed=True, words=" or ".join(map(repr, TYPES)))
_SHARED = (
    Option("column", str, words="its name in files, where that is another"),
    Option(
        "epsilon",
        Budget,
        is_needed=True,
        words='what a report spends: a number above 0 or "ln 3"; stated may leave it to be found',
    ),
    _FUNCTIONALS,
    Option("client", dict, words="the mechanism's integers in a canonical text; nobody writes them"),
)
_PROMISED = replace(next(key for key in _SHARED if key.type is Budget), is_needed=False)  # of what is stated of others
_OF_ONE = ("column", "functionals")  # of an attribute that is one column of numbers, or of categories with numbers
LATTICE = "lattice"  # the kind of a numeric attribute that says which values there are
BINNED = "binned"  # and of a categorical one that is of a number's ranges
CROSSED = "crossed"  # and of one that is of two columns' categories, asked together
PLANE = "plane"  # and of one that is of two columns' numbers
_OF = Option(
    "of", list[str], fewest=2, is_needed=True, words="the two columns that one report tells of, such as job and region"
)
_BINS = Option(
    "bins", list[Fraction], fewest=1, is_needed=True, words="where ranges meet, rising: an edge is in the upper one"
)
_STEP = Option(
    "step", Fraction, words="how far apart values are, from lower to upper: 1 of counts, 1000 of rounded incomes"
)
_POINTS = Option(
    "values", list[Fraction], fewest=2, words="the values there are, rising, in place of lower, upper and step"
)
_HEAPS = Option(
    "heaps",
    list[Fraction],
    fewest=0,
    words="whose multiples people round to, such as [5, 10]; [] where they do not; found from the reports where it is left out",
)
_CODES = Option("codes", dict, default={}, words='what a file says = which category that is, such as { 1 = "urban" }')
_SILENT = (  # of numbers
    replace(_CODES, words='what a file says of who gives no answer, such as { -1 = "missing" }'),
    Option(
        "missing",
        str,
        choices=("refuse", "category"),
        default="refuse",
        words="an absent value is refused, or is an answer like the others, whose share is estimated",
    ),
)
_OWN = {
    "numeric": (
        Option("lower", Fraction, is_needed=True, words="the least value, a number"),
        Option("upper", Fraction, is_needed=True, words="the largest value, a number"),
        Option("unit", str, default="", words="of the values, as tables and pictures show it"),
        Option(
            "outside",
            str,
            choices=("clip", "refuse"),
            default="clip",
            words="a value beyond goes to the nearer bound, or is refused",
        ),
        *_SILENT,
        Option(
            "level_rule",
            str,
            choices=("lepski", "undersmoothed", "fixed"),
            default="lepski",
            words="how `projection` finds its resolution",
        ),
        Option("level", int, most=20, words='the resolution of level_rule = "fixed"'),
        Option(
            "assume",
            dict,
            words="{ second_derivative = M }: the root of int f''^2 is at most M, and numbers have an interval for that, too",
        ),
        Option(
            "intervals",
            list[str],
            choices=(DISTRIBUTION_FREE,),
            fewest=0,
            default=(),
            words='["distribution_free"]: numbers have an interval that holds whatever the law of values, too, which is longer',
        ),
    ),
    "categorical": (
        Option("categories", list[str], fewest=2, is_needed=True, words="the names there are, never taken from data"),
        _CODES,
        Option("values", list[Fraction], words="a number for each category, so that functionals are estimated too"),
        Option(
            "outside",
            str,
            choices=("refuse", OTHER),
            default="refuse",
            words='a value that is neither category nor code is refused, or becomes "other", which `categories` must list',
        ),
        Option(
            "missing",
            str,
            choices=("refuse", "category"),
            default="refuse",
            words='an absent value is refused, or becomes the category "missing", which is added',
        ),
    ),
}
_LABELS = ("column", "categories", "codes", "outside", "missing")
LABEL = tuple(key for key in (*_SHARED, *_OWN["categorical"]) if key.name in _LABELS)
_OWN[LATTICE] = (
    *(replace(key, is_needed=False) for key in _OWN["numeric"] if key.name in ("lower", "upper", "unit", "outside")),
    _STEP,
    _POINTS,
    _HEAPS,
    *_SILENT,
)
_OWN[BINNED] = (
    _BINS,
    next(key for key in _OWN["numeric"] if key.name == "unit"),
    replace(
        next(key for key in _OWN["categorical"] if key.name == "values"),
        words="a number for each range, so that functionals are estimated too",
    ),
    *_SILENT,
)
_OWN[CROSSED] = (
    _OF,
    Option(
        "categories",
        list[list[str]],
        fewest=2,
        is_needed=True,
        words="two lists: the names there are in either column, never taken from data",
    ),
    Option("outside", str, choices=("refuse",), default="refuse", words="a value that is no category is refused"),
    Option("missing", str, choices=("refuse",), default="refuse", words="an absent value is refused"),
)
_OWN[PLANE] = (
    _OF,
    Option("lower", list[Fraction], fewest=2, is_needed=True, words="the least value of either column, two numbers"),
    Option("upper", list[Fraction], fewest=2, is_needed=True, words="the largest value of either column, two numbers"),
    Option("units", list[str], fewest=2, default=("", ""), words="of either column, as tables and pictures show it"),
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
_CHOSEN = ("categorical", BINNED, LATTICE, CROSSED)  # whose mechanism is chosen where none is named


def kind_of(table: Mapping[str, Any]) -> str:
    """Return what an attribute's values are: its type, or what its table makes of it: one of `BY_KIND`."""
    kind = str(read((_TYPE,), table)["type"])
    if _OF.name in table:
        return PLANE if kind == "numeric" else CROSSED
    if kind == "numeric":
        return LATTICE if _STEP.name in table or _POINTS.name in table else kind
    return BINNED if _BINS.name in table else kind


def of_attribute(kind: str, mechanism: str) -> tuple[Option, ...]:
    """Return the keys of an attribute's table, the mechanism's options among them; kind: as `kind_of` says."""
    kinds, named = IN_SCHEMES[kind], _mechanism(kind)
    declared = kinds.get(mechanism, next(iter(kinds.values()))).declared
    estimators = (LOG_LINEAR,) if kind == LATTICE else declared.estimators
    estimator = Option("estimator", str, choices=estimators, default=estimators[0], words="how reports are read")
    shared = [
        key if declared.is_asked or key.type is not Budget else _PROMISED
        for key in _SHARED
        if kind not in (CROSSED, PLANE) or key.name not in _OF_ONE
    ]
    return (_TYPE, *shared, named, estimator, *_OWN[kind], *(declared.options if mechanism in kinds else ()))


def _mechanism(kind: str) -> Option:
    names = (*IN_SCHEMES[kind], AUTO) if kind in _AUTOMATIC else tuple(IN_SCHEMES[kind])
    return Option(
        "mechanism", str, choices=names, default=AUTO if kind in _CHOSEN else names[0], words="how a device answers"
    )


def read_attribute(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return what a table says of an attribute, by key; raises SchemeError, which names the key, where it may not."""
    read((_TYPE,), table, where)
    kind = kind_of(table)
    mechanism = read((replace(_mechanism(kind), default=_meant(kind, table)),), table, where)["mechanism"]
    keys, options = of_attribute(kind, mechanism), options_of(kind)
    check_known(table, (*(key.name for key in keys if key.name not in options), *options), where.removesuffix("."))
    for key, owners in options.items():
        if key in table and mechanism not in owners:
            raise SchemeError(
                f'{where}{key} goes with mechanism = "{owners[0]}", got mechanism = "{mechanism}"; leave it out'
            )
    return read(keys, table, where) | {"mechanism": mechanism}


def reason(table: Mapping[str, Any]) -> str:
    """Why an attribute has its mechanism, where its table, which was read, leaves that open; '' where it names one."""
    kind, mechanism = kind_of(table), table.get("mechanism")
    if mechanism is not None:
        return _AUTOMATIC[kind] if mechanism == AUTO else ""
    if _meant(kind, table) == AUTO:
        return _AUTOMATIC[kind]
    if _meant(kind, table) != next(iter(BY_KIND[kind])):
        return f"the first mechanism with {', '.join(_telling(kind, table))}"
    return _DEFAULTS[kind]


def _meant(kind: str, table: Mapping[str, Any]) -> str:
    """The mechanism of an attribute that names none: the first that has its options and estimator, else the first of all."""
    own_keys = _telling(kind, table)
    if kind in _CHOSEN and not {*own_keys} - {"estimator"}:
        return AUTO
    fitting = (
        name
        for name, mechanism in IN_SCHEMES[kind].items()
        if {key for key in own_keys if key != "estimator"} <= {option.name for option in mechanism.declared.options}
        and ("estimator" not in own_keys or kind == LATTICE or table["estimator"] in mechanism.declared.estimators)
    )
    return next(fitting, next(iter(BY_KIND[kind])))


def _telling(kind: str, table: Mapping[str, Any]) -> list[str]:
    """The keys of a table that not every mechanism has, or has with this value."""
    return [key for key in ("estimator", *options_of(kind)) if key in table]


def read(keys: Iterable[Option], table: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Return the value of each key, the default of what a table leaves out; `where` stands before a key in messages."""
    return {key.name: _read(key, table, where) for key in keys}


def _read(key: Option, table: Mapping[str, Any], where: str) -> Any:
    try:
        if key.name in table:
            return value_of(key, table[key.name])
        if key.is_needed:
            raise SchemeError(f"{key.name} is missing; give {key.words}")
    except SchemeError as error:
        raise type(error)(f"{where}{error}") from None
    return key.default


def value_of(key: Option, value: Any) -> Any:
    """Return what a key's value is, numbers exact, tables as they are; raises SchemeError, which names it, for no value of its.

    Decimals come as texts.
    """
    name = key.name
    if get_origin(key.type) is list:
        if not isinstance(value, list) or len(value) < key.fewest:
            more = f" of at least {key.fewest}" if key.fewest else ""
            raise SchemeError(f"{name} must be a list{more}: {key.words}; got {value!r}")
        kind = get_args(key.type)[0]
        return [value_of(replace(key, type=kind, name=f"{name}[{i}]"), entry) for i, entry in enumerate(value)]
    if key.choices and value not in key.refused:
        check_one_of(key.choices, **{name: value})
    if key.type is int:
        if not isinstance(value, int) or isinstance(value, bool) or not key.least <= value <= key.most:
            raise SchemeError(f"{name} must be a whole number between {key.least:,} and {key.most:,}, got {value!r}")
    elif key.type is str:
        if not isinstance(value, str):
            raise SchemeError(f"{name} must be a text in quotes, got {value!r}")
    elif key.type is Fraction:
        return exact(**{name: value})
    elif key.type is Budget:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise SchemeError(f'{name} must be a number above 0 or "ln 3", got {value!r}')
        return INFINITE if value == UNBOUNDED else Budget.parse(value)
    return value


def check_known(table: Mapping[str, Any], accepted: tuple[str, ...], where: str) -> None:
    """Raise SchemeError where a table has a key that is none of the accepted ones."""
    for key in table:
        if key not in accepted:
            raise SchemeError(f"{where} has an unknown key {key!r}; accepted are {', '.join(accepted)}")
