"""Simulated respondents drawn with replacement from a file of records, whose own values are the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from dpcore._random import Source
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.functionals.group import Group
from dpcore.populations.base import PEOPLE, Respondents
from dpcore.populations.dialect import Dialect
from dpcore.populations.distributions import PointsLaw
from dpcore.populations.records import read_blocks
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.records.blocks import BLOCK
from dpcore.protocol.scheme import Scheme


class Resampled(Respondents):
    """Records of a file as a population: every respondent is one of its rows, drawn uniformly.

    Raises InvalidRecord where the file cannot be read, holds no record, or one that no client of the scheme could report.
    """

    is_dependent = True  # attributes depend on each other as the file's columns do
    weights: Mapping[str, float] = {}  # no group within which all else is independent

    def __init__(self, scheme: Scheme, path: Path, dialect: Dialect = Dialect()) -> None:
        self.name = scheme.name
        self._asked = {one.name: one for attribute in scheme.reported.values() for one in attribute.questions}
        self._table = pa.concat_tables(read_blocks(path, scheme, BLOCK, dialect=dialect)).combine_chunks()
        if not self._table.num_rows:
            raise InvalidRecord(f"{path} has no records to draw respondents from")
        self._cells: Mapping[str, np.ndarray] = scheme.encode(self._table)

    def records(self, n: int, random: Source) -> pa.Table:
        """Return n respondents, a column for each of the file's that the scheme reads."""
        return self._table.take(pa.array(random.generator().integers(0, self._table.num_rows, n)))

    def records_block(self, block: int, size: int, random: Source) -> pa.Table:
        """Return the `size` respondents of one block; the same on every call with one seeded source."""
        return self.records(size, random.spawn(PEOPLE, block))

    @cached_property
    def nonresponse(self) -> Mapping[str, float]:
        """Numeric attribute -> share of records without an answer."""
        return {
            name: float(np.mean(np.isnan(self._numbers(name))))
            for name, one in self._asked.items()
            if one.reads_numbers
        }

    def truth(self, attribute: str, condition: str | None = None) -> PointsLaw:
        """Return the distribution of a numeric attribute among those who answer."""
        numbers = self._numbers(attribute)[self._rows(condition)]
        numbers = numbers[~np.isnan(numbers)]
        if not numbers.size:
            raise SchemeError(f"no record has a value of {attribute!r}")
        return PointsLaw.from_values(numbers, np.ones(len(numbers)))

    def probabilities(self, attribute: str, categories: Sequence[str], condition: str | None = None) -> np.ndarray:
        """Return the shares of the categories, in their order, shape (k,)."""
        return self._shares(self._places(attribute), len(categories), condition)

    def text_shares(self, attribute: Attribute, condition: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the texts of an attribute as input cells, (k,), and their shares, (k,)."""
        cells, counts = np.unique(self._cells[attribute.name][self._rows(condition)], return_counts=True)
        return cells, counts / counts.sum()

    def joint_probabilities(self, attribute: Attribute, condition: str | None = None) -> np.ndarray:
        """Return the joint shares of two columns in one report, (k_1, k_2)."""
        sizes = [len(side.cells) for side in attribute.sides]
        return self._shares(self._cells[attribute.name], sizes[0] * sizes[1], condition).reshape(sizes)

    def _shares(self, places: np.ndarray, size: int, condition: str | None) -> np.ndarray:
        counts = np.bincount(places[self._rows(condition)], minlength=size)
        return counts / max(1, counts.sum())

    def _rows(self, condition: str | None) -> np.ndarray:
        """Which records are of a group, 'ATTRIBUTE=CATEGORY'; raises SchemeError where none is."""
        if condition is None:
            return np.ones(self._table.num_rows, dtype=bool)
        group = Group.parse(condition)
        if group is None or group.attribute not in self._asked:
            raise SchemeError(f"condition must be 'ATTRIBUTE=CATEGORY' of the scheme, got {condition!r}")
        place = self._asked[group.attribute].categories.index(group.category)
        chosen = np.equal(self._places(group.attribute), place)
        if not chosen.any():
            raise SchemeError(f"no record is of {condition!r}")
        return chosen

    def _places(self, attribute: str) -> np.ndarray:
        """The place of every record's category; of a side of a joint attribute by itself."""
        if attribute in self._cells:
            return self._cells[attribute]
        one = self._asked[attribute]
        return one.encode(self._table[one.column])

    def _numbers(self, attribute: str) -> np.ndarray:
        return np.asarray(self._table[self._asked[attribute].column], dtype=np.float64)
