"""Categories, as a scheme lists them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from dpcore.errors import SchemeError
from dpcore.protocol.attribute import MISSING, Attribute
from dpcore.protocol.syntax import keys
from dpcore.protocol.syntax.fields import listed, number, printable

REASON = "the default with these options"
AUTOMATIC = "the smallest report among mechanisms within 1 % of the lowest variance"


def categories_of(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return categories (with 'missing' if it is one), codes and values; raises SchemeError if they are invalid."""
    labels, codes, values = tuple(entries["categories"]), entries["codes"], entries.get("values")
    titles = entries["titles"]
    for label in labels:
        printable(categories=label)
    if entries["missing"] == "category" and MISSING not in labels:
        labels += (MISSING,)
    if len(set(labels)) != len(labels) or "" in labels:
        raise SchemeError(f"categories must differ and not be empty, got {entries['categories']!r}")
    if not isinstance(codes, Mapping):
        raise SchemeError(f'codes must map a file\'s codes to categories, such as {{ 1 = "urban" }}, got {codes!r}')
    for code, label in codes.items():
        if label not in labels:
            raise SchemeError(f"codes.{code} must be one of the categories {listed(labels)}; got {label!r}")
    _check_titles(titles, labels)
    if values is not None and len(values) != len(labels):
        raise SchemeError(f"values must list one number for each of the {len(labels)} categories, got {len(values)}")
    if entries["outside"] == keys.OTHER and keys.OTHER not in labels:
        raise SchemeError(f'outside = "other" needs a category named "other" among the {len(labels)} categories')
    return {
        "categories": labels,
        "titles": MappingProxyType({label: titles[label] for label in labels if label in titles}),
        "codes": MappingProxyType(dict(sorted(codes.items()))),  # the order of the canonical text
        "values": None if values is None else tuple(map(float, values)),
    }


def check_title(key: str, title: Any) -> None:
    """Raise SchemeError, which names the key, if a title is empty or not printable; None is no title."""
    if title is None:
        return
    if not isinstance(title, str) or not title.strip():
        raise SchemeError(f"{key} must be a text in quotes that is not empty, got {title!r}")
    printable(**{key: title})


def _check_titles(titles: Any, categories: tuple[str, ...]) -> None:
    if not isinstance(titles, Mapping):
        raise SchemeError(
            f'titles must map categories to titles, such as {{ yes = "Yes, at least once" }}, got {titles!r}'
        )
    for category, title in titles.items():
        if category not in categories:
            raise SchemeError(
                f"titles.{category} is not the title of a category; its categories are {listed(categories)}"
            )
        check_title(f"titles.{category}", title)
    shown = [titles.get(category, category) for category in categories]
    for title in titles.values():
        if shown.count(title) > 1:
            raise SchemeError(f"titles must differ from each other and from other categories, got {title!r} twice")


def titles_of(attribute: Attribute) -> dict[str, Any]:
    """Return the keys of an attribute's or label's table that state titles; {} without titles, so that digests stay."""
    return {key: value for key, value in (("title", attribute.title), ("titles", dict(attribute.titles))) if value}


def _read(entries: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    own = categories_of(entries)
    if entries["values"] is None and entries["functionals"]:
        raise SchemeError(
            "functionals of categories need values, one number for each category; add values or remove functionals"
        )
    return own


def sizes(entries: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of categories, for the design of the mechanism."""
    return {"categories": len(entries["categories"])}


def functionals(entries: Mapping[str, Any], functionals: tuple[str, ...]) -> tuple[str, ...]:
    """Return the functionals of categories whose table names none."""
    return () if entries["values"] is None else ("mean",)


def _own_table(a: Attribute) -> dict[str, Any]:
    table: dict[str, Any] = {"categories": a.categories, "codes": dict(a.codes)}
    return table | values_table(a) | ({} if a.outside == "refuse" else {"outside": a.outside}) | design_table(a)


def values_table(attribute: Attribute) -> dict[str, Any]:
    """Return the key of the canonical text for the numbers of categories, {} without them."""
    values = attribute.values
    return {} if values is None else {"values": [number(Fraction(repr(value))) for value in values]}


def design_table(attribute: Attribute) -> dict[str, Any]:
    """Return the key of the canonical text for the design of a mechanism, {} without one."""
    return {} if attribute.design is None else {"design": attribute.design}


KIND = keys.Kind(
    keys=keys.OWN["categorical"],
    reason=REASON,
    automatic=AUTOMATIC,
    attribute=Attribute,
    read=_read,
    sizes=sizes,
    functionals=functionals,
    own_table=_own_table,
)
