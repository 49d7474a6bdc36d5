"""Every page is short, leads where something is, and names commands and verbs that there are."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from dpcore import cli
from tests.programs.reference.markdown import MADE, slug

ROOT = Path(__file__).parents[2]
MOST_LINES = 250
TEMPLATES = "dpcore/results/pages/templates/"  # of pages that runs make


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return listed.split()


PAGES = sorted(name for name in tracked() if name.endswith(".md") and not name.startswith(TEMPLATES))
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")


@cache
def prose(page: str) -> str:
    """A page without its code."""
    return re.sub(r"`[^`\n]*`", "`code`", CODE.sub("", (ROOT / page).read_text(encoding="utf-8")))


@cache
def anchors(page: str) -> frozenset[str]:
    """The anchors of a page's headings; the second of two alike has -1 at its end."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", CODE.sub("", (ROOT / page).read_text(encoding="utf-8")), re.MULTILINE):
        made = slug(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading))
        found.append(made + (f"-{number}" if (number := found.count(made)) else ""))
    return frozenset(found)


def broken(page: str, links: list[str]) -> list[str]:
    """The links of a page, to files of ours, that lead nowhere."""
    lost = []
    for link in links:
        place, _, anchor = link.partition("#")
        if "://" in place or place.startswith("mailto:"):
            continue
        target = (ROOT / page).parent / place if place else ROOT / page
        known = target.resolve().is_relative_to(ROOT) and target.exists()
        if known and anchor:
            known = anchor in anchors(target.resolve().relative_to(ROOT).as_posix())
        if not known:
            lost.append(link)
    return lost


def test_a_page_is_short() -> None:
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES if page != "CHANGELOG.md"}
    lines = {page: len(text.splitlines()) for page, text in texts.items() if MADE not in text}
    assert {page: count for page, count in lines.items() if count > MOST_LINES} == {}


def test_every_link_leads_somewhere() -> None:
    lost = {page: broken(page, LINK.findall(prose(page))) for page in PAGES}
    assert {page: links for page, links in lost.items() if links} == {}


def test_a_link_to_nothing_is_seen() -> None:
    links = LINK.findall(
        "[a](data/README.md#rounds) ![b](no.svg) [`c`](README.md#nothing) [d [e]](https://example.org)"
    )
    assert broken("README.md", links) == ["no.svg", "README.md#nothing"]


COMMAND = re.compile(
    r"(?:^\$ |^|`)(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?(ldpflow|make) ([a-z]+(?:-[a-z]+)*)\b", re.MULTILINE
)


def test_what_a_page_names_there_is() -> None:
    """Commands of `ldpflow`, and verbs of the Makefile, where a line of a block or a text in code begins with one."""
    commands = {command.callback.__name__.replace("_", "-") for command in cli.app.registered_commands}  # type: ignore[union-attr]
    commands |= {group.name for group in cli.app.registered_groups}  # type: ignore[misc]
    verbs = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    there = {"ldpflow": commands, "make": verbs}
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        named = COMMAND.findall("\n".join([*CODE.findall(text), *re.findall(r"`[^`\n]+`", text)]))
        assert [(program, word) for program, word in named if word not in there[program]] == [], page


def test_a_command_that_there_is_not_would_be_seen() -> None:
    said = "```sh\nA=b ldpflow go\n$ .venv/bin/ldpflow went\n# what ldpflow does\n```\nSee `make tea`, and make it."
    assert [word for _, word in COMMAND.findall(said)] == ["go", "went", "tea"]


def test_decisions_are_short_and_the_newest_comes_first() -> None:
    for page in (ROOT / "dpcore/decisions").iterdir():
        heads, bodies = zip(
            *(part.split("\n", 1) for part in page.read_text(encoding="utf-8").split("\n## ")[1:]), strict=True
        )
        dates = [head[:10] for head in heads]
        assert dates == sorted(dates, reverse=True), page
        for head, body in zip(heads, bodies, strict=True):
            assert len([line for line in body.splitlines() if line.strip()]) <= 12, head


def test_nothing_committed_names_a_machine_or_a_host() -> None:
    for name in tracked():
        content = (ROOT / name).read_bytes()
        assert b"/ho" + b"me/" not in content, name
        assert b"pypi" + b".org" not in content, name
        assert b"/wo" + b"rk/" not in content, name


def test_a_test_waits_for_the_night_for_a_reason_that_is_told() -> None:
    told = set(re.findall(r"^\| `([a-z ]+)` \|", (ROOT / "tests/README.md").read_text(encoding="utf-8"), re.M))
    for file in (ROOT / "tests").rglob("test_*.py"):
        reasons = re.findall(r"mark\.nightly\((.*?)\)", file.read_text(encoding="utf-8"))
        assert {reason.strip('"') for reason in reasons if not reason.startswith(".")} <= told, file
