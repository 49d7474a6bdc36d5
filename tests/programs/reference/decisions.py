"""The index of decisions, of the headings of their pages."""

from __future__ import annotations

import re
from pathlib import Path

from tests.programs.reference.markdown import slug

PAGES = Path(__file__).parents[3] / "dpcore/decisions"
SUBJECTS = ("privacy", "estimation", "inference", "rounds", "collector", "flows", "results", "laboratory", "house")
_BEFORE = """# Decisions

Each decision: the question, the choice, its cost, in at most twelve lines; by subject, the newest first. A new one goes
to the top of its subject's page in `decisions/`; `make reference` writes this index.
"""


def page() -> str:
    """Return the index."""
    parts = [_BEFORE]
    for subject in SUBJECTS:
        text = (PAGES / f"{subject}.md").read_text(encoding="utf-8")
        headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
        lines = [f"- {each[:10]} [{each[12:]}](decisions/{subject}.md#{slug(each)})\n" for each in headings]
        parts.append(f"\n## {text.splitlines()[0].removeprefix('# ')}\n\n{''.join(lines)}")
    return "".join(parts)
