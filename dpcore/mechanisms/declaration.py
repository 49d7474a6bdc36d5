"""The declaration of a mechanism: read by scheme files, estimators, pages and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type)


@dataclass(frozen=True)
class Option:
    """A key of a scheme: of the scheme, of an attribute, or of a mechanism's design.

    name: the key in a table, and the argument of a `design`.  type: str, int, Fraction, Budget, dict, or a list of such;
    fractions are written as decimals.  words: description for readers.  choices: the allowed texts; empty for other types.
    refused: texts that users may try, which the design refuses with a reason.
    least, most: of an integer, or of each in a list.  fewest: entries of a list.  is_needed: whether the key is required.
    default: the value if absent, None if it depends on the rest.  is_kept: for a design's key, whether the canonical scheme
    repeats it beside the resulting integers.
    """

    name: str
    type: Any
    _: KW_ONLY
    words: str
    choices: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    least: int = 0
    most: int = 1 << 20
    fewest: int = 1
    is_needed: bool = False
    default: Any = None
    is_kept: bool = False


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A mechanism as seen by code that does not use its class.

    name: in schemes and tables.  title: on pages.  words: content of a report, for readers, after 'the report shows'.
    attributes: supported types: 'numeric', 'categorical', 'lattice', a discrete number, or 'plane', two numbers.
    estimators: the names of its estimators, the default first.  names_one: whether a report is one category, as groups require.
    options: the keys of its design.
    is_asked: whether clients use it; else reports come from other systems, and epsilon is computed if a scheme does not declare
    it.
    scheme_facts: what its design takes from the scheme: the number of 'categories' or 'points' (0 for continuous values), the
    planned number of 'clients'; for sets 'at_most', and the 'least_size' of a report, which is 2 if joint shares are asked for.
    """

    name: str
    title: str
    words: str
    attributes: frozenset[str]
    estimators: tuple[str, ...]
    names_one: bool
    options: tuple[Option, ...]
    scheme_facts: tuple[str, ...]
    is_asked: bool = True


def mechanism(
    name: str,
    *,
    attributes: Iterable[str],
    estimators: tuple[str, ...],
    words: str,
    title: str = "",
    names_one: bool = False,
    options: tuple[Option, ...] = (),
    scheme_facts: tuple[str, ...] = (),  # of categories, how many they are
    is_asked: bool = True,
) -> Callable[[Kind], Kind]:
    """Return the decorator that declares a class of mechanisms and sets its `name`; arguments are those of `Declaration`."""

    def declare(kind: Kind) -> Kind:
        kind.name = name  # type: ignore[attr-defined]
        kind.declared = Declaration(  # type: ignore[attr-defined]
            name=name,
            title=title or name.replace("_", " "),
            words=words,
            attributes=frozenset(attributes),
            estimators=estimators,
            names_one=names_one,
            options=options,
            scheme_facts=scheme_facts or (("categories",) if "categorical" in attributes else ()),
            is_asked=is_asked,
        )
        return kind

    return declare


def integer(value: Any) -> int:
    """Return an integer; raises TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected an integer, got {value!r}")
    return value


def integers(values: Sequence[Any]) -> tuple[int, ...]:
    """Return integers; raises TypeError for anything else."""
    return tuple(integer(value) for value in values)
