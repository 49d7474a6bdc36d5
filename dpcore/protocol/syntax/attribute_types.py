"""Types of attributes that stand for another: a scheme's table, as a person writes it, becomes the table of that other type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.errors import SchemeError, check_one_of

BOOLEAN = "boolean"
TYPES = ("numeric", "categorical", BOOLEAN)  # as schemes write them
_FALSE = ("0", "f", "F", "False", "FALSE", "n", "N", "no", "No", "NO")
_TRUE = ("1", "t", "T", "True", "TRUE", "y", "Y", "yes", "Yes", "YES")
CATEGORIES = ("false", "true")
CODES = dict.fromkeys(_FALSE, CATEGORIES[0]) | dict.fromkeys(_TRUE, CATEGORIES[1])  # how files write them


def expanded(where: str, table: Any) -> Any:
    """Return the table of `where`, a boolean as two categories with the codes of files; other tables as they are.

    Raises SchemeError, which names the table, for an unknown type, and for a boolean that lists categories.
    """
    if not isinstance(table, Mapping) or "type" not in table:
        return table
    if table["type"] != BOOLEAN:
        check_one_of(TYPES, **{f"{where}.type": table["type"]})
        return table
    for key in ("categories", "outside"):
        if key in table:
            raise SchemeError(f'{where}.{key} goes with type = "categorical", got type = "{BOOLEAN}"; leave it out')
    codes = table.get("codes", {})
    said = {"type": "categorical"} if where.startswith("attributes.") else {}  # labels have no type
    codes = CODES | dict(codes) if isinstance(codes, Mapping) else codes
    return (
        {key: value for key, value in table.items() if key != "type"}
        | said
        | {"categories": [*CATEGORIES], "codes": codes}
    )
