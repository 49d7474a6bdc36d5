"""Write the frozen bundles: python tests/vectors/bundles/freeze.py, for a new case, and never for a test.

An honest bundle of every mechanism, and a text in it replaced: what every client refuses, for a reason that is a phrase of its
message, and the neighbours, which every client opens.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from dpcore.protocol.scheme import Scheme

FOLDER = Path(__file__).parent
NEEDS, LAW, ROOM = "client does not hold what", "positive integers that sum to 65536", "a window must leave out a cell"
RATIO, LOSS, WEIGHTS = "exceed e^epsilon at epsilon", "exceed epsilon at epsilon", "needs 1 <= weight_out < weight_in"
NOISE, COINS, ODD = (
    "noise_scales must be",
    "1 <= weight_other < weight_true < 2^coin_bits",
    "widths must be odd numbers",
)
TURNS = "harmonics must be one for each"
WHOLE, EPSILON, TOML = "must be a whole number between", "epsilon must be", "the scheme is not valid TOML"
FAVOUR = "needs weights whose total is at most 2^32 and that favour true options"
LAPLACE = "this client draws Laplace noise only"  # what the browser says of any other


def numeric(mechanism: str, epsilon: str, more: str) -> str:
    return f'[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nmechanism = "{mechanism}"\nepsilon = {epsilon}\n{more}'


def categorical(mechanism: str, epsilon: str, count: int, more: str = "") -> str:
    names = ", ".join(f'"c{number}"' for number in range(count))
    told = f'type = "categorical"\nmechanism = "{mechanism}"\nepsilon = {epsilon}\ncategories = [{names}]\n'
    return f"[attributes.x]\n{told}{more}"


def options(epsilon: str, count: int, more: str) -> str:
    """A set of options, the last of which is `other`."""
    text = categorical("set_selection", epsilon, count, more).replace("categorical", "set")
    return text.replace(f'"c{count - 1}"', '"other"')


def texts(more: str) -> str:
    """A question about a text."""
    return f'[attributes.x]\ntype = "text"\nepsilon = "ln 3"\n{more}'


SPLINES = "degree = 0\ncoarsest_level = 1\nfinest_level = 2\ncells = 64\n"
HONEST = {
    "randomized_response": categorical("randomized_response", "1", 3),
    "two_coin": categorical("randomized_response", '"ln 3"', 2, 'design = "two_coin"\n'),
    "unary_encoding": categorical("unary_encoding", "1", 5),
    "symmetric": categorical("unary_encoding", "2", 40, 'variant = "symmetric"\n'),
    "subset_selection": categorical("subset_selection", '"1/2"', 12),
    "hadamard_response": categorical("hadamard_response", "1", 6),
    "local_hashing": categorical("local_hashing", "1", 6),
    "dyadic_wave": numeric("dyadic_wave", "1", "cells = 8\nwidths = [5, 3, 1]\n"),
    "wide_wave": numeric("dyadic_wave", '"0.002"', "cells = 1024\nwidths = [1, 1023]\n"),
    "purpose": numeric("dyadic_wave", "1", 'purpose = "curve"\n'),
    "square_wave": numeric("square_wave", "1", "cells = 8\nwidths = [3]\n"),
    "steps": numeric("dyadic_wave", "1", "cells = 8\nwidths = [5, 3, 1]\n").replace(
        "upper = 1\n", 'upper = 9\nstep = "3/2"\n'
    ),
    "points": numeric(
        "subset_selection", "1", 'missing = "category"\ncodes = { 9 = "missing", x = "missing" }\n'
    ).replace("lower = 0\nupper = 1\n", "values = [-1, 0.5, 2, 3]\n"),
    "silence": numeric(
        "dyadic_wave", "1", 'cells = 8\nwidths = [5, 3, 1]\nmissing = "category"\ncodes = { -1 = "missing" }\n'
    ),
    "bins": categorical(
        "subset_selection", "1", 2, 'values = [-1, 0.5, 2]\nmissing = "category"\ncodes = { 9 = "missing" }\n'
    ).replace('categories = ["c0", "c1"]\n', 'bins = [0, "7/2"]\nunit = "kg"\n'),
    "together": categorical("subset_selection", "2", 2).replace(
        'categories = ["c0", "c1"]\n', 'of = ["job", "place"]\ncategories = [["a", "b"], ["n", "e", "s"]]\n'
    ),
    "options": options("2", 5, 'at_most = 3\nsize = 2\nmissing = "none"\noutside = "other"\ncodes = { 7 = "c1" }\n'),
    "boxes": options("1", 3, 'columns = ["a", "b", "c"]\nseparator = "and"\n'),
    "many_options": options('"ln 3"', 40, "at_most = 4\n"),
    "texts": texts('max_bytes = 8\nalphabet = "abehort -é"\nmissing = "category"\noutside = "other"\n'),
    "all_texts": texts("max_bytes = 4\nnormalize = []\n"),
    "plane": numeric("crossed_wave", "1", "cells = 8\nwidths = [3, 21, 1, 3]\n").replace(
        "lower = 0\nupper = 1\n", 'of = ["income", "age"]\nlower = [0, 18]\nupper = [9, 90]\nunits = ["USD", ""]\n'
    ),
    "sampled": numeric("wavelet_laplace", "1", SPLINES),
    "split": numeric("wavelet_laplace", '"0.75"', f'{SPLINES}allocation = "split"\n'),
    "paper": numeric("wavelet_laplace", '"0.75"', f'{SPLINES}allocation = "paper"\na = 2\n'),
    "gaussian": numeric("wavelet_laplace", "1", f'{SPLINES}noise = "discrete_gaussian"\ndelta = "1e-6"\n'),
    "codes": categorical(
        "local_hashing", "1", 2, 'codes = { 7 = "c1" }\nmissing = "category"\noutside = "other"\n'
    ).replace('"c0", ', '"c0", "other", '),
    "pair": 'pairs = [["y", "x"]]\nreporting = "one"\n'
    + categorical("randomized_response", "1", 3)
    + numeric("square_wave", "1", "cells = 8\nwidths = [3]\n").replace(".x]", ".y]"),
    "labels": categorical("randomized_response", "1", 3)
    + '[labels.region]\ncategories = ["north", "south", "other"]\ncodes = { 1 = "north" }\noutside = "other"\n'
    + '[labels.sex]\ncolumn = "Sex"\ncategories = ["f", "m"]\nmissing = "category"\n',
    "two": categorical("randomized_response", "1", 3)
    + numeric("square_wave", "1", "cells = 8\nwidths = [3]\n").replace(".x]", ".y]"),
}


def main() -> None:
    schemes = {name: Scheme.from_toml(f'name = "a_{name}"\nclients = 1000\n{text}') for name, text in HONEST.items()}
    document = {
        "honest": {name: _bundle(scheme) for name, scheme in schemes.items()},
        "kept": [_case(schemes, *row) for row in kept(schemes)],
        "refused": [_case(schemes, *row) for row in refused(schemes)],
    }
    (FOLDER / "bundles.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _bundle(scheme: Scheme) -> dict[str, Any]:
    tables = [table.astype("<i4") for attribute in scheme.attributes.values() for table in attribute.mechanism.tables]
    return {
        "scheme": scheme.canonical,
        "tables": [
            {"shape": list(table.shape), "content": base64.b64encode(table.tobytes()).decode()} for table in tables
        ],
    }


def _case(schemes: dict[str, Scheme], name: str, of: str, changes: dict[str, str], *reasons: str) -> dict[str, Any]:
    """A bundle's name, the honest one it is made of, what is replaced by what, why it is refused, and why by the browser."""
    for old in changes:
        assert schemes[of].canonical.count(old) == 1, (name, old, schemes[of].canonical)
    return {
        "name": name,
        "of": of,
        "changes": changes,
        **dict(zip(("reason", "in_browser"), reasons, strict=False)),
    }


