"""A finite channel in exact fractions: probabilities of outputs given inputs, and which inputs are neighbours.

An input is one person's record, and then all pairs of inputs are neighbours (local privacy), or a whole database, and then
those are that differ in one record.  Composition is that of definition 6 of [BarberDuchi2014].
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from numbers import Integral
from typing import Any

import numpy as np

from dpcore.errors import CalibrationError

Law = tuple[Fraction, ...]
_MOST_DATABASES = 4096


@dataclass(frozen=True)
class Channel:
    """Q(z | x), x an input and z an output, by their numbers.

    rows: for each input its distribution over the outputs, fractions that sum to one.
    neighbours: ordered pairs (x, x') of inputs; each pair in both orders.
    inputs: what each input is, for messages and for distances; its number by default.

    Raises CalibrationError for rows that are no laws, and for pairs of inputs that there are not.

    >>> Channel.of_weights([[3, 1], [1, 3]]).rows[0]
    (Fraction(3, 4), Fraction(1, 4))
    """

    rows: tuple[Law, ...]
    neighbours: tuple[tuple[int, int], ...]
    inputs: tuple[Hashable, ...] = ()

    def __post_init__(self) -> None:
        if not self.rows or any(len(row) != len(self.rows[0]) for row in self.rows):
            raise CalibrationError("a channel needs at least one row, and as many outputs in each")
        for row in self.rows:
            if any(p < 0 for p in row) or sum(row) != 1:
                raise CalibrationError("each row of a channel must be fractions of at least 0 that sum to one")
        count = range(len(self.rows))
        if any(x not in count or y not in count or x == y for x, y in self.neighbours):
            raise CalibrationError(f"neighbours must be pairs of different inputs, each in 0..{len(self.rows) - 1}")

    @classmethod
    def of_weights(cls, weights: Any, neighbours: Sequence[tuple[int, int]] | None = None) -> Channel:
        """Return the channel with integer weights (inputs, outputs), each row over its own total; see `Mechanism.channel`.

        neighbours: unordered pairs; all of them where None, which is local privacy.
        """
        rows = []
        for row in np.asarray(weights, dtype=object).tolist():
            if not all(isinstance(weight, Integral) for weight in row):
                raise CalibrationError("weights of a channel must be whole numbers; give fractions as `rows`")
            total = sum(int(weight) for weight in row)
            if total <= 0:
                raise CalibrationError("every input of a channel must have an output; a row of weights is all zeros")
            rows.append(tuple(Fraction(int(weight), total) for weight in row))
        if neighbours is None:
            return cls(tuple(rows), tuple(permutations(range(len(rows)), 2)))
        both = dict.fromkeys([pair for x, y in neighbours for pair in ((x, y), (y, x))])
        return cls(tuple(rows), tuple(both))

    @property
    def outputs(self) -> int:
        """How many outputs there are."""
        return len(self.rows[0])

    def pairs(self) -> list[tuple[Law, Law]]:
        """Return the laws of each ordered pair of neighbours."""
        return [(self.rows[x], self.rows[y]) for x, y in self.neighbours]

    def then(self, processing: Channel) -> Channel:
        """Return the composition: the outputs of this channel, passed through `processing`.

        Raises CalibrationError where it has not an input for each output.
        """
        if len(processing.rows) != self.outputs:
            raise CalibrationError(
                f"the second channel must have {self.outputs} inputs, one for each output of the first, got "
                f"{len(processing.rows)}"
            )
        rows = tuple(
            tuple(
                sum((p * row[z] for p, row in zip(law, processing.rows, strict=True)), Fraction(0))
                for z in range(processing.outputs)
            )
            for law in self.rows
        )
        return Channel(rows, self.neighbours, self.inputs)

    def beside(self, other: Channel) -> Channel:
        """Return the channel of both outputs, drawn independently given the same input."""
        if len(other.rows) != len(self.rows):
            raise CalibrationError(f"both channels must have {len(self.rows)} inputs, got {len(other.rows)}")
        rows = tuple(tuple(p * q for p in a for q in b) for a, b in zip(self.rows, other.rows, strict=True))
        return Channel(rows, self.neighbours, self.inputs)

    def of_groups(self, size: int) -> Channel:
        """Return the same channel where inputs up to `size` steps between neighbours apart are neighbours."""
        reached = {x: {x} for x in range(len(self.rows))}
        for _ in range(size):
            for x, far in reached.items():
                reached[x] = far | {y for start, y in self.neighbours if start in far}
        pairs = tuple((x, y) for x, far in reached.items() for y in sorted(far) if y != x)
        return Channel(self.rows, pairs, self.inputs)


def on_databases(
    values: Sequence[Hashable], n: int, law: Callable[[tuple[Hashable, ...]], Mapping[Hashable, Fraction]]
) -> Channel:
    """Return the channel on all databases of n records, each one of the values; neighbours differ in one record.

    law: distribution of the release for a database, output -> probability.
    Raises CalibrationError for more than 4096 databases.

    >>> majority = on_databases((0, 1), 3, lambda x: {sum(x) > 1: Fraction(1)})
    >>> len(majority.rows), len(majority.neighbours)
    (8, 24)
    """
    if len(values) ** n > _MOST_DATABASES:
        raise CalibrationError(f"{len(values)} values of {n} records make more than {_MOST_DATABASES} databases")
    databases = list(product(values, repeat=n))
    laws = [law(database) for database in databases]
    outputs = list(dict.fromkeys(output for row in laws for output in row))
    rows = tuple(tuple(Fraction(row.get(output, 0)) for output in outputs) for row in laws)
    number = {database: position for position, database in enumerate(databases)}
    pairs = [
        (number[database], number[(*database[:place], value, *database[place + 1 :])])
        for database in databases
        for place in range(n)
        for value in values
        if value != database[place]
    ]
    return Channel(rows, tuple(pairs), tuple(databases))


def release_one_at_random(values: Sequence[Hashable], n: int) -> Channel:
    """Return the channel that publishes one of n records, drawn uniformly (example 2 of [BarberDuchi2014]).

    It moves by 1/n in total variation, and somebody's record is out.

    >>> release_one_at_random("ab", 2).rows[1]
    (Fraction(1, 2), Fraction(1, 2))
    """

    def law(database: tuple[Hashable, ...]) -> dict[Hashable, Fraction]:
        return {value: Fraction(database.count(value), n) for value in dict.fromkeys(database)}

    return on_databases(values, n, law)
