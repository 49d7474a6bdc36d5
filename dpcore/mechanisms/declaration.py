"""What a mechanism declares of itself, said once: scheme files, estimators, pages and tables read it here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type)


@dataclass(frozen=True)
class Option:
    """What a scheme may say: of itself, of an attribute, or to a mechanism's design.

    name: the key in a table, and the argument of a `design`.  type: str, int, Fraction, Budget, dict, or a list of such;
    fractions are written as numbers.  words: what it is, for people.  choices: the texts there are; empty for other types.
    refused: other texts that somebody may try, which the design refuses and says why.
    least, most: of a whole number, or of each in a list.  fewest: entries of a list.  is_needed: whether somebody must say it.
    default: what stands where nothing is said, None where that depends on the rest.  is_kept: of a design's, whether the
    canonical scheme says it again, beside the integers that came of it.
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
    """A mechanism as others know it, who do not ask for its class.

    name: in schemes and tables.  title: on pages.  words: what leaves a device, for people, after 'the report says'.
    attributes: what it answers for: 'numeric', 'categorical', 'lattice', a number of few values, or 'plane', two numbers.
    estimators: the names of those that read it, the default first.  names_one: whether a report is one category, as groups
    need it.  options: what a scheme may tell its design.
    is_asked: whether clients are asked by it; else reports come from others, and epsilon is found where a scheme says none.
    scheme_facts: what its design takes from the scheme: the number of 'categories' or 'points' (0 where values are anywhere),
    or the planned number of 'clients'.
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
    """Return what declares a class of mechanisms, and gives it its `name`; arguments are those of `Declaration`."""

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
