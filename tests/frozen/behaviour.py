"""What a change of the inside must not change, as documents that are compared with the files beside this one.

A document is {section: {"columns": [...], "rows": [[...], ...]}}: a table of the warehouse, lines of a terminal or a page, or
digests.  Nothing here knows the modules of a round: it asks `dpcore`'s public names, the command `ldpflow` and the DuckDB file.

Floats are kept to twelve digits; how they are compared, `tests/helpers/comparison.py` says.

What depends on the clock, on the version of ldpflow, or on the bytes that a version of Parquet's library writes is put as its
name.  Pictures are drawn by a version of matplotlib, which the lock holds: of those on a page the digest is taken of the text
with numbers to a hundredth of a point, of others of their pixels.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from PIL import Image

import dpcore as dp
from dpcore import wire
from tests.helpers import client_cases, comparison, schemes

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
WHAT_TO_DO = (
    "a change of the inside has changed what it does; mend it or, where that is what was wanted, run "
    "`.venv/bin/python tests/frozen/freeze.py` and say in the commit what has changed and why"
)
Section = dict[str, list[Any]]
Document = dict[str, Section]

_SHIPPED = {path.stem: path for path in sorted((ROOT / "data/schemes").glob("*.toml"))}
_OF_TESTS = {"small": schemes.SMALL, "households": schemes.HOUSEHOLDS, "question": schemes.QUESTION}
_DIGITS = 12
_CLIENTS = 20_000
_VARYING = ("started_at", "finished_at", "applied_at", "measured_at", "version")  # an integer `version` does not
_THIN = 32  # of tables of curves every so many rows are kept, and the sums of all
_CURVES = ("densities", "truths")


# what is compared


def schemes_() -> Document:
    """The digest of every scheme and its canonical text's SHA-256, which every report and client carries."""
    rows = []
    for name, scheme in _schemes().items():
        text = scheme.canonical.encode()
        rows.append([name, scheme.digest, hashlib.sha256(text).hexdigest(), len(text)])
    return {"schemes": section(["scheme", "digest", "sha256 of the canonical text", "bytes"], rows)}


def reports_and_aggregates() -> Document:
    """Reports under a seed and of clients with keys, and the integers that are kept of them."""
    reports, aggregates, single = [], [], []
    for name, scheme in _schemes().items():
        people = _people(scheme)
        batch = dp.privatize(scheme, people, random=dp.seeded(7))
        for attribute, answers in batch.answers.items():
            parts = (answers.clients, answers.reports.level, answers.reports.values)
            reports.append([name, attribute, len(answers), *map(_digest_of, parts)])
        aggregates += _integers(name, "reports", dp.aggregate(scheme, batch))
        if scheme.reporting == "all":
            aggregates += _integers(name, "simulated", dp.simulate(scheme, people, dp.seeded(7)))
        for number in range(8):
            record = {column: _plain(values[number]) for column, values in people.items()}
            secret = None if number % 2 else bytes([number] * 32)
            client = dp.Client(scheme, dp.keyed(b"words of clients", name, str(number)), secret=secret)
            content = wire.write_report(client.report(record, "2026-11-20"), scheme)
            single.append([name, number, hashlib.sha256(content).hexdigest()])
    return {
        "reports": section(["scheme", "attribute", "answers", "clients", "levels", "integers"], reports),
        "aggregates": section(["scheme", "made of", "table", "sum", "digest"], aggregates),
        "single reports": section(["scheme", "client", "digest"], single),
    }


def households(folder: Path) -> Document:
    """A small scheme in two rounds of simulated households, of which the second is compared with the first."""
    scheme, data = _write(folder / "scheme.toml", schemes.HOUSEHOLDS), folder / "data"
    said: list[str] = []
    for round_, seed in (("2026-11-18", 7), ("2026-11-19", 8)):
        command = ["run", scheme, "--clients", _CLIENTS, "--seed", seed, "--round", round_, "--data", data]
        said += ldpflow(*command)
    return _landed(folder, data / "warehouse.duckdb", said, page=data)


