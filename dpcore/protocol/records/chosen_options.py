"""Sets of options as records hold them: lists, texts with a separator, or one option alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcore.mechanisms.categorical.option_sets import OptionSets
from dpcore.protocol.records.category_names import ABSENT, BLANKS, UNKNOWN, Names, is_missing

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
        values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
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
