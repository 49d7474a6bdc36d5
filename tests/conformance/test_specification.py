"""The specification of clients is true: a client made of its blocks alone, and of what its sentences say, passes the cases."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpcore.conformance import Case, all_cases, difference

FOLDER = Path(__file__).parents[2] / "data/guide/reference"
PAGE = (FOLDER / "client_specification.md").read_text("utf-8")
TEXTS = (FOLDER / "client_specification_texts.md").read_text("utf-8")
MECHANISMS = ("randomized_response", "unary_encoding", "dyadic_wave", "text_hashing")
KINDS = [*sorted({re.sub(r"-\d+$", "", case.name) for case in all_cases(set(MECHANISMS))})]


@pytest.fixture(scope="module")
def page() -> SimpleNamespace:
    """The names that the blocks of Python of both pages define."""
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE + TEXTS, re.MULTILINE | re.DOTALL):
        exec(compile(block, "client_specification.md", "exec"), names)
    return SimpleNamespace(**names)


def unit_of(scheme: Mapping[str, Any], words: Iterator[int], page: SimpleNamespace) -> list[str]:
    names = list(scheme["attributes"])
    if scheme["reporting"] == "all":
        return names
    groups = [{name} for name in names]
    for pair in scheme["pairs"]:
        tied = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in tied] + [set.union(*tied)]
    units = sorted(
        ([name for name in names if name in group] for group in groups), key=lambda unit: names.index(unit[0])
    )
    return units[page.below(words, len(units))]


def cell_of(name: str, table: Mapping[str, Any], record: Mapping[str, Any], page: SimpleNamespace) -> Any:
    """The cell of values that the cases have; LookupError of others."""
    column = table.get("column", name)
    value, codes = record[column if column in record else name], table.get("codes", {})
    if isinstance(value, list):
        raise LookupError
    if table.get("type") == "text":
        return text_cell(value, table, page)
    if table.get("type") == "numeric":
        client = table["client"]
        inputs = client["cells"] * max(1, *(client.get("harmonics") or [2 ** len(client["widths"]) // 2]))
        if value is None and table["missing"] == "category":
            return inputs - 1
        try:
            x = float(value)
        except (TypeError, ValueError):
            raise LookupError from None
        lower, upper = Fraction(table["lower"]), Fraction(table["upper"])
        room = inputs - inputs // 4 * (table["missing"] == "category")
        return int(page.cell(x, float(lower), float(upper), float(upper - lower), room))
    categories = table["categories"]
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    spellings = {category: category for category in categories} | codes
    if isinstance(value, int):
        spellings |= {str(int(code)): to for code, to in sorted(codes.items(), reverse=True) if code.isdigit()}
    if value is not None and text in spellings:
        return categories.index(spellings[text])
    if value is None and table["missing"] == "category":
        return categories.index("missing")
    if value is not None and table.get("outside") == "other":
        return categories.index("other")
    raise LookupError


def text_cell(value: Any, table: Mapping[str, Any], page: SimpleNamespace) -> list[int]:
    whole = isinstance(value, (int, float)) and value == int(value)
    text = str(value).lower() if isinstance(value, bool) else str(int(value)) if whole else value
    text = page.normalized(text, table["normalize"]) if isinstance(text, str) else "" if text is None else "\0"
    if not text or (table["missing"] == "category" and text == "missing"):
        if table["missing"] == "refuse":
            raise LookupError
        return page.symbols("", table["alphabet"], table["max_bytes"])
    others = set(text) - set(table["alphabet"] or text) | set(text) & {"\0"}
    if others or len(text.encode()) > table["max_bytes"]:
        if table["outside"] == "refuse":
            raise LookupError
        text = "other"
    return page.symbols(text, table["alphabet"], table["max_bytes"])


def is_kept(epsilon: str, ratio: float) -> bool:
    parts = [(part.startswith("ln "), float(Fraction(part.removeprefix("ln ")))) for part in epsilon.split(" + ")]
    total = sum(math.log(number) if is_log else number for is_log, number in parts)
    return 1 < ratio <= math.exp(total) * (1 + 1e-9)


def is_accepted(scheme: Mapping[str, Any]) -> bool:
    if scheme["format"] != 1 or scheme.get("draws", 1) != 1:
        return False
    for table in scheme["attributes"].values():
        client = table["client"]
        if table["mechanism"] == "text_hashing":
            ratios = [client["weight_in"] / client["weight_out"]]
            total = client["weight_in"] + (client["bins"] - 1) * client["weight_out"]
        elif table["mechanism"] == "randomized_response":
            ratios = [client["weight_in"] / client["weight_out"]]
            total = client["weight_in"] + (client["categories"] - 1) * client["weight_out"]
        elif table["mechanism"] == "unary_encoding":
            total, p, q = 2 ** client["coin_bits"], client["weight_true"], client["weight_other"]
            ratios = [p * (total - q) / (q * (total - p))]
        elif table["mechanism"] == "dyadic_wave" and all(width % 2 for width in client["widths"]):
            ratios = [heavy / light for heavy, light in zip(client["weights_in"], client["weights_out"], strict=True)]
            total = 0 if sum(client["level_law"]) == 1 << 16 else 1 << 33
        else:
            return False
        if total > 1 << 32 or not all(is_kept(table["epsilon"], ratio) for ratio in ratios):
            return False
    return True


def answer(case: Mapping[str, Any], page: SimpleNamespace) -> str:
    """What a client does, in the page's order."""
    text, manifest = case["bundle"]["scheme.toml"], json.loads(case["bundle"]["manifest.json"])
    scheme, digest = tomllib.loads(text), page.hashlib.sha256(text.encode()).hexdigest()
    if {digest} != {case["digest"], manifest["digest"]} or not is_accepted(scheme):
        return '{"refused":"scheme"}'
    labels = scheme.get("labels", {})
    try:
        cells = {
            name: cell_of(name, table, case["record"], page) for name, table in (scheme["attributes"] | labels).items()
        }
    except LookupError:
        return '{"refused":"record"}'
    words = iter(case["words"])
    report = {
        "format": 1,
        "scheme": digest,
        "report": page.base64url(page.struct.pack("<4I", *(next(words) for _ in range(4)))),
    }
    token = case["secret"] and page.token(bytes.fromhex(case["secret"]), digest)
    if token:
        report["client"] = token
    answers = {}
    for name in unit_of(scheme, page.public(token, digest, "") if token else words, page):
        table = scheme["attributes"][name]
        client, levels = table["client"], table["client"].get("level_law", [1 << 16])
        source, rows = page.public(token, digest, name) if token else words, client.get("lengths", [0])
        level = page.below(source, len(rows)) if len(rows) > 1 else page.level(source, levels)
        draw = getattr(page, table["mechanism"])
        values = draw(words, cells[name], client, *([level] if len(levels) + len(rows) > 2 else []))
        highest = [2**32 - 1] * (len(values) - 1) + [client.get("categories", 256) - 1]
        if table["mechanism"] == "unary_encoding":
            highest[-1] = 2 ** (client["categories"] - 32 * (len(values) - 1)) - 1
        elif table["mechanism"] == "dyadic_wave":
            harmonics = client.get("harmonics") or [0, *(1 for _ in levels[1:])]
            highest = [client["cells"] - 1 + (harmonics[level] == 0) * (client["widths"][level] - 1)]
        elif table["mechanism"] == "text_hashing":
            values, highest = (
                [values[0] - 1, *values[1:]],
                [client["prime"] - 2, client["prime"] - 1, client["bins"] - 1],
            )
        answers[name] = bytes([level] * (len(levels) + len(rows) > 2)) + packed(values, highest)
    for name, table in labels.items():
        answers[name] = packed([cells[name]], [len(table["categories"]) - 1])
    report |= {"round": case["round"], "answers": {name: page.base64url(data) for name, data in answers.items()}}
    assert next(words, None) is None, "words are left over"
    return json.dumps(report, separators=(",", ":"))


def packed(values: list[int], highest: list[int]) -> bytes:
    sizes = [max(1, (high.bit_length() + 7) // 8) for high in highest]
    return b"".join(value.to_bytes(size, "little") for value, size in zip(values, sizes, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_made_of_the_page_passes(kind: str, page: SimpleNamespace) -> None:
    cases = [case for case in all_cases(set(MECHANISMS)) if re.sub(r"-\d+$", "", case.name) == kind]
    found = {case.name: difference(case, answer(json.loads(json.dumps(case.question)), page)) for case in cases}
    assert {name: what for name, what in found.items() if what} == {}


def test_the_page_names_every_key_of_a_case() -> None:
    case: Case = next(all_cases())
    assert [key for key in case.question if f"`{key}`" not in PAGE] == []
    assert set(re.findall(r'\{"refused":"(\w+)"\}', PAGE)) == {"scheme", "record", "words"}