def consumer_expenditure(folder: Path) -> Document:
    """The shipped scheme of simulated households, a round."""
    data, scheme = folder / "data", _SHIPPED["consumer_expenditure"]
    command = ["run", scheme, "--clients", _CLIENTS, "--seed", 7, "--round", "2026-11-20", "--data", data]
    return _landed(folder, data / "warehouse.duckdb", ldpflow(*command), page=data)


def health_insurance(folder: Path) -> Document:
    """The shipped scheme of real people, whose reports came: some late, one twice, some that no client could have sent."""
    data, into, file = folder / "data", folder / "reports", _SHIPPED["health_insurance"]
    scheme, sample = dp.Scheme.from_toml(file), pd.read_parquet(ROOT / "data/samples/health_insurance.parquet")
    into.mkdir(parents=True)
    names: dict[str, str] = {}
    for number, (sent_for, first, last) in enumerate((("2026-11-19", 0, 3000), ("2026-11-20", 2999, 9000))):
        batch = dp.privatize(scheme, sample[first:last].reset_index(drop=True), random=dp.seeded([7, number]))
        ids = np.random.default_rng(number).integers(0, 256, (len(batch), 16), dtype=np.uint8)
        ids[0 if number else -1] = 9  # the one that came twice
        visits = batch.answers["visits"]
        values = visits.reports.values.copy()
        values[[5, 11]] = 200  # there are eleven categories
        answers = {"visits": replace(visits, reports=replace(visits.reports, values=values))}
        path = into / f"{number}.parquet"
        wire.write_reports(path, scheme, replace(batch, ids=ids, answers={**batch.answers, **answers}), sent_for)
        names[hashlib.sha256(path.read_bytes()).hexdigest()] = f"(file for {sent_for})"
    said = ldpflow("run", file, "--reports", into, "--round", "2026-11-20", "--data", data)
    return _landed(folder, data / "warehouse.duckdb", said, page=data, names=names)


def rehearsal(folder: Path) -> Document:
    """A rehearsal: real records under a known seed."""
    data, records = folder / "data", folder / "records.parquet"
    pd.read_parquet(ROOT / "data/samples/health_insurance.parquet")[:9000].to_parquet(records)
    scheme = _SHIPPED["health_insurance"]
    said = ldpflow("run", scheme, "--records", records, "--seed", 7, "--round", "2026-11-20", "--data", data)
    (file,) = (line.split(maxsplit=1)[1] for line in said if line.startswith("warehouse "))
    return _landed(folder, Path(file), said)


