"""Every estimator by its names in schemes, collected from the files of four packages."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from dpcore.estimation.estimator import Estimator

PACKAGES = ("density", "discrete", "frequency", "joint")  # whose files may hold an estimator


@cache
def by_name() -> dict[str, type[Estimator]]:
    """Return name -> the estimator with that name in its `titles`."""
    estimators: dict[str, type[Estimator]] = {}
    for folder in PACKAGES:
        package = import_module(f"{__package__}.{folder}")
        for module in iter_modules(package.__path__):
            for kind in vars(import_module(f"{package.__name__}.{module.name}")).values():
                if isinstance(kind, type) and issubclass(kind, Estimator):
                    estimators |= dict.fromkeys(kind.titles, kind)
    return estimators


def named(attribute: Any) -> Estimator:
    """Return the estimator that the scheme names for an attribute, with the scheme's options."""
    return by_name()[attribute.estimator].from_attribute(attribute)
