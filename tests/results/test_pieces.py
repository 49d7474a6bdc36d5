"""A round in pieces: what Prefect's UI shows is what the warehouse holds, whatever the names in it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest

from dpcore.results.pages import Pieces, pieces, plain
from dpcore.results.warehouse import query


def pieces_of(landed: Path, scheme: str, round_: str = "2026-11-20") -> Pieces:
    sql = f"select run_id from latest_runs where scheme = '{scheme}' and round = '{round_}'"
    return pieces(landed, query(landed, sql)["run_id"].iloc[0])


@pytest.fixture(scope="module")
def simulated(landed: Path) -> Pieces:
    return pieces_of(landed, "consumer_expenditure")


def without_pictures(page: str) -> str:
    return re.sub(r"\(data:image/svg\+xml;base64,[A-Za-z0-9+/=]+\)", "(picture)", page)


def tables(page: str) -> list[list[str]]:
    """The tables of a Markdown page, each as its lines."""
    return [block.splitlines() for block in page.split("\n\n") if block.startswith("|")]


@pytest.mark.slow
def test_the_front_page_sums_up_what_landed_rounds_have_spent(landed: Path, simulated: Pieces) -> None:
    epsilon = float(
        query(
            landed,
            "select sum(epsilon) from budgets join latest_runs using (run_id) where scheme = 'consumer_expenditure'",
        ).iloc[0, 0]
    )
    assert "all 3 rounds since 2026-11-18 |" in simulated.front
    assert f"**ε = {epsilon:.4g}** |" in simulated.front


@pytest.mark.slow
def test_the_headline_counts_reports_and_checks(landed: Path) -> None:
    found = pieces_of(landed, "health_insurance")
    run = query(landed, "select * from latest_runs where scheme = 'health_insurance'").iloc[0]
    assert found.headline.startswith(f"{run['accepted']:,} reports counted, 2 refused; ")
    assert "| 2 |" in found.front.split("## Refused reports")[1]


@pytest.mark.slow
def test_a_check_that_did_not_pass_is_told_first_and_by_name(landed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "warehouse.duckdb"
    shutil.copy(landed, broken)
    with duckdb.connect(broken) as connection:
        connection.execute("update checks set passed = false, detail = 'a | b' where name = 'rejected_share'")
    found = pieces_of(broken, "consumer_expenditure")
    assert found.failed == ["rejected share: a | b"]
    assert "; 1 of 35 checks did not pass" in found.headline
    assert "- **rejected share**: a \\| b" in found.front
    assert tables(found.front)[1][2].startswith("| rejected share | **✗ not passed** |")


@pytest.mark.slow
def test_every_attribute_has_a_page_with_its_picture_and_the_round_before(landed: Path, simulated: Pieces) -> None:
    names = query(
        landed, "select attribute from latest_attributes where scheme = 'consumer_expenditure' and round = '2026-11-20'"
    )
    assert set(simulated.attributes) == set(names["attribute"])
    for page in simulated.attributes.values():
        assert "(picture)" in without_pictures(page)
        assert "before it round 2026-11-19" in page


@pytest.mark.slow
def test_every_table_is_one(simulated: Pieces) -> None:
    for page in (simulated.front, *simulated.attributes.values()):
        found = tables(without_pictures(page))
        assert found
        for head, rule, *rows in found:
            assert re.fullmatch(r"\|(:?-+:?\|)+", rule)
            assert rows
            for line in (head, *rows):
                assert len(re.findall(r"(?<!\\)\|", line)) == rule.count("|"), line


@pytest.mark.slow
def test_the_table_of_estimates_has_every_number_and_alike_columns(landed: Path, simulated: Pieces) -> None:
    sql = "select count(*) from latest_estimates where scheme = 'consumer_expenditure' and round = '2026-11-20'"
    assert len(simulated.estimates) == int(query(landed, sql).iloc[0, 0])
    for rows in (simulated.estimates, simulated.changes, simulated.groups):
        assert len({tuple(row) for row in rows}) == 1
    assert {row["quantity"] for row in simulated.changes} <= {row["quantity"] for row in simulated.estimates}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a|b", "a\\|b"), ("two\nlines", "two lines"), ("<b>", "\\<b\\>"), ("5+ kids_count", "5+ kids\\_count")],
)
def test_nothing_in_a_name_is_taken_for_markdown(text: str, expected: str) -> None:
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (12, "12"),
        (None, "None"),
        (" a\n b|c ", "a b\\|c"),
        ("*_`#[x](y)", "\\*\\_\\`\\#\\[x\\](y)"),
        ("<$~>", "\\<\\$\\~\\>"),
    ],
)
def test_what_stands_in_markdown_is_one_line_as_it_is(text: object, shown: str) -> None:
    assert plain(text) == shown