def sequence(folder: Path) -> Document:
    """What may happen to the rounds of one warehouse, one after another: run again, refused, waiting, failed, late, trials."""
    data, into, file = folder / "data", folder / "reports", _write(folder / "question.toml", schemes.QUESTION)
    scheme, names = dp.Scheme.from_toml(file), {}
    into.mkdir()

    def come(name: str, sent_for: str, people: int, bad: bool = False) -> None:
        """A file of reports: the same whenever it is made."""
        answers = np.random.default_rng([people, *name.encode()]).choice(["urban", "rural"], people)
        batch = dp.privatize(scheme, {"urban_rural": answers}, random=dp.seeded([people, *name.encode()]))
        if bad:
            said = batch.answers["urban_rural"]
            values = np.full_like(said.reports.values, 200)  # there are two categories
            batch = replace(batch, answers={"urban_rural": replace(said, reports=replace(said.reports, values=values))})
        wire.write_reports(into / f"{name}.parquet", scheme, batch, sent_for)
        names[hashlib.sha256((into / f"{name}.parquet").read_bytes()).hexdigest()] = f"(file {name})"

    def run(*arguments: object) -> list[str]:
        return ldpflow("run", file, *arguments, "--data", data)

    eighteen, nineteen, twenty = (["--round", f"2026-11-{day}"] for day in (18, 19, 20))
    said = [*run(*eighteen), *run(*eighteen), *run(*eighteen, "--again")]
    said += run("--clients", 300, "--seed", 3)  # a trial
    come("a", "2026-11-18", 200)
    said += [*run(*eighteen, "--reports", into), *run(*eighteen, "--again")]  # people stand before simulated ones
    come("b", "2026-11-19", 20)
    said += [*run(*nineteen, "--reports", into), *run(*nineteen, "--reports", into, "--min-clients", 5)]
    come("c", "2026-11-19", 80)
    come("d", "2026-11-20", 100)
    said += ldpflow("collect", file, into, *twenty, "--data", data)
    said += ldpflow("estimate", file, *twenty, "--data", data)
    come("e", "2026-11-20", 60)
    said += [*run(*twenty, "--reports", into), *run(*twenty, "--reports", into, "--again")]
    said += run("--round", "2026-11-21", "--reports", into)  # nothing is left for it
    come("f", "2026-11-22", 70, bad=True)
    said += run("--round", "2026-11-22", "--reports", into, "--min-clients", 0)
    said += ldpflow("backfill", "2026-11-15", "2026-11-19", file, "--data", data, "--dry-run")
    said += ldpflow("backfill", "2026-11-17", "2026-11-18", file, "--data", data)
    return _landed(folder, data / "warehouse.duckdb", said, page=data, names=names)


FAST: dict[str, Callable[[], Document]] = {"schemes": schemes_, "reports": reports_and_aggregates}
ROUNDS: dict[str, Callable[[Path], Document]] = {
    "households": households,
    "consumer_expenditure": consumer_expenditure,
    "health_insurance": health_insurance,
    "rehearsal": rehearsal,
    "sequence": sequence,
}
SLOW = ("consumer_expenditure", "health_insurance", "households", "rehearsal", "sequence")


# how it is compared


def kept(name: str) -> Document:
    """Return the document as it was frozen."""
    found: Document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def keep(name: str, document: Document) -> None:
    """Freeze a document, a row a line, so that its history can be read."""
    sections = []
    for section, table in document.items():
        rows = ",\n".join(f"  {_json(row)}" for row in table["rows"])
        sections.append(f'{_json(section)}: {{"columns": {_json(table["columns"])}, "rows": [\n{rows}\n]}}')
    text = ",\n".join(sections)
    (FOLDER / f"{name}.json").write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def differences(name: str, found: Document) -> list[str]:
    """Return what differs from what was frozen, a sentence each: section, row and column."""
    frozen = kept(name)
    told = [f"{name}: there is no {section!r} any more" for section in frozen if section not in found]
    told += [f"{name}: {section!r} is new" for section in found if section not in frozen]
    for section in (each for each in frozen if each in found):
        told += [
            f"{name}, {section}: {difference}" for difference in _compared(section, frozen[section], found[section])
        ]
    return told


def _compared(section: str, was: Section, is_: Section) -> Iterator[str]:
    if was["columns"] != is_["columns"]:
        yield f"the columns were {was['columns']} and are {is_['columns']}"
    elif len(was["rows"]) != len(is_["rows"]):
        yield f"there were {len(was['rows'])} rows and are {len(is_['rows'])}"
        before, now = ([comparison.shortened(row) for row in each["rows"]] for each in (was, is_))
        yield from (f"gone is row {number}, {row}" for number, row in enumerate(before) if row not in now)
        yield from (f"new is row {number}, {row}" for number, row in enumerate(now) if row not in before)
    else:
        yield from comparison.compared(section, was["columns"], was["rows"], is_["rows"])


# how it is found


