"""Folders that a run may read and write: those that the operator names, for every path in a form, a plan or a link.

LDPFLOW_FOLDERS lists them, separated by commas: folders on the worker's machine, and URL prefixes.  The default is the folders
of the project's file, or `data` of the checkout.  Every flow and every task checks the paths in its arguments before it starts,
with links and `..` resolved.  So neither a request without a form nor a link changed between two tasks leads outside.

This limits the parameters of our flows.  Anyone who has the server's key can also make the worker run other code.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel

from dpcore.errors import DPCoreError
from dpcore.rounds.project import Project
from dpcore.rounds.run import Run
from dpcore.rounds.steps.collected_files import batches_of

from ..services.environment import FOLDERS as SETTING

DEFAULT = "data"
_URL = re.compile(r"([a-z][a-z0-9+]+):/+(.*)")  # as `dpcore.wire.location` reads it; `Path` makes one slash of the two
_named: list[Path] = []  # on this process's command line

F = TypeVar("F", bound=Callable[..., Any])


def guarded(function: F) -> F:
    """Return the function of a flow or task with a check of the paths in its arguments."""
    signature = inspect.signature(function, eval_str=True)  # Prefect reads it, too, without access to the names

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for value in bound.arguments.values():
            check(value)
        return function(*args, **kwargs)

    checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked  # type: ignore[return-value]


def name(*paths: Path | None) -> None:
    """Permit these paths as well: they are on this process's command line, which only its operator writes."""
    _named.extend(path for path in paths if path is not None)


def check(value: Any) -> None:
    """Raise DPCoreError for a path outside the permitted folders, also in a form, list, mapping or run."""
    if isinstance(value, BaseModel):
        for field in type(value).model_fields:
            check(getattr(value, field))
    elif isinstance(value, Mapping):
        for part in value.values():
            check(part)
    elif isinstance(value, (list, tuple, set)):
        for part in value:
            check(part)
    elif isinstance(value, Run):
        _check_run(value)
    elif isinstance(value, Path) or hasattr(value, "protocol"):  # the latter are URLs
        _check_path(value)


def _check_run(run: Run) -> None:
    """Check a run's folder, the paths of its plan, and the folders of the reports that it counts."""
    plan = run.plan
    check(run.folder)
    check([Path(path) for path in (plan.scheme_file, plan.input, plan.warehouse, plan.figures) if path])
    check([Path(parent) for parent in {os.path.dirname(batch.path) for batch in batches_of(run)}])


def _check_path(path: Any) -> None:
    allowed = [_resolved(folder) for folder in (*_folders(), *_named)]
    real = _resolved(path)
    _require(path, real, allowed)
    if _URL.fullmatch(real) or not os.path.isdir(real):
        return
    with os.scandir(real) as entries:
        links = [entry.path for entry in entries if entry.is_symlink()]
    for link in links:  # a report file or a scheme would be read through it
        _require(link, os.path.realpath(link), allowed)


def _require(path: Any, real: str, allowed: list[str]) -> None:
    if any(_is_in(real, folder) for folder in allowed):
        return
    target = "" if real == str(path) else f", which is {real}"
    raise DPCoreError(
        f"runs may only use {', '.join(allowed)}, got {path}{target}; move it there, or name its folder in {SETTING}"
    )


def _folders() -> list[Path]:
    if (named := os.environ.get(SETTING)) is None:
        project = Project.read()
        return [Path(DEFAULT)] if project is None else [Path(used) for used in project.used]
    return [Path(part.strip()) for part in named.split(",") if part.strip()]


def _resolved(path: Any) -> str:
    """The path without links and `..`; a URL stays a URL, a file URL becomes its path."""
    url = _URL.fullmatch(str(path))
    if url is None:
        return os.path.realpath(path)
    if url[1] in ("file", "local"):
        return os.path.realpath("/" + url[2])
    return f"{url[1]}://{url[2].rstrip('/')}"


def _is_in(path: str, folder: str) -> bool:
    if path == folder:
        return True
    rest = path.removeprefix(folder if folder.endswith("/") else folder + "/")
    if rest == path:
        return False
    return not _URL.fullmatch(path) or not ({".", ".."} & set(unquote(rest).split("/")) or "::" in rest)