def _said(scheme: Scheme, key: str, value: Any) -> dict[str, str]:
    """What a scheme says of an integer or a list of a client's, and what stands there instead."""
    return {_line(key, scheme.attributes["x"].mechanism.parameters()[key]): _line(key, value)}


def _line(key: str, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "\n".join([f"{key} = [", *(f"    {one}," for one in value), "]\n"])
    return f"{key} = {value}\n"


Row = tuple[Any, ...]


def kept(schemes: dict[str, Scheme]) -> list[Row]:
    """The neighbours: an integer away from what is refused."""
    fine = {"weight_in = 196608\nweight_out = 65536\n": f"weight_in = {2**30 * 3}\nweight_out = {2**30}\n"}
    of = {name: scheme.attributes["x"].mechanism.parameters() for name, scheme in schemes.items()}
    rows: list[Row] = [(f"{name} as it is", name, {}) for name in HONEST if name != "gaussian"]
    rows += [
        ("one less", name, _said(schemes[name], key, of[name][key] - 1))
        for name, key in (
            ("randomized_response", "weight_in"),
            ("subset_selection", "weight_in"),
            ("hadamard_response", "weight_in"),
            ("local_hashing", "weight_in"),
            ("square_wave", "weight_in"),
            ("unary_encoding", "weight_true"),
            ("options", "weight_in"),
            ("boxes", "weight_in"),
            ("texts", "weight_in"),
        )
    ]
    rows += [
        ("all of a word", "two_coin", fine),
        (
            "the finest coins",
            "symmetric",
            _said(schemes["symmetric"], "weight_other", of["symmetric"]["weight_other"] + 1),
        ),
        ("a wave as narrow as can be", "wide_wave", _WIDE | _said(schemes["wide_wave"], "widths", [1, 1])),
        ("a window that leaves out a cell", "wide_wave", _WIDE),
        ("more noise", "sampled", _said(schemes["sampled"], "noise_scales", [131072, 131073, 131072])),
        ("less of a little", "paper", _said(schemes["paper"], "noise_scales", _less(of["paper"], 0, 1000))),
        ("more of everything", "split", _said(schemes["split"], "noise_scales", _less(of["split"], 1, -1))),
        ("another epsilon", "square_wave", {'epsilon = "1"': 'epsilon = "1.0000001"'}),
        ("a sum of two", "square_wave", {'epsilon = "1"': 'epsilon = "0.25 + ln 3"'}),
        ("a category that is added", "codes", {'    "missing",\n': ""}),
        ("all but one", "subset_selection", _said(schemes["subset_selection"], "size", 11)),
        ("two bins", "local_hashing", _said(schemes["local_hashing"], "bins", 2)),
        ("noise of a logarithm", "sampled", _LN_3 | _said(schemes["sampled"], "noise_scales", [119307] * 3)),
        ("another law", "dyadic_wave", _said(schemes["dyadic_wave"], "level_law", [1, 1, 65534])),
        ("other turns", "purpose", _said(schemes["purpose"], "harmonics", [1, 0, 16, 64])),
        ("other categories of two columns", "together", {'        "s",\n': '        "a",\n'}),
        ("a column of another name", "boxes", {'    "b",\n': '    "d",\n'}),
        ("another separator", "options", {'separator = ";"': 'separator = "and"'}),
        ("another alphabet", "texts", {'alphabet = "abehort -é"': 'alphabet = "xyehort -é"'}),
        ("another hash function", "texts", _said(schemes["texts"], "bases", _changed(of["texts"]["bases"], 0, 2))),
        ("no row of short texts", "texts", _said(schemes["texts"], "lengths", [8] * 64)),
        ("fewer buckets", "texts", _said(schemes["texts"], "buckets", 900)),
        ("a wider plane", "plane", {"    9,\n": "    10,\n"}),
        ("another law of four levels", "plane", _said(schemes["plane"], "level_law", [1, 65533, 1, 1])),
        ("a name with dashes", "two", {'name = "a_two"': 'name = "a-two-"'}),
    ]
    return [(f"{name}, {of}" if name == "one less" else name, of, changes) for name, of, changes in rows]


def _wide(heavy: int, light: int) -> dict[str, str]:
    """Other weights of both levels of the wide wave."""
    return {
        f"{key} = [\n    {said},\n    {said},\n": f"{key} = [\n    {weight},\n    {weight},\n"
        for key, said, weight in (("weights_in", 65667, heavy), ("weights_out", 65536, light))
    }


_WIDE = _wide(512, 511)


def _less(parameters: Any, place: int, by: int) -> list[int]:
    return [t - by * (number == place) for number, t in enumerate(parameters["noise_scales"])]


def _changed(values: list[int] | tuple[int, ...], place: int, value: int) -> list[int]:
    """The integers with another one at a place."""
    return [value if at == place % len(values) else one for at, one in enumerate(values)]


def _weights(name: str, heavy: int, light: int, schemes: dict[str, Scheme], of: tuple[str, str]) -> dict[str, str]:
    said = schemes[name].attributes["x"].mechanism.parameters()
    return {
        f"{of[0]} = {said[of[0]]}\n{of[1]} = {said[of[1]]}\n": f"{of[0]} = {heavy}\n{of[1]} = {light}\n",
    }


def refused(schemes: dict[str, Scheme]) -> list[Row]:
    """What every client refuses, and why."""
    own = {name: scheme.attributes["x"].mechanism.parameters() for name, scheme in schemes.items()}
    rows: list[Row] = []

    def say(what: str, of: str, key: str, value: Any, *reasons: str) -> None:
        rows.append((f"{of}: {what}", of, _said(schemes[of], key, value), *reasons))

    two_weights = ("weight_in", "weight_out")
    for of in ("randomized_response", "subset_selection", "hadamard_response", "local_hashing", "square_wave"):
        heavy, light = own[of]["weight_in"], own[of]["weight_out"]
        say("one too heavy", of, "weight_in", heavy + 1, RATIO)
        say("as heavy as others", of, "weight_in", light, WEIGHTS)
        say("nothing for others", of, "weight_out", 0, WEIGHTS)
        rows.append((f"{of}: below nothing", of, _weights(of, -light, -heavy, schemes, two_weights), WEIGHTS))
        rows.append((f"{of}: beyond a word", of, _weights(of, 2**32 - 1, 2**32 - 2, schemes, two_weights), WEIGHTS))
        say("a text", of, "weight_in", f'"{heavy}"', NEEDS)
        rows.append((f"{of}: one weight", of, {f"weight_out = {light}\n": ""}, NEEDS))
        epsilon = schemes[of].attributes["x"].budget.text
        rows.append((f"{of}: less epsilon", of, {f'epsilon = "{epsilon}"': 'epsilon = "0.49999"'}, RATIO))
    for of in ("randomized_response", "unary_encoding", "subset_selection", "hadamard_response", "local_hashing"):
        count = own[of]["categories"]
        say("one category", of, "categories", 1, WHOLE)
        say("other categories", of, "categories", count + 1, "the number of categories")
    say("too many categories", "hadamard_response", "categories", 10_001, WHOLE)

    say("one above three", "two_coin", "weight_in", 196609, RATIO)
    fine = _weights("two_coin", 3 * 2**30 - 3, 2**30 - 2, schemes, two_weights)  # above by less than a billionth
    rows.append(("two_coin: above three by less than doubles tell", "two_coin", fine, RATIO))

    true, other = own["unary_encoding"]["weight_true"], own["unary_encoding"]["weight_other"]
    say("the true one too often", "unary_encoding", "weight_true", true + 1, RATIO)
    say("others too seldom", "unary_encoding", "weight_other", other - 1, RATIO)
    say("others never", "unary_encoding", "weight_other", 0, COINS)
    say("the true one always", "unary_encoding", "weight_true", 2**32, COINS)
    say("more than always", "unary_encoding", "weight_true", 2**32 + 1, COINS)
    say("the wrong way round", "unary_encoding", "weight_other", true, COINS)
    say("fewer coins", "unary_encoding", "coin_bits", 31, COINS)
    say("no coins", "unary_encoding", "coin_bits", 0, WHOLE)
    say("more coins than a word's", "unary_encoding", "coin_bits", 33, WHOLE)
    say("one too heavy", "symmetric", "weight_true", own["symmetric"]["weight_true"] + 40, RATIO)
    say("one too light", "symmetric", "weight_other", own["symmetric"]["weight_other"] - 40, RATIO)

    say("none", "subset_selection", "size", 0, WHOLE)
    say("all", "subset_selection", "size", 12, WHOLE)
    say("no prime", "local_hashing", "prime", 9, "a prime modulus")
    say("a prime below the categories", "local_hashing", "prime", 5, WHOLE)
    say("a prime beyond half a word", "local_hashing", "prime", 65537, WHOLE)
    say("one bin", "local_hashing", "bins", 1, WHOLE)
    say("more bins than residues", "local_hashing", "bins", 8, WHOLE)

    wave, heavy = "dyadic_wave", own["dyadic_wave"]["weights_in"]
    say("the anchor alone too heavy", wave, "weights_in", [heavy[0] + 1, *heavy[1:]], RATIO)
    say("the finest level alone too heavy", wave, "weights_in", [*heavy[:-1], heavy[-1] + 1], RATIO)
    say("a level's weights alike", wave, "weights_in", [heavy[0], 65536, heavy[2]], WEIGHTS)
    say("a level without others", wave, "weights_out", [65536, 65536, 0], WEIGHTS)
    say("beyond a word", wave, "weights_in", [heavy[0], 2**32, heavy[2]], WEIGHTS)
    say("weights of two levels", wave, "weights_in", heavy[:2], NEEDS)
    say("a window too few", wave, "widths", [5, 3], LAW)
    say("no windows", wave, "widths", [], WHOLE)
    say("a window on all of a circle and more", wave, "widths", [5, 9, 1], ROOM)
    say("a window twice around", wave, "widths", [5, 3, 17], ROOM)
    say("an even window", wave, "widths", [5, 4, 1], ODD)
    say("a window of less than nothing", wave, "widths", [5, 3, -1], ODD)
    say("a window of nothing", wave, "widths", [0, 3, 1], ODD)
    say("a level that nobody reports", wave, "level_law", [65535, 1, 0], LAW)
    say("a law below nothing", wave, "level_law", [65536, 1, -1], LAW)
    say("a law of more than all", wave, "level_law", [65535, 1, 1], LAW)
    say("a law of two", wave, "level_law", [65535, 1], LAW)
    say("cells that are no power of two", wave, "cells", 12, "cells must be a power of two")
    say("one cell", wave, "cells", 1, WHOLE)
    say("too many cells", wave, "cells", 2048, WHOLE)
    inputs = {"widths = [\n": "widths = [\n" + "    1,\n" * 3}
    rows.append(("wide_wave: more inputs than are listed", "wide_wave", inputs, "must be at most 4096"))
    many = {"widths = [\n": "widths = [\n" + "    1,\n" * 12}
    rows.append(("dyadic_wave: thirteen levels and more", wave, many, WHOLE))
    rows.append(
        ("wide_wave: a window around the circle twice", "wide_wave", _WIDE | {"    1023,\n": "    2047,\n"}, ROOM)
    )
    rows.append(("wide_wave: a window around the circle", "wide_wave", _WIDE | {"    1023,\n": "    1025,\n"}, ROOM))
    rows.append(("wide_wave: a ratio of 499 : 498", "wide_wave", _wide(499, 498), RATIO))
    say("a window beyond what is listed", "wide_wave", "widths", [32001, 1023], "a level has at most")

    turns = own["purpose"]["harmonics"]
    say(
        "one too heavy",
        "purpose",
        "weights_in",
        [own["purpose"]["weights_in"][0] + 1, *own["purpose"]["weights_in"][1:]],
        RATIO,
    )
    say("turns of three levels", "purpose", "harmonics", turns[1:], TURNS)
    say("thrice around", "purpose", "harmonics", [*turns[1:], 3], TURNS)
    say("around less than never", "purpose", "harmonics", [*turns[1:], -1], TURNS)
    say("around too often", "purpose", "harmonics", [*turns[1:], 128], TURNS)
    say("around as octaves do", "purpose", "harmonics", [0, 2, 4, 8], "are the dyadic ones")
    say("a text for turns", "purpose", "harmonics", ['"1"', *turns[1:]], NEEDS)
    say("a circle on all of which its window lies", "purpose", "widths", [*own["purpose"]["widths"][:-1], 65], ROOM)

    say("an even window", "square_wave", "width", 4, ODD)
    say("a window of nothing", "square_wave", "width", -3, ODD)
    say("cells that are no power of two", "square_wave", "cells", 9, "cells must be a power of two")
    rows.append(("two: the second alone", "two", _SECOND, RATIO))

    for place, what in enumerate(("splines", "first wavelets", "finest wavelets")):
        say(f"too little noise of the {what}", "sampled", "noise_scales", _less(own["sampled"], place, 1), LOSS)
    say("no noise", "sampled", "noise_scales", [0, 131072, 131072], NOISE)
    say("noise below nothing", "sampled", "noise_scales", [-131072, 131072, 131072], NOISE)
    say("noise of two levels", "sampled", "noise_scales", [131072, 131072], NOISE)
    say("noise beyond a word", "sampled", "noise_scales", [2**32 + 1, 131072, 131072], NOISE)
    say("a text for noise", "sampled", "noise_scales", ['"131072"', 131072, 131072], NEEDS)
    say("another sensitivity", "sampled", "sensitivity", [131071, 131072, 131072], "sensitivity = ")
    say("half the sensitivity and the noise", "sampled", "noise_scales", [65536, 65536, 65536], LOSS)
    half = _said(schemes["sampled"], "noise_scales", [65536] * 3) | _said(
        schemes["sampled"], "sensitivity", [65536] * 3
    )
    rows.append(("sampled: noise of half a sensitivity that is stated", "sampled", half, LOSS))
    say("a level that nobody reports", "sampled", "level_law", [32768, 32768, 0], LAW)
    say("a law of two", "sampled", "level_law", [32768, 32768], LAW)
    logarithm = _LN_3 | _said(schemes["sampled"], "noise_scales", [119306, 119307, 119307])
    rows.append(("sampled: too little noise for a logarithm", "sampled", logarithm, LOSS))
    digest = own["sampled"]["table_sha256"]
    rows.append(("sampled: other tables", "sampled", {digest: "0" * 64}, "table_sha256 = "))
    rows.append(("sampled: sent together", "sampled", {'"sample"': '"split"'}, "level_law belongs to"))
    rows.append(("sampled: shared out somehow", "sampled", {'"sample"': '"somehow"'}, "allocation must be one of"))
    rows.append(("sampled: no noise is said", "sampled", {_line("noise_scales", [131072] * 3): ""}, NEEDS))
    rows.append(("sampled: less epsilon", "sampled", {'epsilon = "1"': 'epsilon = "0.999999"'}, LOSS))
    say("each level within epsilon, and not their sum", "split", "noise_scales", [200_000] * 3, LOSS)
    say("a little less noise", "split", "noise_scales", _less(own["split"], 2, 8), LOSS)
    rows.append(("split: each with all", "split", {'"split"': '"sample"'}, LAW))
    say("each level within epsilon, and not their sum", "paper", "noise_scales", [262_144] * 3, LOSS)
    rows.append(("paper: without its exponent", "paper", {'a = "2"\n': ""}, "allocation"))
    rows.append(("gaussian: as it is, in the browser", "gaussian", {"1/1000000": "1/10000000"}, LOSS, LAPLACE))
    say("a little less noise", "gaussian", "noise_scales", _less(own["gaussian"], 1, 40), LOSS, LAPLACE)
    rows.append(("gaussian: no delta", "gaussian", {'delta = "1/1000000"\n': ""}, "give delta", LAPLACE))
    rows.append(("gaussian: a delta above a hundredth", "gaussian", {"1/1000000": "1/10"}, "delta must", LAPLACE))

    texts = ("0", "-1", "1/0", "ln 1", "ln 1/2", "ln 3/0", "65", "ln 1" + "0" * 39, "none", "0 + ln 3", "1e400", "")
    rows += [(f"epsilon: {text}", "square_wave", {'epsilon = "1"': f'epsilon = "{text}"'}, EPSILON) for text in texts]
    domain = {
        "a code of no category": ({'7 = "c1"': '7 = "c7"'}, "codes.7 must be one of the categories"),
        "other answers have no category": ({'    "other",\n': '    "others",\n'}, 'needs a category named "other"'),
        "others are anything": ({'outside = "other"': 'outside = "anything"'}, "outside must be one of"),
        "two categories of a name": ({'    "other",\n': '    "c0",\n'}, "categories must differ"),
    }
    rows += [(f"codes: {what}", "codes", *row) for what, row in domain.items()]
    crossed = {
        "a column with itself": ({'    "place",\n': '    "job",\n'}, "of must list two different columns"),
        "one column": ({'    "place",\n': ""}, "of must be a list of at least 2"),
        "three columns": ({'    "place",\n': '    "place",\n    "age",\n'}, "of must list two different columns"),
        "a category that has another": ({'        "s",\n': '        "s & e",\n'}, "may not contain"),
        "two categories of a name": ({'        "s",\n': '        "e",\n'}, "must differ and not be empty"),
        "another category": ({'        "s",\n': '        "s",\n        "w",\n'}, "the number of categories"),
        "a column of its own": ({'missing = "refuse"\n': 'missing = "refuse"\ncolumn = "x"\n'}, "unknown key"),
        "an answer that is none": ({'missing = "refuse"': 'missing = "category"'}, "missing must be one of"),
    }
    rows += [(f"together: {what}", "together", *row) for what, row in crossed.items()]
    heavy = own["options"]["weight_in"]
    say("one too heavy", "options", "weight_in", heavy + 1, RATIO)
    say("one too heavy", "many_options", "weight_in", own["many_options"]["weight_in"] + 1, RATIO)
    say("as light as without an option", "options", "weight_in", own["options"]["weight_out"], FAVOUR)
    say("nothing for others", "options", "weight_out", 0, FAVOUR)
    say("beyond a word", "options", "weight_in", 2**32, FAVOUR)
    say("a text", "options", "weight_in", f'"{heavy}"', NEEDS)
    say("none", "options", "size", 0, WHOLE)
    say("more than there are", "options", "size", 6, WHOLE)
    clients, asked = "options = 5\nat_most = 3\n", 'at_most = 3\nseparator = ";"\n'
    many = 'at_most = 4\nseparator = ";"\n'
    sets = {
        "fewer options": ({clients: "options = 4\nat_most = 3\n"}, "as the attribute has it"),
        "more of them": ({clients: "options = 5\nat_most = 4\n"}, "as the attribute has it"),
        "more than there are at most": ({asked: asked.replace("3", "6")}, WHOLE),
        "no separator": ({asked: asked.replace(";", "")}, "separator must be a text that no option contains"),
        "a separator of an option": ({asked: asked.replace(";", "th")}, "separator must be a text that no option"),
        "blanks around it": ({asked: asked.replace(";", " ;")}, "separator must be a text that no option contains"),
        "an answer that is none": ({'missing = "none"': 'missing = "category"'}, "missing must be one of"),
        "a code of no option": ({'7 = "c1"': '7 = "c7"'}, "codes.7 must be one of the categories"),
        "others are no option": ({'    "other",\n': '    "others",\n'}, 'needs a category named "other"'),
        "two columns": ({asked: f'{asked}of = [\n    "a",\n    "b",\n]\n'}, "unknown key"),
        "ranges": ({asked: f"{asked}bins = [\n    1,\n]\n"}, "unknown key"),
    }
    rows += [(f"options: {what}", "options", *row) for what, row in sets.items()]
    rows.append(("many_options: too many sets", "many_options", {many: many.replace("4", "6")}, "are possible; lower"))
    boxes = {
        "two columns": ({'    "c",\n': ""}, "columns must list 3 different columns"),
        "a column twice": ({'    "c",\n': '    "b",\n'}, "columns must list 3 different columns"),
        "a column in clear": (
            {"[attributes.x]\n": '[labels.b]\ncategories = ["young", "old"]\n[attributes.x]\n'},
            "b is also an attribute",
        ),
    }
    rows += [(f"boxes: {what}", "boxes", *row) for what, row in boxes.items()]
    say("one too heavy", "texts", "weight_in", own["texts"]["weight_in"] + 1, RATIO)
    say("as heavy as others", "texts", "weight_in", own["texts"]["weight_out"], WEIGHTS)
    say("a prime below the buckets", "texts", "prime", 1021, WHOLE)
    say("no prime", "texts", "prime", 1033 * 3, "a prime modulus")
    say("one bin", "texts", "bins", 1, WHOLE)
    say("one bucket", "texts", "buckets", 1, WHOLE)
    say("a text", "texts", "buckets", '"1024"', NEEDS)
    say("no symbols", "texts", "symbols", 0, WHOLE)
    say("more symbols", "texts", "symbols", own["texts"]["symbols"] + 1, "as the attribute has it")
    lengths, bases = own["texts"]["lengths"], own["texts"]["bases"]
    sizes, different = "lengths must be 64 increasing lengths up to 8", "bases must be 64 different integers"
    say("a row too few", "texts", "lengths", lengths[1:], sizes)
    say("no rows", "texts", "lengths", [], sizes)
    say("a row of nothing", "texts", "lengths", _changed(lengths, 0, 0), sizes)
    say("longer rows first", "texts", "lengths", _changed(lengths, 1, 8), sizes)
    say("an estimate of beginnings", "texts", "lengths", _changed([8] * 64, -1, 7), sizes)
    say("a row beyond the text", "texts", "lengths", _changed(lengths, -1, 9), sizes)
    say("a search of beginnings alone", "texts", "lengths", [*[7] * 48, *[8] * 16], sizes)
    say("a text for lengths", "texts", "lengths", ['"8"'] * 64, NEEDS)
    say("two rows of one hash function", "texts", "bases", _changed(bases, 0, bases[1]), different)
    say("one base twice more", "texts", "bases", [*bases, bases[0]], different)
    say("a base of nothing", "texts", "bases", _changed(bases, 0, 0), different)
    say("a base of one", "texts", "bases", _changed(bases, 0, 1), different)
    say("a base of the modulus", "texts", "bases", _changed(bases, 63, 2**31 - 1), different)
    say("a base beyond doubles", "texts", "bases", _changed(bases, 63, 2**53 + 1), different)
    alphabet = 'alphabet = "abehort -é"'
    words = {
        "a letter twice": ({alphabet: 'alphabet = "abehorta -é"'}, "alphabet must be different printable characters"),
        "a letter of no width": ({alphabet: 'alphabet = "abehort\u200b -é"'}, "different printable characters"),
        "a tab": ({alphabet: 'alphabet = "abehort\\t -é"'}, "alphabet must be different printable characters"),
        "a capital": ({alphabet: 'alphabet = "abehorT -é"'}, "normalization changes 'T', so no text has it"),
        "a composed letter": ({alphabet: 'alphabet = "abehort -\u212b"'}, "so no text has it"),
        "another letter": ({alphabet: 'alphabet = "abehortz -é"'}, "as the attribute has it"),
        "no letters of other": ({alphabet: 'alphabet = "abehxrt -é"'}, "that allow the text 'other'"),
        "longer texts": ({"max_bytes = 8": "max_bytes = 9"}, "as the attribute has it"),
        "too long texts": ({"max_bytes = 8": "max_bytes = 25"}, WHOLE),
        "texts of nothing": ({"max_bytes = 8": "max_bytes = 0"}, WHOLE),
        "no length": ({"max_bytes = 8\n": ""}, "max_bytes is missing"),
        "another normalization": ({'    "blanks",\n': '    "spaces",\n'}, "must be one of"),
        "an answer that is none": ({'missing = "category"': 'missing = "none"'}, "missing must be one of"),
        "two columns": ({alphabet: f'{alphabet}\nof = [\n    "a",\n    "b",\n]'}, "unknown key"),
        "ranges": ({alphabet: f"{alphabet}\nbins = [\n    1,\n]"}, "unknown key"),
        "a mechanism of categories": ({'"text_hashing"\n': '"local_hashing"\n'}, "mechanism must be one of"),
    }
    mean = 'estimator = "texts"\nfunctionals = [\n    "mean",\n]'
    words["functionals"] = ({'estimator = "texts"\nfunctionals = []': mean}, "functionals are of numbers")
    rows += [(f"texts: {what}", "texts", *row) for what, row in words.items()]
    labels = "".join(f'[labels.l{place}]\ncategories = ["a", "b"]\n' for place in range(5))
    labelled = {"[attributes.x]\n": f"{labels}[attributes.x]\n"}
    rows.append(
        ("all_texts: labels of 32 combinations", "all_texts", labelled, "texts are counted for at most 31 combinations")
    )
    short = _said(schemes["all_texts"], "length", 3) | _said(schemes["all_texts"], "lengths", [3] * 64)
    rows.append(("all_texts: shorter texts", "all_texts", short, "as the attribute has it"))
    plane, heavy = "plane", own["plane"]["weights_in"]
    for level, what in enumerate(("place", "product", "first", "second")):
        say(f"the {what} too heavy", plane, "weights_in", [w + (at == level) for at, w in enumerate(heavy)], RATIO)
    say("a level's weights alike", plane, "weights_in", [heavy[0], 65536, *heavy[2:]], WEIGHTS)
    say("a level without others", plane, "weights_out", [0, 65536, 65536, 65536], WEIGHTS)
    say("beyond a word", plane, "weights_in", [2**32, *heavy[1:]], WEIGHTS)
    say("weights of one level", plane, "weights_in", heavy[:1], NEEDS)
    say("an even window", plane, "widths", [4, 21, 1, 3], ODD)
    say("three windows", plane, "widths", [3, 21, 3], "must be of four levels")
    say("two windows", plane, "widths", [3, 21], "must be of four levels")
    say("more than a word holds", plane, "widths", [3, 300_001, 1, 3], WEIGHTS)
    light = _said(schemes[plane], "weights_in", [2] * 4) | _said(schemes[plane], "weights_out", [1] * 4)
    wide = light | _said(schemes[plane], "widths", [601, 21, 1, 3])
    rows.append(("plane: a window beyond what is listed", plane, wide, "a level has at most"))
    say("a level that nobody reports", plane, "level_law", [65534, 0, 1, 1], LAW)
    say("a law of three", plane, "level_law", [65534, 1, 1], LAW)
    say("other cells", plane, "cells", 12, "cells must be one of")
    numbers = {
        "one lower bound": ({"    18,\n": ""}, "lower must be a list of at least 2"),
        "the wrong way round": ({"    90,\n": "    9,\n"}, "lower must be below upper"),
        "a unit too many": ({'    "USD",\n': '    "USD",\n    "EUR",\n'}, "units must list one entry for each column"),
        "a step": ({'outside = "clip"\n': 'outside = "clip"\nstep = 1\n'}, "unknown key"),
    }
    rows += [(f"plane: {what}", "plane", *row) for what, row in numbers.items()]
    label = '[labels.age]\ncategories = ["young", "old"]\n'
    rows.append(
        (
            "plane: a column in clear",
            "plane",
            {"[attributes.x]\n": f"{label}[attributes.x]\n"},
            "age is also an attribute",
        )
    )
    bounds = {
        "the wrong way round": ({"upper = 1": "upper = -1"}, "lower must be below upper"),
        "a point": ({"upper = 1": "upper = 0"}, "lower must be below upper"),
        "no number": ({"upper = 1": 'upper = "1/0"'}, "upper must be a number"),
        "too far": ({"upper = 1": f"upper = {10**31}"}, "must lie between"),
        "too near": (
            {"lower = 0": f"lower = {10**20}", "upper = 1": f"upper = {10**20 + 1}"},
            "too close for floating-point",
        ),
        "a type of its own": ({'type = "numeric"': 'type = "number"'}, "type must be one of"),
        "a mechanism of its own": ({'"square_wave"\n': '"trust_me"\n'}, "mechanism must be one of"),
        "a mechanism of objects": ({'"square_wave"\n': '"__proto__"\n'}, "mechanism must be one of"),
    }
    rows += [(f"square_wave: bounds: {what}", "square_wave", *row) for what, row in bounds.items()]
    weight = "weight_in = 178145\n"
    rows.append(("hadamard_response: two weights", "hadamard_response", {weight: weight * 2}, TOML))
    twice = {weight: f"\n[attributes.x.client]\n{weight}"}
    rows.append(("hadamard_response: two tables", "hadamard_response", twice, TOML))
    rows.append(("pair: with nobody", "pair", {'        "y",\n': '        "z",\n'}, "pairs must list"))
    rows.append(
        ("pair: of one", "pair", {'        "y",\n        "x",\n': '        "x",\n        "x",\n'}, "pairs must list")
    )
    rows.append(("reporting of some", "two", {'reporting = "all"': 'reporting = "some"'}, "reporting must be one of"))
    rows.append(("another format", "two", {"format = 1\n": "format = 2\n"}, "format"))
    rows.append(("drawn in another way", "two", {"format = 1\n": "format = 1\ndraws = 2\n"}, "draw"))
    return rows


_LN_3 = {'epsilon = "1"': 'epsilon = "ln 3"'}
_SECOND = {"width = 3\nweight_in = 178145\n": "width = 3\nweight_in = 178146\n"}


if __name__ == "__main__":
    main()
