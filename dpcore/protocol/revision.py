"""How two schemes differ, and what may be said of rounds under both.

The warehouse never mixes them: reports, aggregates and `pooled_estimates` go by the digest, while views join on the scheme's
name.  Whether a number of one means the same as that of the other depends on what was asked: two attributes ask the same where
their domain, and how values outside it or missing are read, are the same.  Then estimates under either, whose clients drew
their noise apart, may be compared and averaged by inverse variance, whatever epsilon and mechanism were.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dpcore.protocol.scheme import Scheme

_ASKED = (
    "type",
    "of",
    "lower",
    "upper",
    "step",
    "unit",
    "units",
    "outside",
    "missing",
    "categories",
    "bins",
    "codes",
    "values",
)
_LISTED = 6  # parts of a list that are shown


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that differs, as texts; where: the attribute, 'labels.NAME' of a label, '' for the whole scheme."""

    where: str
    what: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Revision:
    """What differs between two schemes.

    alike: attributes that ask the same, so that their estimates may be averaged.  apart: those of both that do not.
    in_clear: labels of the later one that tell what those of the earlier do not.  hidden: labels of the earlier alone.
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
        """Whether rounds under both can be pooled, in lines."""
        if self.same:
            return ("the same scheme: its rounds go on in one line, and are pooled",)
        lines = [
            "another digest starts a new line: no report of one is counted under the other, nothing is pooled by itself"
        ]
        if self.renamed:
            lines.append("another name: views such as latest_estimates keep them apart as two schemes")
        if self.alike:
            lines.append(f"ask the same, so that estimates may be compared and averaged: {', '.join(self.alike)}")
        if self.apart:
            lines.append(f"ask something else, so that they may not: {', '.join(self.apart)}")
        if self.in_clear:
            lines.append(
                f"sent in clear as was not before, for whoever sees a report to read: {', '.join(self.in_clear)}"
            )
        if self.hidden:
            lines.append(f"no longer sent in clear: {', '.join(self.hidden)}")
        return tuple(lines)


def revise(before: Scheme, after: Scheme) -> Revision:
    """Return what differs between two schemes, the earlier one first."""
    left, right = (tomllib.loads(scheme.canonical) for scheme in (before, after))
    tables = [document.pop("attributes") for document in (left, right)]
    labels = [document.pop("labels", {}) for document in (left, right)]
    both = [name for name in after.attributes if name in before.attributes]
    alike = [name for name in both if all(tables[0][name].get(key) == tables[1][name].get(key) for key in _ASKED)]
    changes = list(_differences("", left, right))
    if before.budget.text != after.budget.text:
        changes.append(Change(where="", what="epsilon a client", before=_spent(before), after=_spent(after)))
    for name in dict.fromkeys([*before.attributes, *after.attributes]):
        if name in both:
            changes += _differences(name, tables[0][name], tables[1][name])
        else:
            texts = [_summary(table[name]) if name in table else "-" for table in tables]
            change = "added" if name in after.attributes else "removed"
            changes.append(Change(where=name, what=change, before=texts[0], after=texts[1]))
    for name in dict.fromkeys([*before.labels, *after.labels]):
        if name in before.labels and name in after.labels:
            changes += _differences(f"labels.{name}", labels[0][name], labels[1][name])
        else:
            texts = [f"{len(table[name]['categories'])} categories" if name in table else "-" for table in labels]
            change = "sent in clear" if name in after.labels else "hidden"
            changes.append(Change(where=f"labels.{name}", what=change, before=texts[0], after=texts[1]))
    return Revision(
        same=before.digest == after.digest,
        renamed=before.name != after.name,
        changes=tuple(changes),
        added=tuple(name for name in after.attributes if name not in both),
        removed=tuple(name for name in before.attributes if name not in both),
        alike=tuple(alike),
        apart=tuple(name for name in both if name not in alike),
        in_clear=tuple(name for name, table in labels[1].items() if _tells(table) != _tells(labels[0].get(name, {}))),
        hidden=tuple(name for name in before.labels if name not in after.labels),
    )


def _tells(label: dict[str, Any]) -> dict[str, Any]:
    """What a label's place says: all of its table but the column's name."""
    return {key: value for key, value in label.items() if key != "column"}


def _differences(where: str, left: dict[str, Any], right: dict[str, Any]) -> Iterator[Change]:
    for key in dict.fromkeys([*left, *right]):
        old, new = left.get(key), right.get(key)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict) and key == "client":
            yield from _differences(where, old, new)
        else:
            texts = (_text(old), _text(new))
            if texts[0] == texts[1]:  # alike in what is shown
                texts = (f"{texts[0]} (other ones)", f"{texts[1]} (other ones)")
            yield Change(where=where, what=key, before=texts[0], after=texts[1])


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


def _summary(table: dict[str, Any]) -> str:
    if "bins" in table:
        asks = f"{len(table['bins']) + 1} bins"
    elif "of" in table:
        many = " x ".join(f"{len(names)}" for names in table.get("categories", ()))
        asks = " with ".join(table["of"]) + (f", {many} categories" if many else "")
    elif table["type"] == "categorical":
        asks = f"{len(table['categories'])} categories"
    else:
        ends = [table["lower"], table["upper"]] if "lower" in table else table["values"]
        asks = f"{ends[0]} to {ends[-1]} {table['unit']}".strip()
    return f"{asks}, {table['mechanism']}, epsilon {table['epsilon']}"


def _spent(scheme: Scheme) -> str:
    return f"{scheme.epsilon:.4f} ({scheme.budget.text})"
