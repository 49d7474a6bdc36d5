"""Reading and writing of schemes; the canonical form has all defaults, mechanisms as integers, and one spelling.

Numbers that determine privacy are read as exact fractions.  Unknown keys are errors.  Messages name the key, the value and the
accepted values; they never contain a record.

`dumps` writes TOML with exactly one spelling per document.  It must never change, because digests are hashes of its output.
It writes nested tables, texts, whole numbers, booleans and lists of these.  A list has one line per entry, and a table in a
list is one line.  `tomllib` reads the output.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from dpcore.errors import SchemeError
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain import label, option_sets, pairs
from dpcore.protocol.syntax import attribute_table, attribute_types, fields, keys

FORMAT = 1
DRAWS = 1  # version of the rule from random words to answers: labels of streams, order of draws; part of the digest
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")  # an attribute's name has no dash, because it names columns
SIMULATE = "simulate"  # distributions of dry runs; not sent to clients, and not part of the digest
_TOP_KEYS = tuple(key.name for key in keys.SCHEME)  # in the order of the canonical text
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'[\x00-\x08\x0a-\x1f\x7f"\\]')
_SHORT = {"\b": r"\b", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}


def read(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a Scheme from its TOML with decimals as texts; raises SchemeError for invalid ones."""
    if document.get("format", FORMAT) != FORMAT:
        raise SchemeError(f"format must be {FORMAT}, got {document['format']!r}; upgrade ldpflow to read this scheme")
    # A canonical text without the key has the first version; a written scheme has the current one.
    draws = document.get("draws", 1 if "format" in document else DRAWS)
    if isinstance(draws, bool) or draws != DRAWS:
        raise SchemeError(
            f"draws must be {DRAWS}, this ldpflow's version of drawing answers, got {draws!r}; use the ldpflow version that "
            "made the scheme, because memoized answers would change"
        )
    simulate = document.get(SIMULATE, {})
    if not isinstance(simulate, Mapping):
        raise SchemeError(
            f"{SIMULATE} must be tables, got {simulate!r}; write [{SIMULATE}.NAME] for each attribute to simulate"
        )
    regressions = label.read_regressions(document.get(label.REGRESSIONS, {}))
    document = {key: value for key, value in document.items() if key not in (SIMULATE, label.REGRESSIONS)}
    fields.check_known(document, _TOP_KEYS, "the scheme")
    entries = fields.read(keys.SCHEME, document)
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
            "attributes: stated mechanisms cannot be combined with others, because another system makes their reports; "
            "write two schemes"
        )
    labels = label.read(entries["labels"], attributes)
    _columns_differ({**attributes, **labels})
    option_sets.check_boxes({**attributes, **labels})
    del entries["format"]
    return entries | {
        "draws": draws,
        SIMULATE: _as_texts(simulate),
        label.REGRESSIONS: regressions,
        "pairs": pairs.read(entries["pairs"], attributes, math.prod(label.shape(labels))),
        "functionals": functionals,
        "attributes": MappingProxyType(attributes),
        "labels": labels,
    }


def _as_texts(value: Any) -> Any:
    """A table with its dates as texts, for `dumps`."""
    if isinstance(value, Mapping):
        return {key: _as_texts(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_as_texts(entry) for entry in value]
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else value


def check_clients(clients: Any) -> None:
    """Raise SchemeError unless `clients` is a valid planned number."""
    fields.value_of(keys.CLIENTS, clients)


def _columns_differ(attributes: Mapping[str, Attribute]) -> None:
    """Raise SchemeError if two attributes would use one column of report files."""
    for name, attribute in attributes.items():
        if attribute.mechanism.sizes != (1,):
            for taken in (f"{name}_level", f"{name}_values"):
                if taken in attributes:
                    raise SchemeError(
                        f"attributes {name} and {taken}: report files have a column {taken} for {name}; rename one attribute, "
                        "and set its name in record files with column ="
                    )


def write(scheme: Mapping[str, Any]) -> str:
    """Return the canonical text of a scheme's fields: a fixed order of keys, exact numbers, one spelling."""
    document = {"format": FORMAT, **scheme}
    if scheme["draws"] == 1:  # schemes without the key keep their digest
        del document["draws"]
    document["attributes"] = {
        name: attribute_table.write(attribute) for name, attribute in scheme["attributes"].items()
    }
    document["labels"] = {name: label.write(described) for name, described in scheme["labels"].items()}
    if not scheme["labels"]:  # likewise
        del document["labels"]
    return dumps({key: document[key] for key in _TOP_KEYS if key in document})


def dumps(document: Mapping[str, Any]) -> str:
    r"""Return a document as TOML.

    >>> print(dumps({"name": "pets", "level_law": [3, 1], "codes": {"1": 'a "cat"'}}), end="")
    name = "pets"
    level_law = [
        3,
        1,
    ]
    <BLANKLINE>
    [codes]
    1 = "a \"cat\""
    """
    return "\n".join(_tables(document, ""))


def _tables(table: Mapping[str, Any], name: str) -> Iterator[str]:
    """The table's own entries under its name, then nested tables; without own entries it has no header."""
    entries = "".join(f"{_key(k)} = {_value(v, 0)}\n" for k, v in table.items() if not isinstance(v, Mapping))
    tables = {k: v for k, v in table.items() if isinstance(v, Mapping)}
    if entries or (name and not tables):
        yield (f"[{name}]\n" if name else "") + entries
    for key, inner in tables.items():
        yield from _tables(inner, f"{name}.{_key(key)}" if name else _key(key))


def _value(value: Any, depth: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        lines = "".join(f"{'    ' * (depth + 1)}{_value(entry, depth + 1)},\n" for entry in value)
        return f"[\n{lines}{'    ' * depth}]" if value else "[]"
    if isinstance(value, Mapping):  # in a list
        return f"{{ {', '.join(f'{_key(key)} = {_value(entry, depth)}' for key, entry in value.items())} }}"
    raise TypeError(f"no scheme holds a {type(value).__name__}")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda match: _SHORT.get(match[0], f"\\u{ord(match[0]):04x}"), text) + '"'
