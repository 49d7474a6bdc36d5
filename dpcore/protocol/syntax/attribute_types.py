"""Attribute types defined by another type: boolean becomes categorical, date and datetime become numeric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.errors import SchemeError, check_one_of
from dpcore.mechanisms.registry import BY_TYPE
from dpcore.protocol.domain import dates

BOOLEAN, DATE, DATETIME = "boolean", "date", "datetime"
TYPES = (*BY_TYPE, BOOLEAN, DATE, DATETIME)  # as schemes write them
_FALSE = ("0", "f", "F", "False", "FALSE", "n", "N", "no", "No", "NO")
_TRUE = ("1", "t", "T", "True", "TRUE", "y", "Y", "yes", "Yes", "YES")
UNITS = {DATE: dates.DAYS, DATETIME: dates.INSTANTS}
CATEGORIES = ("false", "true")
CODES = dict.fromkeys(_FALSE, CATEGORIES[0]) | dict.fromkeys(_TRUE, CATEGORIES[1])  # how files write them


def expanded(where: str, table: Any) -> Any:
    """Return the table with its type expanded: a boolean to two categories with codes, a date or time to days.

    where: the table's place in the scheme.  Tables of other types are returned unchanged.
    Raises SchemeError, which names the table, for an unknown type, and for keys that the type sets itself.
    """
    if not isinstance(table, Mapping) or "type" not in table:
        return table
    if table["type"] in (DATE, DATETIME):
        return _date(where, table, UNITS[table["type"]])
    if table["type"] != BOOLEAN:
        check_one_of(TYPES, **{f"{where}.type": table["type"]})
        return table
    for key in ("categories", "outside"):
        if key in table:
            raise SchemeError(
                f'{where}.{key} needs type = "categorical", got type = "{BOOLEAN}"; remove the key or change the type'
            )
    codes = table.get("codes", {})
    own = {"type": "categorical"} if where.startswith("attributes.") else {}  # labels have no type
    codes = CODES | dict(codes) if isinstance(codes, Mapping) else codes
    return (
        {key: value for key, value in table.items() if key != "type"}
        | own
        | {"categories": [*CATEGORIES], "codes": codes}
    )


def _date(where: str, table: Mapping[str, Any], unit: str) -> dict[str, Any]:
    for key in ("unit", "values", "bins", "of", "heaps", "assume"):
        if key in table:
            raise SchemeError(f'{where}.{key} is not a key of type = "{table["type"]}"; remove it')
    own: dict[str, Any] = {
        key: dates.bound(f"{where}.{key}", table[key], unit) for key in ("lower", "upper") if key in table
    }
    if "step" in table:
        own["step"] = dates.step(f"{where}.step", table["step"], unit)
    if isinstance(table.get("functionals"), list):
        try:
            own["functionals"] = [dates.in_days(str(name), unit) for name in table["functionals"]]
        except ValueError:
            raise SchemeError(
                f"{where}.functionals must contain {dates.EXAMPLES[unit]}, and at least one does not"
            ) from None
    return {**table, **own, "type": "numeric", "unit": unit}
