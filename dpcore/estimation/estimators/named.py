"""Every estimator by the names that schemes give it: found in the files of this folder, of which it is one."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from dpcore.estimation.estimators.base import Estimator


@cache
def by_name() -> dict[str, type[Estimator]]:
    """Return name -> the estimator that has it among its `titles`."""
    found: dict[str, type[Estimator]] = {}
    for module in iter_modules([str(Path(__file__).parent)]):
        for kind in vars(import_module(f"{__package__}.{module.name}")).values():
            if isinstance(kind, type) and issubclass(kind, Estimator):
                found |= dict.fromkeys(kind.titles, kind)
    return found


def named(attribute: Any) -> Estimator:
    """Return the estimator that the scheme names for an attribute, with what the scheme says of it."""
    return by_name()[attribute.estimator].of(attribute)
