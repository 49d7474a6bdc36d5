"""Sets of options, such as the answers to "select all that apply": at most `at_most` of the listed categories.

Records have them as lists, texts with a separator, one option alone, or one column of yes and no for each option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

from dpcore.errors import InvalidRecord, SchemeError
from dpcore.mechanisms.categorical.option_sets import ONE_CHOSEN, ONE_ITEM, OptionSets, is_joint_share
from dpcore.mechanisms.categorical.set_selection import MOST_CHOSEN, check_options
from dpcore.mechanisms.declaration import Option
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain.categories import categories_of
from dpcore.protocol.domain.pairs import Axis
from dpcore.protocol.records.arrow_columns import as_list
from dpcore.protocol.records.category_names import ABSENT, BLANKS, UNKNOWN, Names, is_missing, refuse
from dpcore.protocol.syntax.attribute_types import CATEGORIES, CODES
from dpcore.protocol.syntax.fields import check_client, printable
from dpcore.protocol.syntax.keys import NONE, OTHER, TITLES, Kind, own

UNIT = "options"  # of the number chosen
TOO_MANY = -3  # in place of a set: more options than one respondent may choose


class ChosenOptions:
    """Every accepted spelling of the sets of one attribute.

    names: of the options.  sets: the allowed ones.  separator: between the options of a text.
    other: the place of the option for unlisted values, -1 if they are refused.
    """

    def __init__(self, names: Names, sets: OptionSets, separator: str, other: int) -> None:
        self._names, self._sets, self._separator, self._other = names, sets, separator, other

    def cells(self, column: Any) -> np.ndarray:
        """Return the number of every set of a column, (n,) int64; UNKNOWN, ABSENT or TOO_MANY for values without one.

        Raises InvalidRecord if an option is neither a text nor a number.
        """
        values = as_list(column)
        chosen = [self._parts(value) for value in values]
        places = self._names.cells([option for parts in chosen for option in parts or ()])
        if self._other >= 0:
            places[places == UNKNOWN] = self._other
        sizes = [len(parts or ()) for parts in chosen]
        rows = np.repeat(np.arange(len(chosen)), sizes)
        is_alone = np.array(
            [isinstance(value, str) and size == 1 for value, size in zip(values, sizes, strict=True)], dtype=bool
        )
        members = np.zeros((len(chosen), self._sets.options), dtype=bool)
        members[rows[places >= 0], places[places >= 0]] = True
        cells = self.numbers(members)
        cells[rows[places < 0]] = UNKNOWN  # a list with a missing value is refused
        cells[rows[(places == ABSENT) & is_alone[rows]]] = ABSENT  # a text such as NA
        cells[[parts is None for parts in chosen]] = ABSENT
        return cells

    def numbers(self, members: np.ndarray) -> np.ndarray:
        """Return the number of every set, TOO_MANY for larger ones; members: (n, options) bool."""
        is_large = members.sum(axis=1) > self._sets.at_most
        cells = self._sets.numbers(members & ~is_large[:, None])
        cells[is_large] = TOO_MANY
        return cells

    def _parts(self, value: Any) -> list[Any] | None:
        """The options of one value; None if there is no value."""
        if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
            return list(value)
        if is_missing(value):
            return None
        if not isinstance(value, str):
            return [value]
        return [part for part in value.split(self._separator) if part.strip(BLANKS)] or None


@dataclass(frozen=True, eq=False, kw_only=True)
class SetAttribute(Attribute):
    """An attribute whose answers are sets of its categories.

    separator: between the options of a text.
    """

    answer = "a list of options"
    silence = NONE
    alone = "a set of options"
    instead = "one option alone, as a boolean"

    at_most: int  # never None
    separator: str

    @property
    def has_numbers(self) -> bool:
        """True: how many options are chosen."""
        return True

    def encode_columns(self, columns: Sequence[Any], first: int = 0) -> np.ndarray:
        if len(columns) == 1:
            return self.encode(columns[0], first)
        boxes = [box.encode(column, first) == 1 for box, column in zip(self.boxes, columns, strict=True)]
        if len({len(box) for box in boxes}) > 1:
            raise InvalidRecord(f"columns of {self.name} must have the same length, got {sorted({*map(len, boxes)})}")
        return self._accepted(self._chosen.numbers(np.stack(boxes, axis=1)), first)

    def codes_of(self, column: Any) -> np.ndarray:
        return self._chosen.cells(column)

    def _encode_answers(self, column: Any, first: int) -> np.ndarray:
        return self._accepted(self.codes_of(column), first)

    def _accepted(self, cells: np.ndarray, first: int) -> np.ndarray:
        """The input cells of sets, where no answer is the empty set, or refused."""
        if len(cells) and cells.min() < 0:
            strange = np.flatnonzero(cells < 0)
            absent, large = cells[strange] == ABSENT, cells[strange] == TOO_MANY
            self._refuse_absent(absent, first, strange)
            cells[strange[absent]] = 0
            remedy = f"at most {self.at_most}; raise at_most or correct the file"
            refuse(large, first, f"column {self.column!r} has too many options", remedy, strange)
            self._refuse_unlisted(~absent & ~large, first, strange, self.categories)
        return cells

    @cached_property
    def cells(self) -> np.ndarray:
        return np.arange(self.mechanism.inputs)

    @cached_property
    def sets(self) -> OptionSets:
        """The allowed sets of options."""
        return OptionSets(len(self.categories), self.at_most)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        return tuple(self.separator.join(compress(self.categories, row)) for row in self.sets.all_members())

    @cached_property
    def _chosen(self) -> ChosenOptions:
        other = self.categories.index(OTHER) if self.outside == OTHER else UNKNOWN
        return ChosenOptions(self.names, self.sets, self.separator, other)

    def shares(self, law: np.ndarray) -> np.ndarray:
        return np.asarray(law @ self.sets.all_members())

    def has_category(self, category: str) -> np.ndarray:
        return self.sets.all_members()[:, self.categories.index(category)].astype(np.float64)

    def numbers(self, functional: Any = None) -> np.ndarray:
        """Return how many options each set has; for a functional about options, 1 if it has all of these, else 0."""
        if functional is not None and functional.options:
            return np.prod([self.has_category(option) for option in functional.options], axis=0)
        return self.sets.sizes.astype(np.float64)

    def refusal(self, functional: Any, degree: int | None = None) -> str | None:
        reason: str | None = functional.refuses_options(self.categories)
        return reason

    def refusal_of_mechanism(self, functional: Any) -> str | None:
        if functional.options and self.at_most == 1:
            return ONE_CHOSEN
        return ONE_ITEM if functional.options and self.mechanism.sizes == (1,) else None

    def law_of_shares(self, shares: Sequence[float]) -> np.ndarray:
        """Return the distribution of allowed sets whose options are chosen independently, with these probabilities.

        Without the empty set where a missing value is an error.
        """
        mass = np.where(self.sets.all_members(), shares, 1 - np.asarray(shares)).prod(axis=1)
        if self.missing == "refuse":
            mass[0] = 0.0
        if not mass.sum() > 0:
            raise SchemeError(f"no set of at most {self.at_most} options has a share above 0")
        return np.asarray(mass / mass.sum())

    def values_of(self, cell: Any) -> dict[str, Any]:
        chosen = frozenset(compress(self.categories, self.sets.members(np.array([cell]))[0]))
        boxes = {box.column: name in chosen for box, name in zip(self.boxes, self.categories, strict=False)}
        return boxes or {self.column: chosen}

    def answers_in_words(self) -> str:
        return f"at most {self.at_most} of {len(self.categories)} options"


class _Box(Attribute):
    """The column of one option."""

    answer = "yes or no"
    silence = NONE


def _read(entries: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    listed = categories_of(entries)
    options, columns, separator = listed["categories"], entries["columns"], entries["separator"]
    at_most = entries["at_most"]
    if at_most is None:
        if len(options) > MOST_CHOSEN:
            raise SchemeError(
                f"at_most is missing; say how many of the {len(options)} options may be chosen, {MOST_CHOSEN} at most"
            )
        at_most = len(options)
    check_options(len(options), at_most)
    if columns is not None and (len(columns) != len(options) or len(set(columns)) != len(columns)):
        raise SchemeError(f"columns must list {len(options)} different columns, one for each option, got {columns!r}")
    if not separator or separator != separator.strip(" ") or any(separator in option for option in options):
        raise SchemeError(
            f"separator must be a text that no option contains, without blanks around it, got {separator!r}"
        )
    printable(separator=separator)
    boxes = () if columns is None else tuple(_box(column, entries["missing"]) for column in columns)
    return listed | {"at_most": at_most, "boxes": boxes, "unit": UNIT}


def _box(column: str, missing: str) -> Attribute:
    """The column of one option, yes or no; no value is no if `missing` is "none"."""
    printable(columns=column)
    return _Box(
        name=column,
        type="box",
        column=column,
        mechanism=Axis(len(CATEGORIES)),  # type: ignore[arg-type]  # makes no report
        estimator="",
        categories=CATEGORIES,
        codes=CODES,
        missing=missing,
    )


def check_boxes(described: Mapping[str, Attribute]) -> None:
    """Raise SchemeError if a column of yes and no is also read as something else.  described: attributes and labels."""
    for name, attribute in described.items():
        others = {name, attribute.column}
        for other in (other for key, other in described.items() if key != name):
            others |= {other.name, *(question.column for question in other.questions)}
        for box in attribute.boxes:
            if box.column in others:
                raise SchemeError(
                    f"attributes.{name}: column {box.column!r} of columns is also that of an attribute or label; rename one"
                )


def _sizes(entries: Mapping[str, Any]) -> dict[str, int]:
    joint = any(map(is_joint_share, entries["functionals"] or ()))
    return {"categories": len(entries["categories"]), "at_most": entries["at_most"], "least_size": 1 + joint}


def _check(entries: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    check_client(entries["mechanism"].parameters(), options=sizes["categories"], at_most=sizes["at_most"])
    return {}


def _own_table(a: SetAttribute) -> dict[str, Any]:
    table = {"categories": a.categories, "codes": dict(a.codes), "at_most": a.at_most, "separator": a.separator}
    table |= {"columns": [box.column for box in a.boxes]} if a.boxes else {}
    return table | ({} if a.outside == "refuse" else {"outside": a.outside})


KIND = Kind(
    keys=(
        own("categorical", "categories", words="the names of the options, 62 at most; they are never taken from data"),
        TITLES,
        own("categorical", "codes", words='codes in record files and their options, such as { 1 = "bus" }'),
        Option("at_most", int, least=1, words="how many options one respondent may choose; default: all, 20 at most"),
        Option(
            "columns", list[str], words="the columns of yes or no, one for each option; without them column is read"
        ),
        Option("separator", str, default=";", words="separates the options in a text of a record file"),
        own(
            "categorical",
            "outside",
            words='a value that is neither option nor code is an error, or the option "other", which must be listed',
        ),
        Option(
            "missing",
            str,
            choices=("refuse", NONE),
            default="refuse",
            words="a missing value is an error, or means that no option is chosen",
        ),
    ),
    reason="the only mechanism for sets of options",
    attribute=SetAttribute,
    read=_read,
    sizes=_sizes,
    check=_check,
    functionals=lambda entries, functionals: ("mean",),
    own_table=_own_table,
)
