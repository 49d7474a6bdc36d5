"""Writes the page of a round from the warehouse.

Only the warehouse is read; the page loads no other resources; the same warehouse gives the same bytes.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dpcore import wire
from dpcore.errors import DPCoreError, WarehouseError
from dpcore.privacy.odds import MOST_ROUNDS
from dpcore.protocol.odds import Telling, scheme_odds, tell, texts_of
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.results.pages.content import find, gather
from dpcore.results.pages.template import fill
from dpcore.results.pages.vocabulary import titles_of

_SUFFIXES = (".html", ".htm")


def publish(
    path: str | Path, target: Path, *, round_: str | None = None, scheme: str | None = None, language: str = "en"
) -> tuple[str, str]:
    """Write the page of the current run of a round and return (scheme, round).

    path: the warehouse, which is migrated if older code wrote it.  target: an .html file, replaced atomically.
    round_: None is the newest.  scheme: needed if several schemes have the round.  language: of the section on odds.
    Raises WarehouseError if the round does not exist or the target is not an HTML file, SchemeError for an unknown language.
    """
    if target.suffix not in _SUFFIXES:
        raise WarehouseError(
            f"page {target.name!r}: not an HTML file; use a name that ends in {' or '.join(_SUFFIXES)}"
        )
    warehouse.bring_up_to_date(path)
    with warehouse.reader(path) as ask:
        run_id = find(ask, round_, scheme)
        with titles_of(ask, run_id):
            content = gather(ask, run_id)
            content["odds"] = odds_of(content["run"], content["spent"], language)
            page = fill("round.html", content)
    wire.write_bytes(target, page.encode())
    return content["run"]["scheme"], content["run"]["round"]


def odds_of(run: dict[str, Any], spent: dict[str, Any], language: str) -> Telling | None:
    """Return the odds of a round in words; None if its scheme is not stored completely or this code cannot read it.

    run, spent: the rows of these queries.  Several rounds are described if all of them had this scheme's epsilon.
    Raises SchemeError for an unknown language.
    """
    texts = texts_of(language)
    if not run["is_whole"]:
        return None
    try:
        scheme = Scheme.from_toml(run["canonical"])
    except DPCoreError:
        return None
    asked = spent["drawings"]
    is_alike = asked <= MOST_ROUNDS and spent["epsilon"] is not None
    is_alike = is_alike and math.isclose(spent["epsilon"], asked * scheme.epsilon, rel_tol=1e-9)
    return tell(scheme_odds(scheme, int(asked) if is_alike else 1), texts)
