"""One attribute of a scheme: its domain, and how values become the input cells of its mechanism."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import compress
from numbers import Number
from typing import Any

import numpy as np

from dpcore.errors import InvalidRecord
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.categorical.option_sets import OptionSets
from dpcore.mechanisms.fisher_information import room_of, spread
from dpcore.privacy.budget import Budget
from dpcore.protocol.domain import dates
from dpcore.protocol.records.arrow_columns import as_numpy, is_arrow, whole
from dpcore.protocol.records.category_names import ABSENT, BLANKS, UNKNOWN, Names, is_missing
from dpcore.protocol.records.chosen_options import TOO_MANY, ChosenOptions
from dpcore.protocol.records.texts import TOO_LONG, TextDomain
from dpcore.protocol.syntax.fields import listed, number
from dpcore.protocol.syntax.keys import BINNED, CROSSED, LATTICE, NONE, OTHER, PLANE

BOX = "box"  # the type of the column of one option of a set, yes or no
MISSING = "missing"  # the category that `missing = "category"` adds
_EXPECTED = {  # and what `missing` may be
    "set": ("a list of options", NONE),
    BOX: ("yes or no", NONE),
    "text": ("a text", "category"),
}
_BLANK = rf"[{BLANKS}]*"  # as the client in the browser reads numbers in texts
_NUMERAL = re.compile(rf"{_BLANK}[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?{_BLANK}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Attribute:
    """One attribute: its domain, the reading of its values, its mechanism, and what is estimated."""

    name: str
    type: str  # 'numeric', 'categorical', 'set' or 'text'
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
    at_most: int | None = None  # how many options one respondent may choose, of a set
    boxes: tuple[Attribute, ...] = ()  # the column of each option, yes or no, of a set that has no column of its own
    separator: str = ""  # between the options of a text
    texts: TextDomain | None = None  # of open answers
    values: tuple[float, ...] | None = None
    design: str | None = None
    control: str = ""  # of a label whose categories are the arms of an experiment: the control arm; '' for any other
    sides: tuple[Attribute, ...] = ()  # the two columns of a joint attribute, each as an attribute of its own

    @property
    def questions(self) -> tuple[Attribute, ...]:
        """The columns that a record needs: this attribute, the sides of a joint attribute, or the boxes of a set."""
        return self.sides or self.boxes or (self,)

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
        if self.texts is not None:
            return self._encode_texts(self.texts, column, first)
        if not self.reads_numbers:
            return self._encode_categories(column, first)
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
            _refuse(is_silent, first, f"column {self.column!r} has no value", self._expected)
        return np.where(is_silent, self.cells[-1], self._cells_of(self._numbers(column, first)))

    def _encode_together(self, columns: Any, first: int) -> np.ndarray:
        one, other = (side.encode(column, first) for side, column in zip(self.sides, columns, strict=True))
        if len(one) != len(other):
            raise InvalidRecord(
                f"columns {' and '.join(map(repr, self.of or ()))} must have the same length, got {len(one)} and {len(other)}"
            )
        return one * len(self.sides[1].cells) + other

    def encode_boxes(self, columns: Sequence[Any], first: int = 0) -> np.ndarray:
        """Return the input cells, shape (n,), int64, of a set with one column of yes and no for each option, as `encode`."""
        boxes = [box.encode(column, first) == 1 for box, column in zip(self.boxes, columns, strict=True)]
        if len({len(box) for box in boxes}) > 1:
            raise InvalidRecord(f"columns of {self.name} must have the same length, got {sorted({*map(len, boxes)})}")
        return self._accepted(self._chosen.numbers(np.stack(boxes, axis=1)), first)

    @cached_property
    def cells(self) -> np.ndarray:
        """The input cells of values, increasing, int64: one per category or support point, (k,); all cells of a density.

        Of texts: some of them, as fixed-width bytes.  Support points are spread over the cells of a wave mechanism, which has
        more cells.  If nonresponse is an answer, its cell is the last.
        """
        if self.has_density:
            silent = [self.mechanism.inputs - 1] if self.missing == "category" else []
            return np.array([*range(self._room), *silent], dtype=np.int64)
        if self.texts is not None:
            return self.texts.examples()
        if self.sides or self.at_most is not None:
            return np.arange(self.mechanism.inputs)
        if self.points is None:
            return np.arange(len(self.categories))
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
            plain = np.asarray(column)
        except ValueError:  # a list among the values; `_numbers` rejects it
            return column, np.zeros(len(column), dtype=bool)
        if plain.dtype.kind in "iuf":
            x = _floats(plain)
            is_silent = np.isnan(x) | np.isin(x, numbers)
            return np.where(is_silent, float(self.lower), x), is_silent
        values = np.asarray(column, dtype=object)
        is_silent = np.array(
            [is_missing(value) or (isinstance(value, str) and value in self.codes) for value in values.tolist()],
            dtype=bool,
        )
        filled = np.where(is_silent, float(self.lower), values)
        try:
            x = _floats(filled)
        except (TypeError, ValueError, OverflowError):
            return filled, is_silent  # `_numbers` rejects what is not a number
        is_silent |= np.isin(x, numbers)
        return np.where(is_silent, float(self.lower), x), is_silent

    def _numbers(self, column: Any, first: int) -> np.ndarray:
        """The numbers of a column, (n,), clipped to the bounds or rejected outside them."""
        try:
            x = _floats(column)
        except (TypeError, ValueError, OverflowError):
            raise InvalidRecord(
                f"column {self.column!r} must hold numbers, and at least one value is not; fix the file or the scheme"
            ) from None
        _refuse(np.isnan(x), first, f"column {self.column!r} has no value", self._expected)
        if self.bins is not None:
            return x
        outside = (x < float(self.lower)) | (x > float(self.upper))
        if self.outside == "refuse":
            remedy = f'{self._expected}; widen the bounds or set outside = "clip"'
            _refuse(outside, first, f"column {self.column!r} is outside its bounds", remedy)
        return np.clip(x, float(self.lower), float(self.upper))

    @property
    def _expected(self) -> str:
        """The expected value of a record, for messages."""
        if self.is_date:
            ends = [dates.date_text(float(end), self.unit) for end in (self.lower, self.upper)]
            kind = "date" if self.unit == dates.DAYS else "time"
            return f"a {kind} from {ends[0]} to {ends[1]} {dates.SUFFIXES[self.unit]}".rstrip()
        return "a number" + ("" if self.bins is not None else f" in [{number(self.lower)}, {number(self.upper)}]")

    def _encode_categories(self, column: Any, first: int) -> np.ndarray:
        return self._accepted(self.names.cells(column), first)

    def _encode_texts(self, texts: TextDomain, column: Any, first: int) -> np.ndarray:
        try:
            cells, codes = texts.cells(column)
        except TypeError:  # a list or another unhashable value
            raise InvalidRecord(
                f"column {self.column!r} must hold texts or numbers, and at least one value is neither; fix the file"
            ) from None
        self._refuse_absent(codes == ABSENT, first)
        remedy = 'correct the file, or set outside = "other"'
        _refuse(
            codes == TOO_LONG,
            first,
            f"column {self.column!r} has a text too long",
            f"at most {texts.max_bytes} bytes; {remedy}",
        )
        _refuse(
            codes == UNKNOWN,
            first,
            f"column {self.column!r} has a text with other characters",
            f"{'those of alphabet' if texts.alphabet else 'texts or whole numbers, without control characters'}; {remedy}",
        )
        return cells

    def _refuse_absent(self, absent: np.ndarray, first: int, positions: np.ndarray | None = None) -> None:
        if self.missing == "refuse":
            expected, answer = _EXPECTED.get(self.type, ("a category", "category"))
            remedy = f'{expected}; fill it in or set missing = "{answer}"'
            _refuse(absent, first, f"column {self.column!r} has no value", remedy, positions)

    def _accepted(self, cells: np.ndarray, first: int) -> np.ndarray:
        """The input cells of a column of categories or sets, where what has none is answered, or refused."""
        if len(cells) and cells.min() < 0:
            strange = np.flatnonzero(cells < 0)
            absent, large = cells[strange] == ABSENT, cells[strange] == TOO_MANY
            kinds = "categories" if self.at_most is None else "options"
            self._refuse_absent(absent, first, strange)
            if self.missing != "refuse":
                nothing = self.categories.index(MISSING) if self.missing == "category" else 0  # no, or the empty set
                cells[strange[absent]] = nothing
            remedy = f"at most {self.at_most}; raise at_most or correct the file"
            _refuse(large, first, f"column {self.column!r} has too many options", remedy, strange)
            if self.outside == OTHER and self.at_most is None:
                cells[strange[~absent]] = self.categories.index(OTHER)
            else:
                _refuse(
                    ~absent & ~large,
                    first,
                    f"column {self.column!r} is not one of the scheme's {kinds}",
                    f"one of {listed(self.categories)}, or a code listed under codes",
                    strange,
                )
        return cells

    @cached_property
    def names(self) -> Names | ChosenOptions:
        """The accepted spellings of its categories, or of sets of them."""
        return Names(self.column, self.categories, self.codes) if self.at_most is None else self._chosen

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The possible answers as texts: the categories, or every allowed set of options in the order of input cells."""
        if self.at_most is None:
            return self.categories
        return tuple(self.separator.join(compress(self.categories, row)) for row in self.sets.all_members())

    @cached_property
    def sets(self) -> OptionSets:
        """The allowed sets of options."""
        return OptionSets(len(self.categories), self.at_most or 0)

    @cached_property
    def _chosen(self) -> ChosenOptions:
        other = self.categories.index(OTHER) if self.outside == OTHER else UNKNOWN
        names = Names(self.column, self.categories, self.codes)
        return ChosenOptions(names, self.sets, self.separator, other)


