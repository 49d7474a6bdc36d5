"""Writes the page of a round: asked of the warehouse, filled into the template, written whole.

Rules: nothing but the warehouse is read; the page fetches nothing; the same warehouse gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path

from dpcore import wire
from dpcore.errors import WarehouseError
from dpcore.results import warehouse
from dpcore.results.pages.content import find, gather
from dpcore.results.pages.odds import told_of
from dpcore.results.pages.template import fill

_SUFFIXES = (".html", ".htm")


def publish(
    path: str | Path, target: Path, *, round_: str | None = None, scheme: str | None = None, language: str = "en"
) -> tuple[str, str]:
    """Write the page of a round's run that stands and return (scheme, round).

    path: the warehouse; brought up to date first where older code wrote it.  target: an .html file, replaced when whole.
    round_: the newest where None.  scheme: needed only where several have the round.  language: of what is told of odds.
    Raises WarehouseError where the round is not there or the target cannot be a page, SchemeError where the language is not.
    """
    if target.suffix not in _SUFFIXES:
        raise WarehouseError(f"a page is a {' or a '.join(_SUFFIXES)} file, got {target.name!r}; name one of these")
    warehouse.bring_up_to_date(path)
    with warehouse.reader(path) as ask:
        content = gather(ask, find(ask, round_, scheme))
    content["odds"] = told_of(content["run"], content["spent"], language)
    wire.write_bytes(target, fill("round.html", content).encode())
    return content["run"]["scheme"], content["run"]["round"]
