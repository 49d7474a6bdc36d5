"""dpcore/privacy/KNOWN_ISSUES.md: every row is whole, newest first, and the documents lead there."""

from __future__ import annotations

from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "dpcore/privacy/KNOWN_ISSUES.md"


def test_every_row_says_what_since_when_by_what_and_what_reports_keep() -> None:
    heading, line, *rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in (heading, *rows)]
    assert cells[0] == ["what was wrong", "since", "mended", "mended by", "reports collected then"]
    assert line.count("---") == 5
    for row in cells[1:]:
        assert len(row) == 5
        assert all(row)
        assert date.fromisoformat(row[1]) <= date.fromisoformat(row[2])
        assert row[4].startswith(("Keep", "Each keeps", "May keep less", "None: ")), row
    assert sorted((row[2] for row in cells[1:]), reverse=True) == [row[2] for row in cells[1:]]


def test_the_documents_lead_there() -> None:
    for document, link in (
        ("README.md", "dpcore/privacy/KNOWN_ISSUES.md"),
        ("dpcore/README.md", "privacy/KNOWN_ISSUES.md"),
    ):
        assert f"]({link})" in (ROOT / document).read_text("utf-8")
