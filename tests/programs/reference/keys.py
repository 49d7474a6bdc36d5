"""The tables of keys that a scheme may say: a key, its values with the default, and its words."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpcore.mechanisms.declaration import Option
from dpcore.mechanisms.registry import BY_KIND, BY_TYPE, IN_SCHEMES
from dpcore.privacy.budget import Budget
from dpcore.protocol.syntax import attribute_table, keys
from tests.programs.reference import markdown

_TYPES = {
    str: "a text",
    int: "a whole number",
    Fraction: "a number",
    Budget: "a number or a text",
    dict: "a table",
    list[str]: "a list of texts",
    list[int]: "a list of whole numbers",
    list[Fraction]: "a list of numbers",
    list[list[str]]: "a list of lists of texts",
    list[list[Fraction]]: "a list of lists of numbers",
}
_BEFORE = """Keys that are not marked as needed are optional. `ldpflow scheme --json-schema` prints these tables for editors,
with the allowed combinations. An unknown key is refused. [Which mechanism to name](../../README.md#which-mechanism)."""
_MECHANISM = "Each mechanism has design keys of its own; a key of another mechanism is refused."


_LATTICE = """One with `step` or `values` has these keys in place of the numeric ones, and the options of the mechanism it
names. Its reports are read by `log_linear`. [What it is for](../how-to/counts_and_rounded_values.md)."""

_LABEL = """Its table, `[labels.NAME]`. A label is sent as it is, beside the answers, and costs no epsilon. No attribute may
have its name or column. All labels together have at most 4,096 combinations of categories.
[What it is for](../how-to/results_by_region.md)."""

_REGRESSIONS = """A table `[regressions]`: of each regression its name and formula, `NAME = "ATTRIBUTE ~ LABELS"`, or
`NAME = { formula = "ATTRIBUTE ~ LABELS", reference = { LABEL = "CATEGORY" } }`. Every round estimates them. They are no part of
the digest. [What they are for](../how-to/regression.md)."""

_BINNED = """One with `bins` has these keys in place of the categorical ones, and the options of the mechanism it names.
[What it is for](../how-to/ranges.md)."""

_CROSSED = """One with `of` asks two columns together. It has these keys in place of the categorical ones, no `column` and no
`functionals`, and the options of the mechanism it names. [What it is for](../how-to/asked_together.md)."""

_PLANE = """One with `of` asks two numbers together: these keys in place of the numeric ones, the last three of them
`crossed_wave`'s. Alone it is not estimated. [What it is for](../how-to/asked_together.md#two-numbers)."""


def page() -> str:
    """Return the page."""
    shared = {
        kind: [key for key in attribute_table.of_attribute(kind, "") if key.name != "estimator"] for kind in BY_TYPE
    }
    common = [key for key in shared["numeric"] if key in shared["categorical"]]
    parts = [
        _BEFORE,
        "## A scheme",
        _table(map(_row, keys.SCHEME)),
        "## An attribute",
        "Its table, `[attributes.NAME]`:",
    ]
    parts += [_table([*map(_row, common), ("`estimator`", "one of its mechanism's", "the estimator")])]
    for kind, named in ((kind, IN_SCHEMES[kind]) for kind in BY_TYPE):
        own = [_row(key) for key in shared[kind] if key not in common]
        parts += [f"## A {kind} attribute", _table(own), _MECHANISM]
        for name, each in named.items():
            readers = ", ".join(f"`{estimator}`" for estimator in each.declared.estimators)
            parts += [
                f"### {name}",
                f"{each.declared.words[0].upper()}{each.declared.words[1:]}. Estimators, the default first: {readers}.",
            ]
            parts += [_table(map(_row, each.declared.options))] if each.declared.options else []
    lattice = [
        key for key in attribute_table.of_attribute(keys.LATTICE, "") if key.name != "estimator" and key not in common
    ]
    parts += ["## A numeric attribute that declares its values", _LATTICE, _table(map(_row, lattice))]
    binned = [
        key for key in attribute_table.of_attribute(keys.BINNED, "") if key.name != "estimator" and key not in common
    ]
    parts += ["## A categorical attribute of a number's ranges", _BINNED, _table(map(_row, binned))]
    crossed = [
        key for key in attribute_table.of_attribute(keys.CROSSED, "") if key.name != "estimator" and key not in common
    ]
    parts += ["## A categorical attribute of two columns", _CROSSED, _table(map(_row, crossed))]
    plane = [
        key for key in attribute_table.of_attribute(keys.PLANE, "") if key.name != "estimator" and key not in common
    ]
    (wave,) = BY_KIND[keys.PLANE].values()
    parts += ["## A numeric attribute of two columns", _PLANE, _table(map(_row, (*plane, *wave.declared.options)))]
    parts += ["## A label", _LABEL, _table(map(_row, keys.LABEL))]
    parts += ["## Regressions", _REGRESSIONS]
    return markdown.page("What a scheme may say", *parts)


def _table(rows: Any) -> str:
    return markdown.table(("key", "values", "what"), rows)


def _row(key: Option) -> tuple[str, str, str]:
    return f"`{key.name}`", _values(key), key.words


def _values(key: Option) -> str:
    said = f"{key.least:,} to {key.most:,}" if key.type is int and key.most != 1 << 20 else _TYPES[key.type]
    if key.choices:
        said = ", ".join(f'`"{each}"`' + (" (default)" if each == key.default else "") for each in key.choices)
    elif key.default not in (None, "", (), {}):
        said += f", default {_shown(key.default)}"
    return said + (", needed" if key.is_needed else "")


def _shown(default: Any) -> str:
    if isinstance(default, tuple):
        return ", ".join(f'"{each}"' for each in default)
    return f"{default:,}" if isinstance(default, int) else str(default)
