"""A round in pieces: what Prefect's UI shows is what the warehouse holds, whatever the names in it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest

from dpcore.results.pages import Pieces, pieces, plain, publish
from dpcore.results.pages.template import _BESIDE, _ROOM, Strong, _breadth, fitted, table
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
    assert found.headline.startswith(f"{run['accepted']:,} reports counted, 2 rejected; ")
    assert "| 2 |" in found.front.split("## Rejected reports")[1]


@pytest.mark.slow
def test_a_check_that_did_not_pass_is_told_first_and_by_name(landed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "warehouse.duckdb"
    shutil.copy(landed, broken)
    with duckdb.connect(broken) as connection:
        connection.execute("update checks set passed = false, detail = 'a | b' where name = 'rejected_share'")
    found = pieces_of(broken, "consumer_expenditure")
    assert found.failed == ["rejected share: a | b"]
    assert "; 1 of 42 checks did not pass" in found.headline
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
        assert "previous round 2026-11-19" in page


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
@pytest.mark.parametrize("scheme", ["consumer_expenditure", "health_insurance"])
def test_sentences_have_a_space_between_them(landed: Path, tmp_path: Path, scheme: str) -> None:
    found = pieces_of(landed, scheme)
    publish(landed, tmp_path / "round.html", round_="2026-11-20", scheme=scheme)
    html = re.sub(
        r"<(style|svg|pre|code)\b.*?</\1>|data:[^\"]*|<[^>]*>", " ", (tmp_path / "round.html").read_text(), flags=re.S
    )
    for page in (html, found.front, *map(without_pictures, found.attributes.values())):
        assert re.findall(r".{20}[a-z0-9)%][.;:][A-Z][a-z]+ .*", page) == []


@pytest.mark.slow
def test_the_table_of_estimates_has_every_number_and_alike_columns(landed: Path, simulated: Pieces) -> None:
    sql = "select count(*) from latest_estimates where scheme = 'consumer_expenditure' and round = '2026-11-20'"
    assert len(simulated.estimates) == int(query(landed, sql).iloc[0, 0])
    for rows in (simulated.estimates, simulated.changes, simulated.groups):
        assert len({tuple(row) for row in rows}) == 1
    changed, told = ({whole(row["quantity"]) for row in rows} for rows in (simulated.changes, simulated.estimates))
    assert changed <= told


def whole(cell: str) -> str:
    """A cell's text without its breaks."""
    return cell.replace("<br>", " ")


@pytest.mark.slow
def test_what_was_refused_is_short_in_tables_and_whole_on_its_page(landed: Path, tmp_path: Path) -> None:
    why, since = "the noise is too large; " + "more of them would do, " * 9, "2026-11-19"
    refused = tmp_path / "warehouse.duckdb"
    shutil.copy(landed, refused)
    with duckdb.connect(refused) as connection:
        nothing = "standard_error = null, low = null, high = null, reason = ? where functional = 'mean'"
        connection.execute(f"update functionals set estimate = null, {nothing}", [why])
        connection.execute(f"update comparisons set difference = null, {nothing}", [why])
    found = pieces_of(refused, "consumer_expenditure")
    for rows, column in ((found.estimates, "estimate"), (found.changes, "difference"), (found.groups, "difference")):
        assert "refused" in {row[column] for row in rows}
        assert max(len(line) for row in rows for cell in row.values() for line in cell.split("<br>")) < 50
    page = found.attributes["income"]
    assert page.count("## Not available") == 1
    for what in ("mean", "mean, urban rural: urban", "mean, urban − rural", f"mean since {since}"):
        assert f"\n- **{what}**: {why.strip()}\n" in page.split("## Not available")[1]
    assert why.strip() not in page.split("## Not available")[0]
    assert "## Not available" not in found.attributes["race"]


@pytest.mark.parametrize(
    "texts",
    [
        ("mean", "78,000 USD", "40,000 to 115,000"),
        ("share from 100,000 to 250,000 USD of those who answered", "38 %", "16 to 60"),
        ("W" * 60, "78,000 USD", "40,000 to 115,000"),
        ("\u5bb6" * 60, "78,000 USD", "40,000 to 115,000"),
        ("mean", "1 per kilogram of " + "a long unit " * 9, "40,000 to 115,000"),
    ],
)
def test_a_table_is_no_wider_than_it_may_be_and_says_all(texts: tuple[str, str, str]) -> None:
    names = ("quantity", "estimate", "interval")
    [row] = fitted([dict(zip(names, texts, strict=True))], "quantity")
    widest = [max(map(_breadth, [name, *row[name].split("<br>")])) for name in names]
    assert sum(widest) + _BESIDE * len(names) <= _ROOM
    assert [cell.replace("<br>", "").replace(" ", "") for cell in row.values()] == [t.replace(" ", "") for t in texts]
    assert "<br>" not in row["interval"]
    if texts[1].count(" ") == 1:
        assert row["estimate"] == texts[1]


def test_a_table_of_nothing_is_none_and_names_in_it_are_no_markdown() -> None:
    assert table([]) == ""
    assert table([{"a|b": "<b>", "n": Strong("1")}], "a|b") == "| a\\|b | n |\n|---|--:|\n| \\<b\\> | **1** |\n"


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