def _floats(column: Any) -> np.ndarray:
    """Numbers, and texts that spell one, as float64, (n,), NaN for no value; raises TypeError for anything else."""
    if is_arrow(column) and not column.null_count and str(column.type) == "double":
        return as_numpy(whole(column))
    values = np.asarray(column)
    if values.dtype.kind == "U":
        values = np.asarray(column, dtype=object)  # numpy's fixed-width texts lose trailing NULs
    if values.dtype.kind in "iuf":
        return values.astype(np.float64).reshape(-1)
    if values.dtype.kind not in "OU":
        raise TypeError
    return np.array([_float(value) for value in values.reshape(-1).tolist()], dtype=np.float64)


def numeral(text: str) -> float | None:
    """Return the number that a text spells, as clients read it; None if it spells none."""
    return float(text.strip(BLANKS)) if _NUMERAL.fullmatch(text) else None


def _float(value: Any) -> float:
    if isinstance(value, str):
        if not _NUMERAL.fullmatch(value):
            raise TypeError
        value = value.strip(BLANKS)
    if isinstance(value, (str, Number)) and not isinstance(value, bool):
        return float(value)  # type: ignore[arg-type]
    if value is None or is_missing(value):
        return math.nan
    raise TypeError


def _refuse(bad: np.ndarray, first: int, problem: str, expected: str, positions: np.ndarray | None = None) -> None:
    """Raise InvalidRecord with the position of the first True in `bad` and their number."""
    if bad.any():
        places = np.flatnonzero(bad) if positions is None else positions[bad]
        raise InvalidRecord(
            f"{problem} at record {first + int(places[0]) + 1} ({len(places)} such in all); expected {expected}"
        )
