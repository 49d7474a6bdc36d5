"""Every flow and task there is, found in the modules of `flows`."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

from prefect import Flow, Task

import flows

_FOUND = [
    made
    for module in pkgutil.iter_modules(flows.__path__)
    for made in vars(import_module(f"flows.{module.name}")).values()
]
FLOWS: list[Any] = list({id(made): made for made in _FOUND if isinstance(made, Flow)}.values())
TASKS: list[Any] = list({id(made): made for made in _FOUND if isinstance(made, Task)}.values())
