"""The Scheme: the agreement of clients and aggregator, frozen and identified by the hash of its canonical text.

A scheme is written in TOML.  `Scheme.from_toml` resolves every default and designs every mechanism; the canonical text
contains the integers that clients use (weights, distributions of levels, noise scales, SHA-256 of coefficient tables), so
clients read integers and evaluate no functions.  Reading the canonical text yields the same scheme with the same digest.
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
from dpcore.protocol.domain.label import REGRESSIONS, Regression, regression_tables
from dpcore.protocol.records.arrow_columns import as_columns
from dpcore.protocol.syntax import canonical


@dataclass(frozen=True, eq=False, kw_only=True)
class Scheme:
    """The scheme that clients and aggregator share.

    epsilon: total of one client in one round, in nats; `budget` is the exact value.
    digest: 64 hex digits, SHA-256 of `canonical`.  labels: public categories of clients (`label`), at no epsilon.
    pairs: pairs of attributes with joint counts (`pairs`).
    draws: version of the rule that turns random words into answers.  It is part of the digest, which labels every keyed stream,
    because memoized answers are constant only under one version.
    simulate: distributions of a dry run's respondents, as in the file; not part of the digest.
    regressions: that a round estimates, by name; not part of the digest.

    `from_toml` raises SchemeError for invalid schemes.
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
    regressions: Mapping[str, Regression] = field(default_factory=lambda: MappingProxyType({}))

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
        """The scheme as TOML with every default resolved; the digest is its hash."""
        return canonical.write({item.name: getattr(self, item.name) for item in fields(self)})

    @property
    def text(self) -> str:
        """The canonical text with what the digest does not cover: the distributions of dry runs, and regressions."""
        more = {"simulate": self.simulate, REGRESSIONS: regression_tables(self.regressions)}
        return self.canonical + "".join(f"\n{canonical.dumps({key: table})}" for key, table in more.items() if table)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @cached_property
    def reported(self) -> Mapping[str, Attribute]:
        """The parts of a report: attributes, then labels."""
        return MappingProxyType({**self.attributes, **self.labels})

    @property
    def is_asked(self) -> bool:
        """Whether clients make reports under it; otherwise its channels are stated, and other systems make the reports."""
        return all(attribute.mechanism.declared.is_asked for attribute in self.attributes.values())

    def check_asked(self) -> None:
        """Raise SchemeError if clients cannot make reports under it."""
        if not self.is_asked:
            raise SchemeError(
                f"scheme {self.name!r}: its channels are stated, so another system makes its reports; import them with "
                "`ldpflow receive`, or choose a mechanism of ldpflow"
            )

    @cached_property
    def grouped(self) -> tuple[tuple[str, str], ...]:
        """The pairs whose first attribute's density is estimated within the categories of the second."""
        return tuple(pair for pair in self.pairs if pairs.is_grouped(pair, self.attributes))

    @cached_property
    def units(self) -> tuple[tuple[str, ...], ...]:
        """The units that `reporting = "one"` draws from: single attributes, or attributes linked by pairs."""
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
        """The exact epsilon of one client in one round: the sum over attributes, or the largest per-unit loss."""
        totals = [reduce(add, (self.attributes[name].budget for name in unit)) for unit in self.units]
        return reduce(add if self.reporting == "all" else _larger, totals)

    @property
    def epsilon(self) -> float:
        return float(self.budget)

    @cached_property
    def delta(self) -> Fraction:
        """The exact delta of `budget`: the sum over attributes, or the largest of a unit; 0 without Gaussian noise."""
        totals = [sum((self.attributes[name].delta for name in unit), Fraction(0)) for unit in self.units]
        return sum(totals, Fraction(0)) if self.reporting == "all" else max(totals)

    def encode(self, records: Any, first: int = 0) -> dict[str, np.ndarray]:
        """Return the input cells of every attribute and label, shapes (n,), from a mapping or a table.

        records: columns by name, or a table of pandas, polars, Arrow or DuckDB.

        A column has the attribute's `column` as its name, or the attribute's name.  Raises InvalidRecord before anything is
        privatized if a column is missing, if lengths differ, or if a value is not allowed.
        """
        records = as_columns(records)
        present = list(records.keys() if hasattr(records, "keys") else getattr(records, "column_names", records))
        cells = {}
        for attribute in self.reported.values():
            questions = attribute.questions
            is_whole = attribute.column in present or attribute.name in present
            if attribute.boxes and is_whole and not any(box.column in present for box in questions):
                questions = (attribute,)
            columns = []
            for question in questions:
                column = next((name for name in (question.column, question.name) if name in present), None)
                if column is None:
                    kind = "label" if attribute.name in self.labels else "attribute"
                    key = "of" if attribute.sides else "columns" if attribute.boxes else "column"
                    raise InvalidRecord(
                        f"records: column {question.column!r} ({kind} {attribute.name}) is missing among their {len(present)} "
                        f"columns; rename one, or set its name with {key} = in the scheme"
                    )
                values = records[column]
                # Arrow columns and lists are columns; `np.ndim` would convert them to arrays.
                is_many = hasattr(values, "to_pylist") or isinstance(values, (list, tuple))
                columns.append(values if is_many or np.ndim(values) else [values])
            cells[attribute.name] = attribute.encode_columns(columns, first)
        lengths = {len(column) for column in cells.values()}
        if len(lengths) > 1:
            raise InvalidRecord(f"records: columns must have the same length, got lengths {sorted(lengths)}")
        return cells


def _larger(one: Budget, other: Budget) -> Budget:
    """The larger of two budgets; exact where floats are equal, as for `ln 3` and a decimal just above it."""
    first, second = sorted((one, other), key=lambda budget: budget.rational)
    return second if second.covers(first) else first


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemeError(f"no scheme file at {path}; `ldpflow init FOLDER` makes a project with one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SchemeError(f"the scheme file {path} cannot be read: {error}") from None
