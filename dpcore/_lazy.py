"""Exports of a package that are imported on first use, so that a command loads only what it needs (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy(package: str, exports: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], list[str]]:
    """Return a package's function `__getattr__` and its names for `__all__`.

    exports: module inside the package -> its names.  A name must not equal a module's name, because the module would hide it.
    """
    modules = {name: module for module, exported in exports.items() for name in exported}
    names = sorted(modules)

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(names)}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return get, names
