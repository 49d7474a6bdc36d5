"""Odds on a round's page: for one report of its scheme, and for all rounds of the scheme."""

from __future__ import annotations

import math
from typing import Any

from dpcore.errors import DPCoreError
from dpcore.privacy.odds import MOST_ROUNDS
from dpcore.protocol.odds import scheme_odds
from dpcore.protocol.odds_text import Telling, tell, texts_of
from dpcore.protocol.scheme import Scheme


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
