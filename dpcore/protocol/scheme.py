"""The Scheme: what clients and aggregator agreed on, frozen and addressed by the hash of its canonical text.

A scheme is written in TOML.  `Scheme.from_toml` resolves every default and designs every mechanism; the canonical text
then holds the integers that clients use (weights, level laws, noise scales, SHA-256 of coefficient tables), so that a
client reads integers and evaluates nothing.  The canonical text reads back to the same scheme with the same digest.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore.errors import InvalidRecord, SchemeError
from dpcore.privacy.budget import Budget
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain import pairs
from dpcore.protocol.records.arrow_columns import as_columns
from dpcore.protocol.syntax import canonical, toml_writer


@dataclass(frozen=True, eq=False, kw_only=True)
class Scheme:
    """What both sides know.

    epsilon: natural-log units, the total one client spends in one round; `budget` is the same, exact.
    digest: 64 hex digits, SHA-256 of `canonical`.  labels: what is seen in clear (`label`), at no epsilon.
    pairs: of which two the joint counts are kept (`pairs`).
    draws: the version of what makes answers of a client's words; a memoized answer is the same for life
    only while it is, so that the digest, which every keyed stream is labelled with, covers it.

    simulate: distributions of a dry run's respondents, as the file states them; they are no part of the digest.

    Raises SchemeError from `from_toml` for anything the contract does not allow.
    """

    name: str
    description: str = ""
    clients: int
    reporting: str = "all"
    pairs: tuple[tuple[str, str], ...] = ()
    functionals: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    labels: Mapping[str, Attribute] = field(default_factory=lambda: MappingProxyType({}))
    draws: int = 1
    simulate: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_toml(cls, source: str | Path) -> Scheme:
        """Return the scheme in a file (a path) or in TOML text (a string with a line break)."""
        text = source if isinstance(source, str) and "\n" in source else _read(Path(source))
        try:
            document = tomllib.loads(text, parse_float=str)  # decimals stay exactly as written
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise SchemeError(f"the scheme is not valid TOML: {error}") from None
        return cls(**canonical.read(document))

    @cached_property
    def canonical(self) -> str:
        """The scheme with every default resolved, as TOML; what the digest is taken of."""
        return canonical.write({item.name: getattr(self, item.name) for item in fields(self)})

    @property
    def text(self) -> str:
        """The canonical text with the distributions of dry runs, from which this scheme is read again."""
        return self.canonical + (f"\n{toml_writer.dumps({'simulate': self.simulate})}" if self.simulate else "")

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @cached_property
    def reported(self) -> Mapping[str, Attribute]:
        """What a report holds: the attributes' answers, then the labels."""
        return MappingProxyType({**self.attributes, **self.labels})

    @property
    def is_asked(self) -> bool:
        """Whether clients are asked by it here; else its channels are stated, and reports come from elsewhere."""
        return all(attribute.mechanism.declared.is_asked for attribute in self.attributes.values())

    def check_asked(self) -> None:
        """Raise SchemeError where nobody may be asked by it."""
        if not self.is_asked:
            raise SchemeError(
                f"nobody is asked by {self.name}, whose channels are stated: its reports come from elsewhere, and `ldpflow "
                "receive` takes them; to collect here, take one of our mechanisms"
            )

    @cached_property
    def grouped(self) -> tuple[tuple[str, str], ...]:
        """The pairs of a density and of reports that name a category, within which the density is estimated."""
        return tuple(pair for pair in self.pairs if pairs.is_grouped(pair, self.attributes))

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
        return reduce(add if self.reporting == "all" else _dearer, totals)

    @property
    def epsilon(self) -> float:
        return float(self.budget)

    @cached_property
    def delta(self) -> Fraction:
        """What goes with the budget, exact: the sum over attributes, or the largest unit's; 0 without Gaussian noise."""
        totals = [sum((self.attributes[name].delta for name in unit), Fraction(0)) for unit in self.units]
        return sum(totals, Fraction(0)) if self.reporting == "all" else max(totals)

    def encode(self, records: Any, first: int = 0) -> dict[str, np.ndarray]:
        """Return the input cells of every attribute and label, shapes (n,), from a mapping or a table.

        records: columns by name, or a table of pandas, polars, Arrow or DuckDB.

        Columns are found by the attribute's `column`, or by its name.  Raises InvalidRecord where a column is missing, where
        columns differ in length, or where a value is not allowed; nothing is privatized then.
        """
        records = as_columns(records)
        present = list(records.keys() if hasattr(records, "keys") else getattr(records, "column_names", records))
        cells = {}
        for attribute in self.reported.values():
            columns = []
            for question in attribute.questions:
                column = next((name for name in (question.column, question.name) if name in present), None)
                if column is None:
                    kind = "label" if attribute.name in self.labels else "attribute"
                    say = "of" if attribute.sides else "column"
                    raise InvalidRecord(
                        f"column {question.column!r} ({kind} {attribute.name}) is missing among the records' {len(present)} "
                        f"columns; rename one, or say its name with {say} = in the scheme"
                    )
                values = records[column]
                # Arrow's columns are never one value, nor are lists, which numpy would make an array of to say so.
                is_many = hasattr(values, "to_pylist") or isinstance(values, (list, tuple))
                columns.append(values if is_many or np.ndim(values) else [values])
            cells[attribute.name] = attribute.encode(columns if attribute.sides else columns[0], first)
        lengths = {len(column) for column in cells.values()}
        if len(lengths) > 1:
            raise InvalidRecord(f"all columns must have the same length, got lengths {sorted(lengths)}")
        return cells


def _dearer(one: Budget, other: Budget) -> Budget:
    """The larger of two: `ln 3` and a decimal just above it are one float; `covers` has its margin on the other's side."""
    first, second = sorted((one, other), key=lambda budget: budget.rational)
    return second if second.covers(first) else first


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemeError(f"no scheme file at {path}; `ldpflow init FOLDER` makes a project with one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SchemeError(f"the scheme file {path} cannot be read: {error}") from None
