"""Write the frozen texts: python tests/vectors/bundles/freeze_texts.py, for a new case, and never for a test.

Honest bundles of `bundles.json` whose integers keep what they promise, and whose text says what no scheme says.
"""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).parent
TEXT, KEY, KIND, TOML = "must be printable text", "has an unknown key", "mechanism must be one of", "not valid TOML"
WHOLE, QUOTES, LIST, NAME = (
    "must be a whole number between",
    "must be a text in quotes",
    "must be a list",
    "name must be lower-case",
)
LABEL, UNIT, COLUMN, CODES = '    "c0",\n', 'unit = ""\n', 'column = "x"\n', '[attributes.x.codes]\n7 = "c1"\n\n'
PAIR = '    [\n        "y",\n        "x",\n    ],\n'

# name, the honest bundle, what is replaced by what, why it is refused, and why by the browser where that is another reason
ROWS: tuple[tuple[str, ...], ...] = (
    ("a mechanism of categories on numbers", "square_wave", '"square_wave"\n', '"local_hashing"\n', KIND),
    ("a mechanism of numbers on categories", "two", '"randomized_response"\n', '"dyadic_wave"\n', KIND),
    (
        "a mechanism that is chosen",
        "local_hashing",
        '"local_hashing"\n',
        '"auto"\n',
        "client needs the mechanism",
        KIND,
    ),
    ("a pair twice", "pair", PAIR, PAIR * 2, "pairs must differ"),
    ("a pair both ways", "pair", PAIR, PAIR + '    [\n        "x",\n        "y",\n    ],\n', "pairs must differ"),
    ("a pair of three", "pair", '        "x",\n    ],', '        "x",\n        "x",\n    ],', "pairs must list"),
    ("a pair of a text", "pair", PAIR, '    "yx",\n', LIST),
    ("pairs that are a text", "two", "pairs = []", 'pairs = "yx"', LIST),
    ("codes in a list", "codes", CODES, "", "codes must map"),
    ("codes that are a text", "local_hashing", "[attributes.x.codes]\n\n", "", "codes must map"),
    ("a code of a number", "codes", '7 = "c1"', "7 = 1", "codes.7 must be one of the categories"),
    ("a column that is a number", "two", COLUMN, "column = 5\n", QUOTES),
    ("a column that cannot be seen", "two", COLUMN, 'column = "x\u2060"\n', TEXT),
    ("a column of a line break", "two", COLUMN, 'column = "x\\n"\n', TEXT),
    ("a column that is too long", "two", COLUMN, f'column = "{"x" * 201}"\n', TEXT),
    ("a unit that is a number", "square_wave", UNIT, "unit = 5\n", QUOTES),
    ("a unit that cannot be seen", "square_wave", UNIT, 'unit = "\u00a0"\n', TEXT),
    ("a category of no width", "two", LABEL, '    "c\u200b0",\n', TEXT),
    ("a category that turns the line", "two", LABEL, '    "\u202ec0",\n', TEXT),
    ("a category of a soft hyphen", "two", LABEL, '    "\u00adc0",\n', TEXT),
    ("a category in private use", "two", LABEL, '    "\ue000",\n', TEXT),
    ("a category of a wide blank", "two", LABEL, '    "\u3000",\n', TEXT),
    ("a category of a control", "two", LABEL, '    "\\u009f",\n', TEXT),
    ("a category without a name", "two", LABEL, '    "",\n', "categories must differ and not be empty"),
    ("a category that is a number", "two", LABEL, "    0,\n", QUOTES),
    ("half of a pair of code units", "two", LABEL, '    "\\ud800",\n', TOML),
    ("both halves", "two", LABEL, '    "\\ud83d\\ude00",\n', TOML),
    ("an escape of JSON", "two", LABEL, '    "c\\/0",\n', TOML),
    ("a byte order mark", "two", "format = 1\n", "\ufeffformat = 1\n", TOML),
    ("a blank that is none", "two", "format = 1\n", "\u00a0format = 1\n", TOML),
    ("a form feed", "two", "format = 1\n", "\x0cformat = 1\n", TOML),
    ("a delete", "two", 'name = "a_two"', 'name = "a_two"\ndescription = "\x7f"', TOML),
    ("a number with a zero before it", "two", "clients = 1000\n", "clients = 01000\n", TOML),
    ("no name", "two", 'name = "a_two"\n', "", "name is missing"),
    ("a name of nothing", "two", 'name = "a_two"', 'name = ""', NAME),
    ("a name in capitals", "two", 'name = "a_two"', 'name = "A_two"', NAME),
    ("a name that begins with a dash", "two", 'name = "a_two"', 'name = "-a_two"', NAME),
    ("a name with a line break", "two", 'name = "a_two"', 'name = "a_two\\n"', NAME),
    ("a name of other letters", "two", 'name = "a_two"', 'name = "a_\u0661"', NAME),
    ("a name that is too long", "two", 'name = "a_two"', f'name = "{"a" * 64}"', NAME),
    ("a name that is a number", "two", 'name = "a_two"', "name = 2", QUOTES),
    ("no clients", "two", "clients = 1000\n", "clients = 0\n", WHOLE),
    ("fewer clients", "two", "clients = 1000\n", "clients = -1\n", WHOLE),
    ("clients beyond all", "two", "clients = 1000\n", f"clients = {10**12 + 1}\n", WHOLE),
    ("clients that are a text", "two", "clients = 1000\n", 'clients = "1000"\n', WHOLE),
    ("a key at the top", "two", "clients = 1000\n", "clients = 1000\nodd = 1\n", KEY),
    ("a key of objects at the top", "two", "clients = 1000\n", "clients = 1000\nconstructor = 1\n", KEY),
    ("a table at the top", "two", "[attributes.x]\n", "[odd]\n\n[attributes.x]\n", KEY),
    ("a key of an attribute", "two", COLUMN, f"{COLUMN}odd = 1\n", KEY),
    ("a key of a numeric attribute", "two", COLUMN, f"{COLUMN}lower = 1\n", KEY),
    (
        "a key of another mechanism",
        "hadamard_response",
        COLUMN,
        f'{COLUMN}design = "two_coin"\n',
        "design needs",
        KEY,
    ),
    ("a design that there is not", "two_coin", 'design = "two_coin"', 'design = "three_coin"', "design must be one of"),
    (
        "an option that became integers",
        "square_wave",
        COLUMN,
        f"{COLUMN}cells = 8\n",
        "client already contains",
        KEY,
    ),
    ("a level without its rule", "sampled", COLUMN, f"{COLUMN}level = 1\n", "level and level_rule = "),
    (
        "a level rule of another estimator",
        "square_wave",
        COLUMN,
        f'{COLUMN}level_rule = "lepski"\n',
        "level_rule and level need",
    ),
    ("values of another number", "two", COLUMN, f"{COLUMN}values = [1, 2]\n", "values must list one number"),
    ("a description of numbers", "two", 'description = ""', "description = []", QUOTES),
    ("a report's column twice", "dyadic_wave", "[attributes.x]\n", "", "report files have a column"),
    ("a bound just beyond", "square_wave", "upper = 1\n", f"upper = {10**30 + 1}\n", "must lie between"),
    ("an epsilon in other digits", "square_wave", 'epsilon = "1"', 'epsilon = "\u0661"', "epsilon must be"),
    ("a logarithm of other digits", "square_wave", 'epsilon = "1"', 'epsilon = "ln \u0663"', "epsilon must be"),
    ("a bound in other digits", "square_wave", "upper = 1\n", 'upper = "\u0661"\n', "upper must be a number"),
)
INSERTED = {"codes in a list": "codes = []\n", "codes that are a text": 'codes = ""\n'}  # in place of the table


def main() -> None:
    honest = json.loads((FOLDER / "bundles.json").read_text("utf-8"))["honest"]
    cases: list[dict[str, object]] = []
    other = honest["randomized_response"]["scheme"].partition("[attributes.x]")[2].replace(".x.", ".x_level.")
    for name, of, old, new, *reasons in ROWS:
        changes = {old: new} | ({COLUMN: COLUMN + INSERTED[name]} if name in INSERTED else {})
        if not new and "attributes" in old and of == "dyadic_wave":
            changes = {old: f"[attributes.x_level]{other}\n{old}"}
        assert all(part in honest[of]["scheme"] for part in changes), name
        cases.append(
            {"name": name, "of": of, "changes": changes} | dict(zip(("reason", "in_browser"), reasons, strict=False))
        )
    (FOLDER / "texts.json").write_text(json.dumps({"refused": cases}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
