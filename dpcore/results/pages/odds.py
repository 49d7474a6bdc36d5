"""What a round's page says of odds: of the scheme that landed with it, and of the rounds in which it was asked."""

from __future__ import annotations

import math
from typing import Any

from dpcore.errors import DPCoreError
from dpcore.privacy.odds import MOST_ROUNDS
from dpcore.protocol.odds import scheme_odds
from dpcore.protocol.odds_text import Telling, tell, texts_of
from dpcore.protocol.scheme import Scheme


def told_of(run: dict[str, Any], spent: dict[str, Any], language: str) -> Telling | None:
    """Return what is told of a round's odds; None where its scheme did not land whole, or this code reads it no more.

    run, spent: the rows of these queries.  Rounds are told of where all of them had this scheme's epsilon.
    Raises SchemeError where there is no such language.
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
