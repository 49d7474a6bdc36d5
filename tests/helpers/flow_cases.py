"""Every flow and task there is, found in the modules of `flows`."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import pytest
from prefect import Flow, Task

import ldpflow_flows

_MODULES = sorted(  # those of studies last
    (module.name for module in pkgutil.walk_packages(ldpflow_flows.__path__, "ldpflow_flows.")),
    key=lambda name: name.startswith("ldpflow_flows.studies"),
)
_FOUND = [made for module in _MODULES for made in vars(import_module(module)).values()]
FLOWS: list[Any] = list({id(made): made for made in _FOUND if isinstance(made, Flow)}.values())
TASKS: list[Any] = list({id(made): made for made in _FOUND if isinstance(made, Task)}.values())


def unplugged(patch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Make each flow and task the function that it decorates, and return the list that gets what would be shown.

    For functions that need no server: what the engine adds is seen by the tests that have one.
    """
    shown: list[dict[str, Any]] = []

    def keep(kind: str) -> Any:
        return lambda content, **told: shown.append({"kind": kind, kind: content, **told})

    for module in _MODULES:
        made = import_module(module)
        for name, value in list(vars(made).items()):
            if isinstance(value, Flow | Task):
                patch.setattr(made, name, value.fn)
            elif name.startswith("create_") and name.endswith("_artifact"):
                patch.setattr(made, name, keep(name.split("_")[1]))
    return shown