def ldpflow(*arguments: object) -> list[str]:
    """Return the lines that a command of `ldpflow` prints, and how it ended where something was wrong."""
    (command,) = entry_points(group="console_scripts", name="ldpflow")
    out, err, ended = io.StringIO(), io.StringIO(), 0  # a command that ends without saying how has done its work
    try:
        with redirect_stdout(out), redirect_stderr(err):
            command.load()([str(argument) for argument in arguments])
    except SystemExit as stop:
        ended = int(stop.code or 0)
    shown = " ".join(part.name if isinstance(part, Path) else str(part) for part in arguments)
    printed = [*out.getvalue().splitlines(), *(f"stderr: {line}" for line in err.getvalue().splitlines())]
    printed += [f"(it ended with {ended})"] if ended else []
    return [f"$ ldpflow {shown}", *(line.rstrip() for line in printed)]


def _landed(
    folder: Path, file: Path, said: list[str], *, page: Path | None = None, names: dict[str, str] | None = None
) -> Document:
    """Everything that a landed round shows: what was printed, its page, its pictures, and every table.

    page: where its data are, of which to publish a page.  names: what to call texts that another machine may make otherwise.
    """
    found: Document = {}
    html = folder / "page.html"
    if page is not None:
        said += ldpflow("publish", html, "--data", page)
    with duckdb.connect(str(file), read_only=True) as ask:
        runs = ask.execute(
            """
            select
                run_id,
                concat_ws(' ', 'run', nullif(row_number() over (partition by round order by started_at), 1), 'of', round)
            from runs
            where source <> 'simulated'
            """
        ).fetchall()
        put = {str(folder): "FOLDER"} | (names or {}) | {run: f"({called})" for run, called in runs}
        put |= {text[:16]: called for text, called in (names or {}).items()}
        found["printed"] = section(["line"], [[_put(line, put)] for line in said])
        found |= tables(ask, put)
        drawn = [Path(path) for (path,) in ask.execute("select path from figures").fetchall()]
    if page is not None:
        found["page"] = page_lines(html.read_text(encoding="utf-8"), put)
    found["pictures"] = section(["file", "pixels", "digest"], sorted(_picture(path, put) for path in drawn))
    return found


def tables(ask: duckdb.DuckDBPyConnection, put: dict[str, str]) -> Document:
    """Every table of a warehouse, with what to put instead of texts that vary."""
    found: Document = {}
    for table, kind in _tables(ask):
        rows = _table(ask, table, put)
        if table in _CURVES:
            found[f"sums of {table}"] = _sums(rows)
            rows["rows"] = rows["rows"][::_THIN]
        found[f"{kind} {table}"] = rows
    return found


def page_lines(html: str, put: dict[str, str]) -> Section:
    """The lines of a page, likewise."""
    return section(["line"], [[_page_line(line)] for line in _put(html, put).splitlines()])


