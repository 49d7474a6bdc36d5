"""Types of attributes that stand for another: a scheme's table, as a person writes it, becomes the table of that other type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.errors import SchemeError, check_one_of
from dpcore.protocol.domain import dates

BOOLEAN, DATE = "boolean", "date"
TYPES = ("numeric", "categorical", BOOLEAN, DATE)  # as schemes write them
_FALSE = ("0", "f", "F", "False", "FALSE", "n", "N", "no", "No", "NO")
_TRUE = ("1", "t", "T", "True", "TRUE", "y", "Y", "yes", "Yes", "YES")
CATEGORIES = ("false", "true")
CODES = dict.fromkeys(_FALSE, CATEGORIES[0]) | dict.fromkeys(_TRUE, CATEGORIES[1])  # how files write them


def expanded(where: str, table: Any) -> Any:
    """Return the table of `where`: a boolean as two categories with the codes of files, a date as a number of days.

    Other tables come back as they are.

    Raises SchemeError, which names the table, for an unknown type, and for keys that a type says itself.
    """
    if not isinstance(table, Mapping) or "type" not in table:
        return table
    if table["type"] == DATE:
        return _date(where, table)
    if table["type"] != BOOLEAN:
        check_one_of(TYPES, **{f"{where}.type": table["type"]})
        return table
    for key in ("categories", "outside"):
        if key in table:
            raise SchemeError(f'{where}.{key} goes with type = "categorical", got type = "{BOOLEAN}"; leave it out')
    codes = table.get("codes", {})
    own = {"type": "categorical"} if where.startswith("attributes.") else {}  # labels have no type
    codes = CODES | dict(codes) if isinstance(codes, Mapping) else codes
    return (
        {key: value for key, value in table.items() if key != "type"}
        | own
        | {"categories": [*CATEGORIES], "codes": codes}
    )


def _date(where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    for key in ("unit", "values", "bins", "of", "heaps", "assume"):
        if key in table:
            raise SchemeError(f'{where}.{key} goes with another type, got type = "{DATE}"; leave it out')
    own: dict[str, Any] = {key: dates.bound(f"{where}.{key}", table[key]) for key in ("lower", "upper") if key in table}
    if "step" in table:
        own["step"] = dates.step(f"{where}.step", table["step"])
    if isinstance(table.get("functionals"), list):
        own["functionals"] = [dates.in_days(name) if isinstance(name, str) else name for name in table["functionals"]]
    return {**table, **own, "type": "numeric", "unit": dates.DAYS}
