"""One attribute of a scheme: its domain, and how values become the input cells of its mechanism."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpcore.errors import InvalidRecord
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.fisher_information import room_of, spread
from dpcore.privacy.budget import Budget
from dpcore.protocol.domain import dates
from dpcore.protocol.records.category_names import ABSENT, Names, floats, is_missing, numeral, refuse
from dpcore.protocol.syntax.fields import listed, name_of, number
from dpcore.protocol.syntax.keys import BINNED, CROSSED, LATTICE, OTHER, PLANE

MISSING = "missing"  # the category that `missing = "category"` adds


@dataclass(frozen=True, eq=False, kw_only=True)
class Attribute:
    """One attribute: its domain, the reading of its values, its mechanism, and what is estimated.

    This class has the methods of numbers and listed categories; attributes of other kinds have their own.
    """

    answer: ClassVar[str] = "a category"  # what a record holds, for messages
    silence: ClassVar[str] = "category"  # the value of `missing` that accepts no answer, '' if none does
    is_open: ClassVar[bool] = False  # whether answers are texts that are not listed; input cells are then bytes
    alone: ClassVar[str] = ""  # a value's description if it can be in no pair and no regression, otherwise ''
    instead: ClassVar[str] = ""  # what a regression may ask for in its place
    most_label_cells: ClassVar[float] = math.inf  # combinations of labels whose sums can be stored

    name: str
    type: str  # of `attribute_types.TYPES`, or 'label'
    column: str
    mechanism: Mechanism
    missing: str = "refuse"
    functionals: tuple[str, ...] = ()
    estimator: str
    # numeric
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(1)
    title: str = ""  # for readers; '' for the name
    unit: str = ""
    outside: str = "clip"
    points: tuple[Fraction, ...] | None = None  # support points, increasing; named by `categories`; None for a density
    step: Fraction | None = None  # between support points; None if they are listed
    heaps: tuple[Fraction, ...] | None = None  # respondents round to multiples of these; None if estimated from reports
    level_rule: str = "lepski"
    level: int | None = None
    assume: Fraction | None = None  # a bound on the root of int f''^2, in the unit to the power -5/2
    intervals: tuple[str, ...] = ()  # kinds computed in addition to the data-driven interval
    # categorical
    bins: tuple[Fraction, ...] | None = None  # edges of the ranges that the categories are, for a binned number
    categories: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)  # category -> title, in the order of `categories`
    codes: Mapping[str, str] = field(default_factory=dict)
    at_most: int | None = None  # how many categories one respondent may have; None for exactly one
    boxes: tuple[Attribute, ...] = ()  # the column of each category, yes or no, if there are such columns
    values: tuple[float, ...] | None = None
    design: str | None = None
    control: str = ""  # of a label whose categories are the arms of an experiment: the control arm; '' for any other
    sides: tuple[Attribute, ...] = ()  # the two columns of a joint attribute, each as an attribute of its own

    @property
    def questions(self) -> tuple[Attribute, ...]:
        """The columns that a record needs: this attribute, the sides of a joint attribute, or the boxes."""
        return self.sides or self.boxes or (self,)

    @property
    def is_exclusive(self) -> bool:
        """Whether every respondent has exactly one answer, so that shares sum to one."""
        return self.at_most is None

    @property
    def has_numbers(self) -> bool:
        """Whether answers have a number, for functionals."""
        return self.is_numeric or self.values is not None

    @property
    def of(self) -> tuple[str, ...] | None:
        """The two columns of a joint attribute; None for any other."""
        return tuple(side.column for side in self.sides) or None

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The categories of each column of a joint attribute; `categories[i * k_2 + j]` is the pair (i, j)."""
        return tuple(side.categories for side in self.sides)

    @property
    def lowers(self) -> tuple[Fraction, ...]:
        """The lower bounds of the two numbers of a joint attribute."""
        return tuple(side.lower for side in self.sides)

    @property
    def uppers(self) -> tuple[Fraction, ...]:
        return tuple(side.upper for side in self.sides)

    @property
    def budget(self) -> Budget:
        """The epsilon of one report of this attribute."""
        return self.mechanism.budget

    @property
    def delta(self) -> Fraction:
        """The delta of one report; 0 unless the noise is Gaussian."""
        return self.mechanism.delta

    @property
    def is_numeric(self) -> bool:
        return self.type == "numeric"

    @property
    def reads_numbers(self) -> bool:
        """Whether records hold numbers; False for named categories."""
        return self.is_numeric or self.bins is not None

    @property
    def is_date(self) -> bool:
        """Whether its values are dates or times, in days."""
        return self.unit in dates.EXAMPLES

    @property
    def calendar(self) -> str:
        """The unit of its dates or times (`domain.dates`); '' for other attributes."""
        return self.unit if self.is_date else ""

    @property
    def kind(self) -> str:
        """The kind of its values: its type, or 'lattice' (support points), 'binned', 'crossed' or 'plane' (`syntax.keys`)."""
        if self.sides:
            return PLANE if self.is_numeric else CROSSED
        if self.bins is not None:
            return BINNED
        return self.type if self.points is None else LATTICE

    @property
    def has_density(self) -> bool:
        """Whether values are continuous between the bounds; otherwise the distribution is over `categories`."""
        return self.is_numeric and self.points is None and not self.sides

    def encode(self, column: Any, first: int = 0) -> np.ndarray:
        """Return the input cells, shape (n,), int64, of a column of n values, or of the two columns of a joint attribute.

        `first`: number of records before this column's, for messages, which count from 1.  Raises InvalidRecord, which names
        the column and the record's number, never the value.
        """
        if self.sides:
            return self._encode_together(column, first)
        if isinstance(column, np.ma.MaskedArray):  # from DuckDB's `fetchnumpy`; masked entries hold arbitrary values
            column = column.tolist()
        if not self.reads_numbers:
            return self._encode_answers(column, first)
        if self.is_date:
            try:
                column = dates.day_numbers(column, self.unit, self.codes)
            except (TypeError, ValueError):
                raise InvalidRecord(
                    f"column {self.column!r} must hold {dates.EXAMPLES[self.unit]}, and a value is not; fix the file"
                ) from None
        if self.missing == "refuse" and not self.codes:
            return self._cells_of(self._numbers(column, first))
        column, is_silent = self._silent(column)
        if self.missing == "refuse":
            refuse(is_silent, first, f"column {self.column!r} has no value", self._expected)
        return np.where(is_silent, self.cells[-1], self._cells_of(self._numbers(column, first)))

    def _encode_together(self, columns: Any, first: int) -> np.ndarray:
        one, other = (side.encode(column, first) for side, column in zip(self.sides, columns, strict=True))
        if len(one) != len(other):
            raise InvalidRecord(
                f"columns {' and '.join(map(repr, self.of or ()))} must have the same length, got {len(one)} and {len(other)}"
            )
        return one * len(self.sides[1].cells) + other

    def encode_columns(self, columns: Sequence[Any], first: int = 0) -> np.ndarray:
        """Return the input cells of the columns of `questions`, or of its own column alone, as `encode`."""
        return self.encode(columns if self.sides else columns[0], first)

    @cached_property
    def cells(self) -> np.ndarray:
        """The input cells of values, increasing, int64: one per category or support point, (k,); all cells of a density.

        Of open answers: some of them, as fixed-width bytes.  Support points are spread over the cells of a wave mechanism,
        which has more cells.  If nonresponse is an answer, its cell is the last.
        """
        if self.has_density:
            silent = [self.mechanism.inputs - 1] if self.missing == "category" else []
            return np.array([*range(self._room), *silent], dtype=np.int64)
        if self.sides:
            return np.arange(self.mechanism.inputs)
        if self.points is None:
            return np.arange(len(self.answers))
        return spread(len(self.points), self.mechanism.inputs, len(self.categories) > len(self.points))

    def _cells_of(self, x: np.ndarray) -> np.ndarray:
        """The input cells of numbers: of the bin, the nearest support point (a tie goes up) or the density's grid."""
        if self.bins is not None:
            return np.searchsorted([float(edge) for edge in self.bins], x, side="right")
        if self.points is None:
            share, cells = (x - float(self.lower)) / float(self.upper - self.lower), self._room
            return np.minimum((share * cells).astype(np.int64), cells - 1)
        if self.step is not None:
            place = np.floor((x - float(self.lower)) / float(self.step) + 0.5).astype(np.int64)
            place = np.minimum(place, len(self._points) - 1)
        else:
            place = np.searchsorted((self._points[1:] + self._points[:-1]) / 2, x, side="right")
        return np.asarray(self.cells[place])

    @property
    def _room(self) -> int:
        """The number of input cells for the values of a density, without that of nonresponse."""
        return room_of(self.mechanism.inputs) if self.missing == "category" else self.mechanism.inputs

    @cached_property
    def _points(self) -> np.ndarray:
        return np.array([float(point) for point in self.points or ()])

    def _silent(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        """The column with `lower` in place of nonresponse, and where that is, (n,) bool: a code, or no value."""
        numbers = [number for number in map(numeral, self.codes) if number is not None]
        try:
            plain = np.asarray(column).reshape(len(column))
        except ValueError:  # a list among the values; `_numbers` rejects it
            return column, np.zeros(len(column), dtype=bool)
        if plain.dtype.kind in "iuf":
            x = floats(plain)
            is_silent = np.isnan(x) | np.isin(x, numbers)
            return np.where(is_silent, float(self.lower), x), is_silent
        values = np.asarray(column, dtype=object)
        is_silent = np.array(
            [is_missing(value) or (isinstance(value, str) and value in self.codes) for value in values.tolist()],
            dtype=bool,
        )
        filled = np.where(is_silent, float(self.lower), values)
        try:
            x = floats(filled)
        except (TypeError, ValueError, OverflowError):
            return filled, is_silent  # `_numbers` rejects what is not a number
        is_silent |= np.isin(x, numbers)
        return np.where(is_silent, float(self.lower), x), is_silent

    def _numbers(self, column: Any, first: int) -> np.ndarray:
        """The numbers of a column, (n,), clipped to the bounds or rejected outside them."""
        try:
            x = floats(column)
        except (TypeError, ValueError, OverflowError):
            raise InvalidRecord(
                f"column {self.column!r} must hold numbers, and at least one value is not; fix the file or the scheme"
            ) from None
        refuse(np.isnan(x), first, f"column {self.column!r} has no value", self._expected)
        if self.bins is not None:
            return x
        outside = (x < float(self.lower)) | (x > float(self.upper))
        if self.outside == "refuse":
            remedy = f'{self._expected}; widen the bounds or set outside = "clip"'
            refuse(outside, first, f"column {self.column!r} is outside its bounds", remedy)
        return np.clip(x, float(self.lower), float(self.upper))

    @property
    def _expected(self) -> str:
        """The expected value of a record, for messages."""
        if self.is_date:
            ends = [dates.date_text(float(end), self.unit) for end in (self.lower, self.upper)]
            kind = "date" if self.unit == dates.DAYS else "time"
            return f"a {kind} from {ends[0]} to {ends[1]} {dates.SUFFIXES[self.unit]}".rstrip()
        return "a number" + ("" if self.bins is not None else f" in [{number(self.lower)}, {number(self.upper)}]")

    def codes_of(self, column: Any) -> np.ndarray:
        """Return the input cells of a column of answers, (n,) int64, or a code below 0 for values that have none.

        Raises InvalidRecord or TypeError if a value is a list or another that no answer can be.
        """
        return self.names.cells(column)

    def _encode_answers(self, column: Any, first: int) -> np.ndarray:
        try:
            cells = self.codes_of(column)
        except TypeError:
            raise InvalidRecord(
                f"column {self.column!r} must hold {self.answer} in each record, and at least one value is none; fix the file"
            ) from None
        if len(cells) and cells.min() < 0:
            strange = np.flatnonzero(cells < 0)
            absent = cells[strange] == ABSENT
            self._refuse_absent(absent, first, strange)
            if self.missing != "refuse":
                cells[strange[absent]] = self.categories.index(MISSING) if self.missing == "category" else 0
            if self.outside == OTHER:
                cells[strange[~absent]] = self.categories.index(OTHER)
            else:
                self._refuse_unlisted(~absent, first, strange, self.answers)
        return cells

    def _refuse_absent(self, absent: np.ndarray, first: int, positions: np.ndarray | None = None) -> None:
        if self.missing == "refuse":
            remedy = f' or set missing = "{self.silence}"' if self.silence else ""
            refuse(
                absent, first, f"column {self.column!r} has no value", f"{self.answer}; fill it in{remedy}", positions
            )

    def _refuse_unlisted(self, unlisted: np.ndarray, first: int, positions: np.ndarray, names: tuple[str, ...]) -> None:
        kinds = "categories" if self.is_exclusive else "options"
        problem = f"column {self.column!r} is not one of the scheme's {kinds}"
        refuse(unlisted, first, problem, f"one of {listed(names)}, or a code listed under codes", positions)

    @cached_property
    def names(self) -> Names:
        """The accepted spellings of its categories."""
        return Names(self.column, self.categories, self.codes)

    @property
    def answers(self) -> tuple[str, ...]:
        """The possible answers as texts, in the order of input cells."""
        return self.categories

    def shares(self, law: np.ndarray) -> np.ndarray:
        """Return the share of respondents with each category, (k,), from the distribution of answers."""
        return law

    def has_category(self, category: str) -> np.ndarray:
        """Return which answers have a category, (answers,), float64."""
        return (np.arange(len(self.categories)) == self.categories.index(category)).astype(np.float64)

    def numbers(self, functional: Any = None) -> np.ndarray:
        """Return the numbers of the answers that have one, float64, for a functional of them."""
        return np.asarray(self.values or (), dtype=np.float64)

    def refusal(self, functional: Any, degree: int | None = None) -> str | None:
        """Return why it has no such functional, None if it has; degree: of the splines of a density's estimate."""
        reason: str | None = functional.refuses_probabilities()
        if self.has_density:
            reason = functional.refuses(float(self.lower), float(self.upper), degree)
        return reason

    def refusal_of_mechanism(self, functional: Any) -> str | None:
        """Return why reports of its mechanism have no such functional, None if they have."""
        return None

    def names_of_shares(self, shares: Any = None) -> list[str]:
        """Return the answers that shares are stated for, without nonresponse; raises SchemeError for an impossible one."""
        return [name for name in self.categories if self.missing != "category" or name != MISSING]

    def law_of_shares(self, shares: Sequence[float]) -> np.ndarray:
        """Return the distribution of `answers` in which the categories have these shares."""
        return np.asarray(shares)

    def values_of(self, cell: Any) -> dict[str, Any]:
        """Return values of an input cell, by column; None for nonresponse."""
        if not self.sides:
            return {self.column: self.value_of(cell)}
        places = divmod(cell, len(self.sides[1].cells))
        return {side.column: side.value_of(place) for side, place in zip(self.sides, places, strict=True)}

    def value_of(self, cell: int) -> Any:
        """Return a value of an input cell of one column; None for nonresponse."""
        place = int(np.searchsorted(self.cells, cell))
        if self.has_density:
            cells = len(self.cells) - len(self.categories)
            if place == cells:
                return None
            return float(self.lower + (self.upper - self.lower) * (2 * cell + 1) / (2 * cells))
        if self.bins is not None:  # a value below all edges, then the edges
            first, *others = map(float, self.bins)
            values = [float(np.nextafter(first, -np.inf)), first, *others]
            return values[place] if place < len(values) else None
        if self.points is None:
            return None if self.missing == "category" and self.answers[place] == MISSING else self.answers[place]
        return float(self.points[place]) if place < len(self.points) else None

    @property
    def domain(self) -> str:
        """The values that it asks for, in short."""
        if self.sides:
            return " together with ".join(f"{side.column}: {side.domain}" for side in self.sides)
        if self.bins is not None:
            edges = listed(tuple(map(name_of, self.bins)))
            asked = f"{len(self.bins) + 1} ranges, divided at {edges} {self.unit}".strip()
        elif self.is_numeric:
            ends = [
                dates.date_text(x, self.unit) if self.is_date else f"{x:,g}"
                for x in (float(self.lower), float(self.upper))
            ]
            asked = f"{' to '.join(ends)} {dates.SUFFIXES.get(self.unit, self.unit)}".strip()
            asked += "" if self.points is None else f", {len(self.points)} values"
        else:
            asked = self.answers_in_words()
        return asked + (", or no answer" if self.missing == "category" else "")

    def answers_in_words(self) -> str:
        """Return the answers that it asks for, in short, without nonresponse."""
        return f"{len(self.categories) - (self.missing == 'category')} categories"
