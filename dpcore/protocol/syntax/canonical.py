"""The text of a scheme, read and written; in the canonical form every default is resolved, and mechanisms are integers.

Rules.  Numbers that carry privacy are read as exact fractions.  Unknown keys are refused.  A message names the field, the
value and what would be accepted; it never shows a record.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dpcore.errors import SchemeError
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain import label, pairs
from dpcore.protocol.syntax import attribute_table, attribute_types, keys, toml_writer

FORMAT = 1
DRAWS = 1  # how words become answers: labels of keyed streams, order of draws; another version, another digest
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")  # an attribute's has no dash: it names columns
SIMULATE = "simulate"  # distributions of dry runs: nothing that clients are told, and no part of the digest
_TOP_KEYS = tuple(key.name for key in keys.SCHEME)  # in the order of the canonical text


def read(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a Scheme from its TOML, decimals as texts; raises SchemeError for what is not allowed."""
    if document.get("format", FORMAT) != FORMAT:
        raise SchemeError(f"format must be {FORMAT}, got {document['format']!r}; upgrade ldpflow to read this scheme")
    # A canonical text without the key is of the first version; one that a person wrote is drawn by this one.
    draws = document.get("draws", 1 if "format" in document else DRAWS)
    if isinstance(draws, bool) or draws != DRAWS:
        raise SchemeError(
            f"draws must be {DRAWS}, the version of how answers are drawn here, got {draws!r}; read this scheme with an "
            "ldpflow that draws so, or answers that were paid for would be drawn anew"
        )
    simulate = document.get(SIMULATE, {})
    if not isinstance(simulate, Mapping):
        raise SchemeError(
            f"{SIMULATE} must have a table for each attribute whose distribution it states, got {simulate!r}"
        )
    document = {key: value for key, value in document.items() if key != SIMULATE}
    keys.check_known(document, _TOP_KEYS, "the scheme")
    entries = keys.read(keys.SCHEME, document)
    if not _NAME.fullmatch(entries["name"]):
        raise SchemeError(
            f"name must be lower-case letters, digits, - and _, the first a letter and 63 at most; got {entries['name']!r}"
        )
    functionals = attribute_table.read_functionals(entries["functionals"], is_canonical="format" in document)
    tables = entries["attributes"]
    if not isinstance(tables, Mapping) or not tables:
        raise SchemeError("a scheme needs at least one [attributes.NAME] table, got none")
    share = entries["clients"] if entries["reporting"] == "all" else max(1, entries["clients"] // len(tables))
    attributes = {
        key: attribute_table.read(key, attribute_types.expanded(f"attributes.{key}", table), share, functionals)
        for key, table in tables.items()
    }
    if len({attribute.mechanism.declared.is_asked for attribute in attributes.values()}) > 1:
        raise SchemeError(
            "attributes must all be stated, or none: one report is made here or elsewhere; write two schemes"
        )
    labels = label.read(entries["labels"], attributes)
    _columns_differ({**attributes, **labels})
    del entries["format"]
    return entries | {
        "draws": draws,
        SIMULATE: _as_texts(simulate),
        "pairs": pairs.read(entries["pairs"], attributes, math.prod(label.shape(labels))),
        "functionals": functionals,
        "attributes": MappingProxyType(attributes),
        "labels": labels,
    }


def _as_texts(value: Any) -> Any:
    """A table with its dates as texts, so that it can be written as schemes are."""
    if isinstance(value, Mapping):
        return {key: _as_texts(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_as_texts(entry) for entry in value]
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else value


def check_clients(clients: Any) -> None:
    """Raise SchemeError unless so many clients can be planned for."""
    keys.value_of(keys.CLIENTS, clients)


def _columns_differ(attributes: Mapping[str, Attribute]) -> None:
    """Raise SchemeError where a column of reports would have two meanings: reports of that shape could not be read."""
    for name, attribute in attributes.items():
        if attribute.mechanism.sizes != (1,):
            for taken in (f"{name}_level", f"{name}_values"):
                if taken in attributes:
                    raise SchemeError(
                        f"attributes {name} and {taken} cannot be in one scheme, as reports of {name} have a column {taken}; "
                        "rename one, and say its name in files with column ="
                    )


def write(scheme: Mapping[str, Any]) -> str:
    """Return the canonical text of a scheme's fields: a fixed order of keys, exact numbers, one spelling."""
    document = {"format": FORMAT, **scheme}
    if scheme["draws"] == 1:  # schemes from before there was a version keep their digest
        del document["draws"]
    document["attributes"] = {
        name: attribute_table.write(attribute) for name, attribute in scheme["attributes"].items()
    }
    document["labels"] = {name: label.write(described) for name, described in scheme["labels"].items()}
    if not scheme["labels"]:  # likewise
        del document["labels"]
    return toml_writer.dumps({key: document[key] for key in _TOP_KEYS if key in document})
