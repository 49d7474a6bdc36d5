"""The public names of Python: what `import dpcore as dp` has, with the first line of each docstring."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from typing import Any

import dpcore as dp
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import FunctionalEstimate
from dpcore.estimation.inference.comparison import Comparison
from dpcore.functionals import KINDS
from tests.programs.reference import markdown

_BEFORE = """`import dpcore as dp`. The names here stay as they are within a major version. What they do together is on
[Estimate from Python](../../../dpcore/estimation/README.md)."""
_OPENED = (dp.Scheme, dp.Client, dp.Aggregate, DensityEstimate, FrequencyEstimate, FunctionalEstimate, Comparison)


def page() -> str:
    """Return the page."""
    rows = [(f"`dp.{name}{_asked(getattr(dp, name))}`", _first(getattr(dp, name))) for name in dp.__all__]
    parts = [_BEFORE, markdown.table(("name", "what"), rows)]
    for kind in _OPENED:
        parts += [f"## {kind.__name__}", _first(kind), _held(kind)]
        parts += [markdown.table(("member", "what"), rows)] if (rows := _members(kind)) else []
    functionals = [(f"`{kind.__name__}{_asked(kind)}`", f"`{_in_schemes(kind)}`", _first(kind)) for kind in KINDS]
    parts += ["## dp.functionals", markdown.table(("name", "in schemes and tables", "what"), functionals)]
    return markdown.page("Python", *filter(None, parts))


def _first(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def _held(kind: type) -> str:
    """What its docstring says of what it is made of, a line each."""
    _, *more = (" ".join(part.split()) for part in (inspect.getdoc(kind) or "").split("\n\n"))
    said = [each for part in more for each in re.split(r"(?<=\.) (?=[a-z_]+(?:, [a-z_]+)*: )", part)]
    lines = [re.sub(r"^([a-z_, ]+): ", lambda names: f"- {_each(names[1])}: ", each) for each in said]
    apart = re.sub(r"\n(?!- )", "\n\n", "\n".join(lines))
    return re.sub(r"^((?!- ).*)\n(?=- )", r"\1\n\n", apart, flags=re.MULTILINE)


def _each(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _asked(thing: Any) -> str:
    """The names of its arguments, those with defaults in brackets."""
    if inspect.ismodule(thing):
        return ""
    names = []
    for each in inspect.signature(thing).parameters.values():
        if each.name != "self":
            star = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
            names.append(star + each.name + ("" if each.default is each.empty else "="))
    return f"({', '.join(names)})"


def _in_schemes(kind: type) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
    return name + _asked(kind).replace("()", "")


def _members(kind: type) -> list[tuple[str, str]]:
    rows = []
    for base in reversed(kind.__mro__[:-1]):
        for name, member in vars(base).items():
            shown = member.__func__ if isinstance(member, classmethod) else member
            if name.startswith("_") or (
                not isinstance(shown, (property, cached_property)) and not inspect.isfunction(shown)
            ):
                continue
            called = _asked(getattr(kind, name)) if inspect.isfunction(shown) else ""
            if words := _first(shown):
                rows.append((f"`{name}{called}`", words))
    return rows
