"""The Scheme: what clients and aggregator agreed on, frozen and addressed by the hash of its canonical text.

A scheme is written in TOML.  `Scheme.from_toml` resolves every default and designs every mechanism; the canonical text
then holds the integers that clients use (weights, level laws, noise scales, SHA-256 of coefficient tables), so that a
client reads integers and evaluates nothing.  The canonical text reads back to the same scheme with the same digest.

Rules.  Numbers that carry privacy are read as exact fractions.  Unknown keys are refused.  A message names the field, the
value and what would be accepted; it never shows a record.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore.errors import InvalidRecord, SchemeError, check_one_of, check_within, exact
from dpcore.mechanisms import (
    DyadicWave,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from dpcore.mechanisms.choose import choose
from dpcore.mechanisms.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from dpcore.protocol import _toml

FORMAT = 1
DRAWS = 1  # how words become answers: labels of keyed streams, order of draws; another version, another digest
_LARGEST = 10**30  # of a bound: its eighth power is still a number
_FINEST = 2.0**-32  # least width of the bounds, relative to them: input cells are then far above rounding
MISSING = "missing"  # the category that `missing = "category"` adds
OTHER = "other"  # the declared category that `outside = "other"` maps unlisted values to
AUTO = "auto"  # a categorical attribute's mechanism chosen by `choose`; the canonical scheme names the one it chose
CATEGORICAL = {
    kind.name: kind for kind in (RandomizedResponse, UnaryEncoding, SubsetSelection, HadamardResponse, LocalHashing)
}
NUMERIC: dict[str, Any] = {kind.name: kind for kind in (WaveletLaplace, DyadicWave, SquareWave)}
FUNCTIONALS = (
    "mean",
    "variance",
    "moment",
    "central_moment",
    "cdf",
    "probability",
    "atom",
    "quantile",
    "derivative",
    "integrated_square",
    "power_integral",
    "entropy",
    "fisher_information",
    "wasserstein",
    "kullback_leibler",
)
REFERENCES = ("uniform",)  # what distances are taken to
_DEFAULT_FUNCTIONALS = ("mean", "quantile(0.5)")
_FUNCTIONAL = re.compile(rf"^([a-z_]+)(?:\(([-+0-9eE., ]*(?:{'|'.join(REFERENCES)})?)\))?$")
_NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")
_ESTIMATORS = {  # by mechanism, the default first; every other mechanism's is frequency
    WaveletLaplace.name: ("projection", "log_spline"),
    DyadicWave.name: ("log_spline", "ems", "em"),
    SquareWave.name: ("ems", "em", "log_spline"),
}
_LEVEL_RULES = ("lepski", "undersmoothed", "fixed")

_TOP_KEYS = ("format", "draws", "name", "description", "clients", "reporting", "pairs", "functionals", "attributes")
_SHARED_KEYS = ("type", "column", "missing", "mechanism", "epsilon", "functionals", "estimator", "client")
_CATEGORICAL_KEYS = ("categories", "codes", "values", "outside", "design", "variant")
_DESIGN_KEYS = {  # what the design of a numeric mechanism may be told
    WaveletLaplace.name: (
        "basis",
        "degree",
        "coarsest_level",
        "finest_level",
        "allocation",
        "a",
        "cells",
        "noise",
        "delta",
    ),
    DyadicWave.name: ("cells", "levels", "level_law", "widths"),
    SquareWave.name: ("cells", "widths"),
}
_NUMERIC_KEYS: tuple[str, ...] = ("lower", "upper", "unit", "outside", "level_rule", "level")
_NUMERIC_KEYS += tuple(dict.fromkeys(key for keys in _DESIGN_KEYS.values() for key in keys))


@dataclass(frozen=True, eq=False, kw_only=True)
class Attribute:
    """One thing asked of every client: its domain, how values are read, its mechanism, and what is estimated."""

    name: str
    type: str  # 'numeric' or 'categorical'
    column: str
    mechanism: Mechanism
    missing: str = "refuse"
    functionals: tuple[str, ...] = ()
    estimator: str
    # numeric
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(1)
    unit: str = ""
    outside: str = "clip"
    level_rule: str = "lepski"
    level: int | None = None
    # categorical
    categories: tuple[str, ...] = ()
    codes: Mapping[str, str] = field(default_factory=dict)
    values: tuple[float, ...] | None = None
    design: str | None = None

    @property
    def budget(self) -> Budget:
        """What one report of this attribute spends."""
        return self.mechanism.budget

    @property
    def delta(self) -> Fraction:
        """The delta that goes with the budget; 0 unless the noise is Gaussian."""
        return Fraction(getattr(self.mechanism, "delta", 0))

    @property
    def is_numeric(self) -> bool:
        return self.type == "numeric"

    def encode(self, column: Any, first: int = 0) -> np.ndarray:
        """Return the input cells, shape (n,), int64, of a column of n values.

        `first` is the position of the column's first record, for messages.  Raises InvalidRecord, naming the column and the
        position and never the value.
        """
        return self._encode_numbers(column, first) if self.is_numeric else self._encode_categories(column, first)

    def _encode_numbers(self, column: Any, first: int) -> np.ndarray:
        try:
            x = np.asarray(column, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError, OverflowError):
            raise InvalidRecord(
                f"column {self.column!r} must hold numbers, and at least one value is not; fix the file or the scheme"
            ) from None
        _refuse(np.isnan(x), first, f"column {self.column!r} has no value", f"a number in {self._bounds}")
        outside = (x < float(self.lower)) | (x > float(self.upper))
        if self.outside == "refuse":
            remedy = f'a number in {self._bounds}; widen the bounds or set outside = "clip"'
            _refuse(outside, first, f"column {self.column!r} is outside its bounds", remedy)
        share = (np.clip(x, float(self.lower), float(self.upper)) - float(self.lower)) / float(self.upper - self.lower)
        cells = self.mechanism.inputs
        return np.minimum((share * cells).astype(np.int64), cells - 1)

    def _encode_categories(self, column: Any, first: int) -> np.ndarray:
        lookup = self._lookup
        held = getattr(column, "array", column)  # what a Series of pandas holds
        if hasattr(held, "categories"):  # a Categorical: each label is looked up once
            labels = np.array([*(lookup.get(label, -1) for label in held.categories), -1], dtype=np.int64)
            cells = labels[np.asarray(held.codes)]  # -1, who has none, is the last
            if np.all(cells >= 0):
                return cells
        as_list = getattr(column, "to_pylist", None) or getattr(column, "tolist", None)  # Arrow's; pandas' and numpy's
        values = as_list() if as_list else list(column)
        try:
            cells = np.fromiter((lookup.get(value, -1) for value in values), dtype=np.int64, count=len(values))
        except TypeError:  # a list or another thing without a hash
            raise InvalidRecord(
                f"column {self.column!r} must hold texts or numbers, and at least one value is neither"
            ) from None
        unknown = np.flatnonzero(cells < 0)
        if unknown.size:
            absent = np.array([_is_missing(values[position]) for position in unknown])
            if self.missing == "category":
                cells[unknown[absent]] = self.categories.index(MISSING)
            else:
                remedy = 'a category; fill it in or set missing = "category"'
                _refuse(absent, first, f"column {self.column!r} has no value", remedy, unknown)
            if self.outside == OTHER:
                cells[unknown[~absent]] = self.categories.index(OTHER)
            else:
                _refuse(
                    ~absent,
                    first,
                    f"column {self.column!r} is not one of the scheme's categories",
                    f"one of {_listed(self.categories)}, or a code listed under codes",
                    unknown,
                )
        return cells

    @cached_property
    def _lookup(self) -> dict[Any, int]:
        """Every accepted spelling of a category: its label, its codes, and codes read as numbers."""
        index = {label: position for position, label in enumerate(self.categories)}
        lookup: dict[Any, int] = dict(index)
        for code, label in self.codes.items():
            lookup[code] = index[label]
        for spelling, position in list(lookup.items()):
            if re.fullmatch(r"-?\d+", spelling):
                lookup.setdefault(int(spelling), position)
        return lookup

    @property
    def _bounds(self) -> str:
        return f"[{_number(self.lower)}, {_number(self.upper)}]"


@dataclass(frozen=True, eq=False, kw_only=True)
class Scheme:
    """What both sides know.

    epsilon: natural-log units, the total one client spends in one round; `budget` is the same, exact.
    digest: 64 hex digits, SHA-256 of `canonical`.  draws: the version of what makes answers of a client's words; a memoized
    answer is the same for life only while it is, so that the digest, which every keyed stream is labelled with, covers it.

    Raises SchemeError from `from_toml` for anything the contract does not allow.
    """

    name: str
    description: str = ""
    clients: int
    reporting: str = "all"
    pairs: tuple[tuple[str, str], ...] = ()
    functionals: tuple[str, ...] = _DEFAULT_FUNCTIONALS
    attributes: Mapping[str, Attribute]
    draws: int = 1

    @classmethod
    def from_toml(cls, source: str | Path) -> Scheme:
        """Return the scheme in a file (a path) or in TOML text (a string with a line break)."""
        text = source if isinstance(source, str) and "\n" in source else _read(Path(source))
        try:
            document = tomllib.loads(text, parse_float=str)  # decimals stay exactly as written
        except tomllib.TOMLDecodeError as error:
            raise SchemeError(f"the scheme is not valid TOML: {error}") from None
        return _parse(document)

    @cached_property
    def canonical(self) -> str:
        """The scheme with every default resolved, as TOML; what the digest is taken of."""
        return _write(self)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @cached_property
    def units(self) -> tuple[tuple[str, ...], ...]:
        """What a client draws one of where `reporting = "one"`: an attribute, or all that pairs tie together."""
        groups = [{name} for name in self.attributes]
        for pair in self.pairs:
            tied = [group for group in groups if group & set(pair)]
            groups = [group for group in groups if not group & set(pair)] + [set().union(*tied)]
        order = list(self.attributes)
        return tuple(
            sorted((tuple(sorted(group, key=order.index)) for group in groups), key=lambda u: order.index(u[0]))
        )

    @cached_property
    def budget(self) -> Budget:
        """What one client spends in one round, exact: the sum over attributes, or over the dearest unit."""
        totals = [reduce(add, (self.attributes[name].budget for name in unit)) for unit in self.units]
        return reduce(add, totals) if self.reporting == "all" else max(totals, key=float)

    @property
    def epsilon(self) -> float:
        return float(self.budget)

    @cached_property
    def delta(self) -> Fraction:
        """What goes with the budget, exact: the sum over attributes, or the largest unit's; 0 without Gaussian noise."""
        totals = [sum((self.attributes[name].delta for name in unit), Fraction(0)) for unit in self.units]
        return sum(totals, Fraction(0)) if self.reporting == "all" else max(totals)

    def encode(self, records: Any, first: int = 0) -> dict[str, np.ndarray]:
        """Return the input cells of every attribute, shapes (n,), from a mapping, DataFrame or Arrow table of columns.

        Columns are found by the attribute's `column`, or by its name.  Raises InvalidRecord where a column is missing, where
        columns differ in length, or where a value is not allowed; nothing is privatized then.
        """
        present = list(records.keys() if hasattr(records, "keys") else getattr(records, "column_names", records))
        cells = {}
        for attribute in self.attributes.values():
            column = next((name for name in (attribute.column, attribute.name) if name in present), None)
            if column is None:
                raise InvalidRecord(
                    f"column {attribute.column!r} (attribute {attribute.name}) is missing among the records' {len(present)} "
                    "columns; rename one, or say its name with column = in the scheme"
                )
            values = records[column]
            cells[attribute.name] = attribute.encode([values] if np.ndim(values) == 0 else values, first)
        lengths = {len(column) for column in cells.values()}
        if len(lengths) > 1:
            raise InvalidRecord(f"all columns must have the same length, got lengths {sorted(lengths)}")
        return cells


