"""Plain English: no idiom of our own where texts are clean, no more of them elsewhere, and names that say what a value is."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What not to write, as a pattern of whole words, and what to write.
IDIOMS = {
    r"laws? of (a|an|the|its|their|values)": "distribution",
    r"holds? the truth": "covers the true value",
    r"what is kept": "guarantee, certified loss",
    r"asked together": "joint attribute",
    r"silent people": "nonrespondents",
    r"in (the )?clear": "public, unprotected",
    r"dearest": "the largest per-unit loss",
    r"surer|surest|surely|how sure": "robust, conservative, significantly",
    r"few values|at (few )?points": "discrete distribution, support points",
    r"stands?": "current, listed next to",
    r"more than chance": "statistically significant",
    r"how near the limit": "lower bound, efficiency",
    r"strangers?|newcomers?|enem(y|ies)": "reviewers, new users, attackers",
    r"a rehearsal|rehearsals|rehearses?": "dry run",
    r"the house|the rooms?|the floors?": "package, module, layer",
    r"be it|were (they|it|he|she|there)": "if, whether",
    r"of (which|whom)": "a sentence of its own",
    r"as far as": "a sentence of its own",
    r"(is|are|was|were|be|been) (told(?! apart)|said)": "reported, estimated, declared, shown",
    r"says|tells": "states, reports, shows",
    r"who(m|se)?ever": "anybody who, every client that",
}
PATTERN = re.compile(rf"\b({'|'.join(IDIOMS)})\b", re.IGNORECASE)

# Verbs, participles and pronouns that were names of values.
VAGUE = {"told", "said", "given", "known", "kept", "found", "made", "each", "of", "it", "what", "who"}

# The most that a package may have: idioms in its texts, vague names.  Lowered when a package is rewritten, never raised.
CEILINGS = {
    "dpcore": (0, 1),
    "dpcore/estimation": (0, 5),
    "dpcore/functionals": (0, 1),
    "dpcore/mechanisms": (0, 1),
    "dpcore/protocol": (0, 3),
}


def package_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[: 1 if len(parts) == 2 else 2])


def files() -> Iterator[Path]:
    """Code, templates of pages, SQL but for migrations, which are never edited, and the guide."""
    for pattern in (
        "dpcore/**/*.py",
        "dpcore/**/templates/*.[hm]*",
        "dpcore/**/*.sql",
        "flows/**/*.py",
        "data/guide/**/*.md",
    ):
        yield from (path for path in ROOT.glob(pattern) if path.is_file() and "migrations" not in path.parts)


def texts(path: Path) -> Iterator[str]:
    """Sentences of a file: string literals with a space, docstrings and comments of code; all of other files."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py" or not idioms_in(source):  # nothing in the whole is nothing in its parts
        yield re.sub(r"\{[{%].*?[%}]\}", "", source)  # without the expressions of templates
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def idioms_in(text: str) -> list[str]:
    return [match[0] for match in PATTERN.finditer(" ".join(text.split()))]


def vague_names_in(source: str) -> list[str]:
    """Names among `VAGUE`, with underscores or without, that are assigned, or are parameters or functions."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
    return [name for name in names if name.strip("_").lower() in VAGUE]


@cache
def counted() -> tuple[Counter[str], Counter[str], dict[str, list[str]]]:
    """Idioms and vague names of each package, and where the idioms are."""
    idioms, names, places = Counter[str](), Counter[str](), dict[str, list[str]]()
    for path in sorted(files()):
        package = package_of(path)
        matches = [idiom for text in texts(path) for idiom in idioms_in(text)]
        idioms[package] += len(matches)
        places.setdefault(package, []).extend(f"{path.relative_to(ROOT)}: {idiom}" for idiom in matches)
        if path.suffix == ".py":
            names[package] += len(vague_names_in(path.read_text(encoding="utf-8")))
    return idioms, names, places


def test_texts_have_no_more_idioms() -> None:
    idioms, _, places = counted()
    for package, count in idioms.items():
        assert count <= CEILINGS.get(package, (0, 0))[0], (package, count, IDIOMS, places[package])


def test_names_say_what_values_are() -> None:
    _, names, _ = counted()
    for package, count in names.items():
        assert count <= CEILINGS.get(package, (0, 0))[1], (package, count)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Whoever sees a report, be it one", ["Whoever", "be it"]),
        ("labels are sent in the clear", ["in the clear"]),
        ("the client is\ntold", ["is told"]),
        ("a dry run has a seed; the standing ledger", []),
    ],
)
def test_idioms_are_found(text: str, expected: list[str]) -> None:
    assert idioms_in(text) == expected


def test_vague_names_are_found() -> None:
    assert vague_names_in("def f(told, *, _known): each = given = 1; told_by = 2") == [
        "told",
        "_known",
        "each",
        "given",
    ]
