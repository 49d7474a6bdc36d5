"""The differences of two schemes, and whether estimates of rounds under both are comparable.

The warehouse never mixes schemes: reports, aggregates and `pooled_estimates` use the digest, while views join on the scheme's
name.  Two attributes are comparable if their domain and their treatment of missing and outside values are equal.  Their
estimates may then be compared and averaged by inverse variance, for any epsilon and mechanism, because noise is independent.
Titles are not compared.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dpcore.protocol.attribute import Attribute
from dpcore.protocol.scheme import Scheme

_NOT_ASKED = {  # keys that change neither the question nor what an answer means
    "column",
    "columns",
    "separator",
    "mechanism",
    "epsilon",
    "estimator",
    "functionals",
    "design",
    "heaps",
    "level_rule",
    "level",
    "assume",
    "intervals",
    "title",
    "titles",
    "client",
}
_LISTED = 6  # parts of a list that are shown


@dataclass(frozen=True, kw_only=True)
class Change:
    """One difference, as texts; where: the attribute, 'labels.NAME' for a label, '' for the whole scheme."""

    where: str
    field: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Revision:
    """The differences of two schemes.

    alike: comparable attributes, whose estimates may be averaged.  apart: common attributes that are not comparable.
    in_clear: labels of the later scheme that are new or changed.  hidden: labels of the earlier scheme only.
    """

    same: bool
    renamed: bool
    changes: tuple[Change, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    alike: tuple[str, ...]
    apart: tuple[str, ...]
    in_clear: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @property
    def verdict(self) -> tuple[str, ...]:
        """Whether rounds under both can be pooled, one sentence a line."""
        if self.same:
            return ("the schemes are equal: their rounds are pooled",)
        lines = [
            "the digests differ: no report of one scheme is counted under the other, and rounds are not pooled automatically"
        ]
        if self.renamed:
            lines.append("the names differ: views such as latest_estimates list them as two schemes")
        if self.alike:
            lines.append(f"comparable, so estimates may be compared and averaged: {', '.join(self.alike)}")
        if self.apart:
            lines.append(f"not comparable, because the domain or its treatment differs: {', '.join(self.apart)}")
        if self.in_clear:
            lines.append(f"newly public, readable by anybody who sees a report: {', '.join(self.in_clear)}")
        if self.hidden:
            lines.append(f"no longer public: {', '.join(self.hidden)}")
        return tuple(lines)


def revise(before: Scheme, after: Scheme) -> Revision:
    """Return the differences of two schemes, the earlier one first."""
    left, right = (tomllib.loads(scheme.canonical) for scheme in (before, after))
    tables = [document.pop("attributes") for document in (left, right)]
    labels = [document.pop("labels", {}) for document in (left, right)]
    both = [name for name in after.attributes if name in before.attributes]
    asked = [{name: _without(table[name], _NOT_ASKED) for name in both} for table in tables]
    alike = [name for name in both if asked[0][name] == asked[1][name]]
    changes = list(_differences("", left, right))
    if before.budget.text != after.budget.text:
        changes.append(Change(where="", field="epsilon per client", before=_spent(before), after=_spent(after)))
    for name in dict.fromkeys([*before.attributes, *after.attributes]):
        if name in both:
            changes += _differences(name, tables[0][name], tables[1][name])
        else:
            described = (scheme.attributes.get(name) for scheme in (before, after))
            texts = ["-" if attribute is None else _summary(attribute) for attribute in described]
            change = "added" if name in after.attributes else "removed"
            changes.append(Change(where=name, field=change, before=texts[0], after=texts[1]))
    for name in dict.fromkeys([*before.labels, *after.labels]):
        if name in before.labels and name in after.labels:
            changes += _differences(f"labels.{name}", labels[0][name], labels[1][name])
        else:
            texts = [f"{len(table[name]['categories'])} categories" if name in table else "-" for table in labels]
            change = "public" if name in after.labels else "no longer public"
            changes.append(Change(where=f"labels.{name}", field=change, before=texts[0], after=texts[1]))
    return Revision(
        same=before.digest == after.digest,
        renamed=before.name != after.name,
        changes=tuple(changes),
        added=tuple(name for name in after.attributes if name not in both),
        removed=tuple(name for name in before.attributes if name not in both),
        alike=tuple(alike),
        apart=tuple(name for name in both if name not in alike),
        in_clear=tuple(
            name for name, table in labels[1].items() if _content(table) != _content(labels[0].get(name, {}))
        ),
        hidden=tuple(name for name in before.labels if name not in after.labels),
    )


def _content(label: dict[str, Any]) -> dict[str, Any]:
    """The content of a label: its table without the column's name, titles and control."""
    return _without(label, {"column", "title", "titles", "control"})


def _without(table: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def _differences(where: str, left: dict[str, Any], right: dict[str, Any]) -> Iterator[Change]:
    for key in dict.fromkeys([*left, *right]):
        old, new = left.get(key), right.get(key)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict) and key == "client":
            yield from _differences(where, old, new)
        else:
            texts = (_text(old), _text(new))
            if texts[0] == texts[1]:  # they differ in parts that are not shown
                texts = (f"{texts[0]} (others differ)", f"{texts[1]} (others differ)")
            yield Change(where=where, field=key, before=texts[0], after=texts[1])


def _text(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "-"
    if isinstance(value, dict):
        value = [f"{code} = {label}" for code, label in value.items()]
    if isinstance(value, list):
        shown = [
            " and ".join(part) if isinstance(part, list) and part and isinstance(part[0], str) else str(part)
            for part in value
        ]
        more = f", ... ({len(value)} in all)" if len(value) > _LISTED else ""
        return ", ".join(shown[:_LISTED]) + more
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _summary(attribute: Attribute) -> str:
    return f"{attribute.domain}, {attribute.mechanism.name}, epsilon {attribute.budget.text}"


def _spent(scheme: Scheme) -> str:
    return f"{scheme.epsilon:.4f} ({scheme.budget.text})"