def check_clients(clients: Any) -> None:
    """Raise SchemeError unless so many clients can be planned for."""
    if not isinstance(clients, int) or isinstance(clients, bool) or not 1 <= clients <= 10**12:
        raise SchemeError(f"clients must be a whole number between 1 and 10^12, got {clients!r}")


def _parse(document: Mapping[str, Any]) -> Scheme:
    _known(document, _TOP_KEYS, "the scheme")
    if document.get("format", FORMAT) != FORMAT:
        raise SchemeError(f"format must be {FORMAT}, got {document['format']!r}; upgrade ldpflow to read this scheme")
    # A canonical text without the key is of the first version; one that a person wrote is drawn by this one.
    draws = document.get("draws", 1 if "format" in document else DRAWS)
    if isinstance(draws, bool) or draws != DRAWS:
        raise SchemeError(
            f"draws must be {DRAWS}, the version of how answers are drawn here, got {draws!r}; read this scheme with an "
            "ldpflow that draws so, or answers that were paid for would be drawn anew"
        )
    name = _text(document, "name", "the scheme")
    if not _NAME.match(name):
        raise SchemeError(f"name must be lower-case letters, digits and _, got {name!r}")
    clients = document.get("clients", 100_000)
    check_clients(clients)
    reporting = document.get("reporting", "all")
    check_one_of(("all", "one"), reporting=reporting)
    functionals = _functionals(document.get("functionals", list(_DEFAULT_FUNCTIONALS)), "functionals")
    tables = document.get("attributes", {})
    if not isinstance(tables, Mapping) or not tables:
        raise SchemeError("a scheme needs at least one [attributes.NAME] table, got none")
    share = clients if reporting == "all" else max(1, clients // len(tables))
    attributes = {key: _parse_attribute(key, table, share, functionals) for key, table in tables.items()}
    _columns_differ(attributes)
    return Scheme(
        name=name,
        description=str(document.get("description", "")),
        clients=clients,
        reporting=reporting,
        pairs=_pairs(document.get("pairs", []), attributes),
        functionals=functionals,
        attributes=MappingProxyType(attributes),
        draws=draws,
    )


def _columns_differ(attributes: Mapping[str, Attribute]) -> None:
    """Raise SchemeError where a column of reports would have two meanings: reports of that shape could not be read."""
    for name, attribute in attributes.items():
        if attribute.mechanism.sizes != (1,):
            for taken in (f"{name}_level", f"{name}_values"):
                if taken in attributes:
                    raise SchemeError(
                        f"attributes {name} and {taken} cannot be in one scheme, as reports of {name} have a column {taken}; "
                        "rename one, and say its name in files with column ="
                    )


def _parse_attribute(name: str, table: Any, clients: int, functionals: tuple[str, ...]) -> Attribute:
    where = f"attributes.{name}"
    if not isinstance(table, Mapping) or not _NAME.match(name):
        raise SchemeError(f"{where} must be a table whose name is lower-case letters, digits and _")
    kind = table.get("type")
    if kind not in ("numeric", "categorical"):
        raise SchemeError(f"{where}.type must be 'numeric' or 'categorical', got {kind!r}")
    _known(table, _SHARED_KEYS + (_NUMERIC_KEYS if kind == "numeric" else _CATEGORICAL_KEYS), where)
    if "epsilon" not in table:
        raise SchemeError(f'{where}.epsilon is missing; give a number above 0 or "ln 3"')
    if isinstance(table["epsilon"], bool) or not isinstance(table["epsilon"], (int, str)):
        raise SchemeError(f'{where}.epsilon must be a number above 0 or "ln 3", got {table["epsilon"]!r}')
    missing = table.get("missing", "refuse")
    try:
        budget = Budget.parse(table["epsilon"])
        check_one_of(("refuse", "category") if kind == "categorical" else ("refuse",), missing=missing)
        estimators = _estimators(table, kind)
        shared = {
            "name": name,
            "column": str(table.get("column", name)),
            "missing": missing,
            "estimator": table.get("estimator", estimators[0]),
        }
        check_one_of(estimators, estimator=shared["estimator"])
        _printable(column=shared["column"], unit=str(table.get("unit", "")))
        build = _numeric if kind == "numeric" else _categorical
        return build(table, budget, clients, functionals, shared)
    except SchemeError as error:
        raise type(error)(f"{where}: {error}") from None


def _estimators(table: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    """The names of the estimators that the attribute's mechanism goes with, the default first."""
    if kind == "categorical":
        return ("frequency",)
    mechanism = table.get("mechanism", WaveletLaplace.name)
    check_one_of(tuple(NUMERIC), mechanism=mechanism)
    return _ESTIMATORS[mechanism]


def _numeric(
    table: Mapping[str, Any], budget: Budget, clients: int, functionals: tuple[str, ...], shared: dict[str, Any]
) -> Attribute:
    lower, upper = _fraction(table, "lower"), _fraction(table, "upper")
    check_within(-_LARGEST, _LARGEST, lower=lower, upper=upper)
    if not lower < upper:
        raise SchemeError(f"lower must be below upper, got {_number(lower)} and {_number(upper)}")
    if float(upper - lower) <= _FINEST * max(abs(float(lower)), abs(float(upper))):
        raise SchemeError(
            f"lower and upper are too close to tell values apart, got {_number(lower)} and {_number(upper)}"
        )
    outside, level_rule = table.get("outside", "clip"), table.get("level_rule", "lepski")
    check_one_of(("clip", "refuse"), outside=outside)
    check_one_of(_LEVEL_RULES, level_rule=level_rule)
    if shared["estimator"] != "projection" and ("level_rule" in table or "level" in table):
        raise SchemeError(
            f'level_rule and level go with estimator = "projection" only, got estimator = "{shared["estimator"]}"'
        )
    level = _integer(table, "level", 0, 20) if "level" in table else None
    if (level_rule == "fixed") != (level is not None):
        raise SchemeError('level goes with level_rule = "fixed", and only with it')
    return Attribute(
        type="numeric",
        mechanism=_numeric_mechanism(table, budget, clients),
        functionals=_functionals(table["functionals"], "functionals") if "functionals" in table else functionals,
        lower=lower,
        upper=upper,
        unit=str(table.get("unit", "")),
        outside=outside,
        level_rule=level_rule,
        level=level,
        **shared,
    )


def _numeric_mechanism(table: Mapping[str, Any], budget: Budget, clients: int) -> Mechanism:
    """The mechanism of a numeric attribute: read where the text is canonical, designed elsewhere."""
    name = table.get("mechanism", WaveletLaplace.name)
    for key in table:
        owners = [owner for owner, keys in _DESIGN_KEYS.items() if key in keys]
        if owners and name not in owners:
            raise SchemeError(f'{key} goes with mechanism = "{owners[0]}", got mechanism = "{name}"; leave it out')
    if "client" in table:
        return _from_client(NUMERIC[name], budget, table["client"])
    options = {key: _design_option(table, key) for key in _DESIGN_KEYS[name] if key in table}
    if name == WaveletLaplace.name:
        options["clients"] = clients
    mechanism: Mechanism = NUMERIC[name].design(budget, **options)
    return mechanism


def _design_option(table: Mapping[str, Any], key: str) -> Any:
    """A design's option, as its type says: texts, fractions, lists of either, else a whole number."""
    value = table[key]
    if key in ("allocation", "basis", "noise"):
        return value
    if key in ("a", "delta"):
        return _fraction(table, key)
    if key not in ("level_law", "widths"):
        return _integer(table, key, 0, 1 << 20)
    if not isinstance(value, list) or not value:
        raise SchemeError(f"{key} must be a list of numbers, one for each level, got {value!r}")
    if key == "widths":
        return [_integer({key: width}, key, 1, 1 << 20) for width in value]
    return [_fraction({key: share}, key) for share in value]


def _categorical(
    table: Mapping[str, Any], budget: Budget, clients: int, functionals: tuple[str, ...], shared: dict[str, Any]
) -> Attribute:
    categories = table.get("categories")
    if not isinstance(categories, list) or len(categories) < 2 or not all(isinstance(c, str) and c for c in categories):
        raise SchemeError(f"categories must be a list of at least two names, got {categories!r}")
    for label in categories:
        _printable(categories=label)
    labels = tuple(categories)
    if shared["missing"] == "category" and MISSING not in labels:
        labels += (MISSING,)
    if len(set(labels)) != len(labels):
        raise SchemeError(f"categories must differ, got {categories!r}")
    codes = table.get("codes", {})
    if not isinstance(codes, Mapping):
        raise SchemeError(f'codes must map a file\'s codes to categories, such as {{ 1 = "urban" }}, got {codes!r}')
    for code, label in codes.items():
        if label not in labels:
            raise SchemeError(f"codes.{code} must be one of the categories {_listed(labels)}; got {label!r}")
    values = table.get("values")
    if values is not None:
        if not isinstance(values, list) or len(values) != len(labels):
            raise SchemeError(f"values must list one number for each of the {len(labels)} categories, got {values!r}")
        values = tuple(float(_fraction({"values": value}, "values")) for value in values)
    outside = table.get("outside", "refuse")
    check_one_of(("refuse", OTHER), outside=outside)
    if outside == OTHER and OTHER not in labels:
        raise SchemeError(f'outside = "other" needs a category named "other" among the {len(labels)} categories')
    mechanism = _categorical_mechanism(table, budget, len(labels))
    if values is None and table.get("functionals"):
        raise SchemeError(
            "functionals of categories need values, one number for each category; give them or leave both out"
        )
    own = _functionals(table["functionals"], "functionals") if "functionals" in table else ("mean",)
    return Attribute(
        type="categorical",
        mechanism=mechanism,
        functionals=own if values is not None else (),
        categories=labels,
        codes=MappingProxyType({str(code): label for code, label in codes.items()}),
        values=values,
        outside=outside,
        design=table.get("design"),
        **shared,
    )


def _categorical_mechanism(table: Mapping[str, Any], budget: Budget, categories: int) -> Mechanism:
    """The mechanism of a categorical attribute: read where the text is canonical, chosen and designed elsewhere."""
    name = table.get("mechanism", RandomizedResponse.name)
    check_one_of((*CATEGORICAL, AUTO), mechanism=name)
    for key, owner in (("design", RandomizedResponse.name), ("variant", UnaryEncoding.name)):
        if key in table and name != owner:
            raise SchemeError(f'{key} goes with mechanism = "{owner}" only, got mechanism = "{name}"')
    if "client" in table:
        if name == AUTO or "variant" in table:
            raise SchemeError(
                'a client table goes with the mechanism it belongs to; remove it, or variant and mechanism = "auto"'
            )
        mechanism = _from_client(CATEGORICAL[name], budget, table["client"])
        if mechanism.inputs != categories:
            raise SchemeError(
                f"client.categories must be {categories}, the number of categories, got {mechanism.inputs}"
            )
        return mechanism
    if name == AUTO:
        return choose(budget, categories=categories)
    options = {key: table[key] for key in ("design", "variant") if key in table}
    return CATEGORICAL[name].design(budget, categories=categories, **options)


def _from_client(kind: Any, budget: Budget, client: Any) -> Mechanism:
    """The mechanism whose integers a canonical text holds."""
    if not isinstance(client, Mapping):
        raise SchemeError(f"client must be a table of the mechanism's integers, got {client!r}")
    try:
        mechanism: Mechanism = kind.from_parameters(budget, client)
    except (KeyError, TypeError, ValueError) as error:
        raise SchemeError(
            f"client does not hold what {kind.name} needs ({error}); leave the table out to have it computed"
        ) from None
    return mechanism


def _pairs(pairs: Any, attributes: Mapping[str, Attribute]) -> tuple[tuple[str, str], ...]:
    parsed = []
    for pair in pairs if isinstance(pairs, list) else [pairs]:
        named = isinstance(pair, list) and all(isinstance(name, str) for name in pair)
        types = [attributes[name].type if name in attributes else "" for name in pair] if named else []
        if types != ["numeric", "categorical"]:
            raise SchemeError(
                f'pairs must list [NUMERIC, CATEGORICAL] attributes, such as [["income", "urban_rural"]]; got {pair!r}'
            )
        if attributes[pair[1]].mechanism.name != RandomizedResponse.name:
            raise SchemeError(
                f'a pair needs mechanism = "{RandomizedResponse.name}" for {pair[1]}, whose report must name one category; '
                f"got {attributes[pair[1]].mechanism.name}"
            )
        parsed.append((pair[0], pair[1]))
    if len(set(parsed)) != len(parsed):
        raise SchemeError(f"pairs must differ, got {pairs!r}")
    return tuple(parsed)


def _functionals(names: Any, where: str) -> tuple[str, ...]:
    for name in names if isinstance(names, list) else [names]:
        match = _FUNCTIONAL.match(name) if isinstance(name, str) else None
        if not isinstance(names, list) or match is None or match[1] not in FUNCTIONALS:
            raise SchemeError(
                f"{where} must list functionals such as 'mean' or 'quantile(0.5)', of {', '.join(FUNCTIONALS)}; got {name!r}"
            )
    return tuple(names)


def _printable(**named: str) -> None:
    for name, value in named.items():
        if not value.isprintable() or len(value) > 200:
            raise SchemeError(f"{name} must be printable text of at most 200 characters, got {value[:40]!r}")


def _write(scheme: Scheme) -> str:
    """The canonical TOML: a fixed order of keys, exact numbers, one spelling."""

    def attribute(a: Attribute) -> dict[str, Any]:
        common = {
            "type": a.type,
            "column": a.column,
            "missing": a.missing,
            "mechanism": a.mechanism.name,
            "epsilon": a.budget.text,
            "estimator": a.estimator,
            "functionals": list(a.functionals),
        }
        if a.is_numeric:
            own: dict[str, Any] = {
                "lower": _number(a.lower),
                "upper": _number(a.upper),
                "unit": a.unit,
                "outside": a.outside,
            }
            own |= {"level_rule": a.level_rule} if a.estimator == "projection" else {}
            own |= {} if a.level is None else {"level": a.level}
        else:
            own = {"categories": list(a.categories), "codes": dict(sorted(a.codes.items()))}
            own |= {} if a.values is None else {"values": [_number(Fraction(repr(v))) for v in a.values]}
            own |= {} if a.outside == "refuse" else {"outside": a.outside}
            own |= {} if a.design is None else {"design": a.design}
        return common | own | {"client": dict(a.mechanism.parameters())}

    draws = (
        {} if scheme.draws == 1 else {"draws": scheme.draws}
    )  # schemes from before there was a version keep their digest
    return _toml.dumps(
        {
            "format": FORMAT,
            **draws,
            "name": scheme.name,
            "description": scheme.description,
            "clients": scheme.clients,
            "reporting": scheme.reporting,
            "pairs": [list(pair) for pair in scheme.pairs],
            "functionals": list(scheme.functionals),
            "attributes": {name: attribute(a) for name, a in scheme.attributes.items()},
        }
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemeError(f"no scheme file at {path}; see data/schemes for examples") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SchemeError(f"the scheme file {path} cannot be read: {error}") from None


def _known(table: Mapping[str, Any], accepted: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in accepted:
            raise SchemeError(f"{where} has an unknown key {key!r}; accepted are {', '.join(accepted)}")


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    if not isinstance(table.get(key), str):
        raise SchemeError(f"{where} needs {key}, a text; got {table.get(key)!r}")
    return str(table[key])


def _integer(table: Mapping[str, Any], key: str, low: int, high: int) -> int:
    value = table[key]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise SchemeError(f"{key} must be a whole number between {low} and {high}, got {value!r}")
    return value


def _fraction(table: Mapping[str, Any], key: str) -> Fraction:
    if key not in table:
        raise SchemeError(f"{key} is missing; give a number")
    return exact(**{key: table[key]})


def _number(value: Fraction) -> str | int:
    """A whole number as one, any other as the exact text that `_fraction` reads back."""
    return int(value) if value.denominator == 1 else str(value)


def _listed(names: tuple[str, ...]) -> str:
    """The names, or the first ten and how many more there are."""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return value == "" or (isinstance(value, float) and math.isnan(value))


def _refuse(bad: np.ndarray, first: int, what: str, expected: str, positions: np.ndarray | None = None) -> None:
    """Raise InvalidRecord for the first True in `bad`, saying where it stands and how many there are."""
    if bad.any():
        found = np.flatnonzero(bad) if positions is None else positions[bad]
        raise InvalidRecord(f"{what} at record {first + int(found[0])} ({len(found)} in all); expected {expected}")