def _tables(ask: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """All tables and, of the views, those that are not a table's rows again."""
    sql = """
        select table_name, if(table_type = 'VIEW', 'view', 'table') as kind
        from information_schema.tables
        where table_schema = 'main' and (
            kind = 'table' or table_name in ('composed_budgets', 'failed_checks', 'latest_estimates', 'latest_runs',
            'interval_coverage', 'pooled_estimates')
        )
        order by kind, table_name"""
    return [(str(table), str(kind)) for table, kind in ask.execute(sql).fetchall()]


def _table(ask: duckdb.DuckDBPyConnection, table: str, put: dict[str, str]) -> Section:
    """The rows in the order of their texts and integers, then of their floats."""
    relation = ask.sql(f'from "{table}"')
    assert relation is not None
    columns = relation.columns
    rows = [
        [_value(column, value, put) for column, value in zip(columns, row, strict=True)] for row in relation.fetchall()
    ]
    return section(columns, sorted(rows, key=_order))


def _sums(table: Section) -> Section:
    """How many values each column of floats has, their sum and that of their squares."""
    rows: list[list[Any]] = []
    for place, column in enumerate(table["columns"]):
        values = [row[place] for row in table["rows"] if isinstance(row[place], float)]
        if values:
            sums = (math.fsum(values), math.fsum(value * value for value in values))
            rows.append([column, len(values), *(float(f"{total:.{_DIGITS}g}") for total in sums)])
    return section(["column", "values", "sum", "sum of squares"], rows)


def _order(row: list[Any]) -> list[tuple[int, str, float]]:
    exact = [(0, "", float(value)) if isinstance(value, int) else (1, str(value), 0.0) for value in row]
    floats = [(2, "", value) if isinstance(value, float) else (3, "", 0.0) for value in row]
    return [each for each, value in zip(exact, row, strict=True) if not isinstance(value, float)] + floats


def _value(column: str, value: Any, put: dict[str, str]) -> Any:
    if column in _VARYING and value is not None and not isinstance(value, int):
        return f"({column})"
    if isinstance(value, str):
        return _put(value, put)
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else str(value)
    return value


def _put(text: str, put: dict[str, str]) -> str:
    for found, instead in put.items():
        text = text.replace(found, instead)
    return text


_SVG = re.compile(r'<svg class="picture".*?</svg>')
_TIME = re.compile(r"\d{4}-\d\d-\d\d<small>\d\d:\d\d UTC</small>|<time .*?</time>")
_VERSION = re.compile(r"(?<=, ldpflow )\d[\w.]*\w")


def _page_line(line: str) -> str:
    return _VERSION.sub("(version)", _TIME.sub("(time)", _SVG.sub(_drawn, line))).rstrip()


def _drawn(found: re.Match[str]) -> str:
    text = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.2f}", found[0])
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"(picture of {text.count('<path')} paths and {text.count('<use')} uses, {digest[:16]})"


def _picture(path: Path, put: dict[str, str]) -> list[Any]:
    with Image.open(path) as picture:
        size, pixels = picture.size, picture.convert("RGB").tobytes()
    return [_put(str(path), put), "x".join(map(str, size)), hashlib.sha256(pixels).hexdigest()[:16]]


def _schemes() -> dict[str, dp.Scheme]:
    texts: dict[str, Any] = {**_SHIPPED, **_OF_TESTS, **client_cases.SCHEMES}
    return {name: dp.Scheme.from_toml(text) for name, text in texts.items()}


def _people(scheme: dp.Scheme, n: int = 3000) -> dict[str, np.ndarray]:
    """People of any scheme, as columns: all kinds of values, the bounds among them."""
    random, people = np.random.default_rng(11), {}
    for attribute in (question for each in scheme.reported.values() for question in each.questions):
        if attribute.is_numeric:
            share = random.beta(2, 5, n)
            share[:2] = 0, 1
            lower, upper = float(attribute.lower), float(attribute.upper)
            people[attribute.column] = lower + (upper - lower) * share
        else:
            names = (
                [attribute.value_of(cell) for cell in attribute.cells] if attribute.is_open else attribute.categories
            )
            people[attribute.column] = np.array(names)[random.integers(0, len(names), n)]
    return people


def _integers(name: str, made_of: str, aggregate: dp.Aggregate) -> list[list[Any]]:
    tables = dict(aggregate.statistics)
    tables |= {" by ".join(pair): table for pair, table in aggregate.pairs.items()}
    rows: list[list[Any]] = [[name, made_of, "clients", aggregate.n, aggregate.fingerprint[:16]]]
    return rows + [[name, made_of, key, int(table.sum()), _digest_of(table)] for key, table in tables.items()]


def _digest_of(array: np.ndarray) -> str:
    """The first 16 hex digits of SHA-256 over an array's shape and its integers, 64 bits each."""
    content = np.ascontiguousarray(array, dtype="<i8").tobytes()
    return hashlib.sha256(f"{array.shape}".encode() + content).hexdigest()[:16]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def section(columns: list[str], rows: list[list[Any]]) -> Section:
    """Rows of these columns."""
    return {"columns": list(columns), "rows": rows}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
