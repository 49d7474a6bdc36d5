"""What a page says, asked of the warehouse: every table and picture with the very SQL that was run for it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from typing import Any

import pandas as pd

from dpcore.errors import WarehouseError
from dpcore.results.pages import pictures
from dpcore.results.pages.words import WHAT_LEAVES, is_share, name_of, phrase, rank
from dpcore.results.plots import in_words, rounded, separated

_OF_RUN = ("run", "attributes", "checks", "sensitivities", "rejects", "spent")
_OF_ATTRIBUTE = ("density", "group_densities", "frequencies", "numbers", "differences")
_MORE_DIGITS = 4
Ask = Callable[[str], pd.DataFrame]


@dataclass(frozen=True)
class Query:
    """SQL as it was run, and what a row of its answer is."""

    a_row: str
    sql: str


@dataclass(frozen=True)
class Picture:
    """A picture, what it shows for those who do not see it, and the SQL behind it; drawn when it is looked at."""

    draw: Callable[[], str]
    shows: str
    query: Query

    @property
    def url(self) -> str:
        return self.draw()


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row of a table of estimates, every number as it is printed; '' where there is none.

    holds: whether the interval holds the truth; None where nobody knows.  note: what there is to be said of the row.
    verdict: of a difference: 'yes' where it is more than chance explains in all rows at once, 'perhaps' where its own interval
    leaves out zero, 'no', or '' where it was refused.
    """

    text: str
    name: str
    attribute: str = ""
    group: str = ""
    estimate: str = ""
    low: str = ""
    high: str = ""
    unit: str = ""
    truth: str = ""
    holds: bool | None = None
    note: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class Changes:
    """What has moved since an earlier round: rows, how many of groups were left out, and remarks on all of them."""

    since: str
    lines: list[Line]
    left_out: int
    remarks: list[str]


@dataclass(frozen=True, kw_only=True)
class Section:
    """What is shown of one attribute."""

    name: str
    title: str
    about: str
    pictures: list[Picture]
    frequencies: list[Line] = field(default_factory=list)
    frequencies_query: Query | None = None
    of_all: int = 0
    numbers: list[Line] = field(default_factory=list)
    groups: list[Line] = field(default_factory=list)
    numbers_query: Query | None = None
    differences: list[Line] = field(default_factory=list)
    differences_left_out: int = 0
    differences_query: Query | None = None
    confidence: str = ""

    @property
    def grouped_by(self) -> str:
        """The one attribute that makes the groups; '' where there are several, which the groups then name."""
        others = {line.group.partition(": ")[0] for line in self.groups}
        return others.pop() if len(others) == 1 else ""

    @property
    def has_truth(self) -> bool:
        return any(line.truth for line in (*self.frequencies, *self.numbers, *self.groups))


def find(ask: Ask, round_: str | None, scheme: str | None) -> str:
    """Return the run_id of the run that stands of a round, of the newest round where None is named.

    Raises WarehouseError where there is none, or where several schemes have the round and none is named.
    """
    landed = ask(_read("landed").sql)
    if landed.empty:
        raise WarehouseError("the warehouse holds no landed round yet: run `ldpflow run` first")
    found = landed if scheme is None else landed[landed["scheme"] == scheme]
    if found.empty:
        known = ", ".join(sorted(landed["scheme"].unique()))
        raise WarehouseError(f"the warehouse has no round of scheme {scheme!r}; it has schemes {known}")
    if round_ is not None:
        rounds = sorted(found["round"].unique())
        found = found[found["round"] == round_]
        if found.empty:
            known = ", ".join(rounds[-5:])
            raise WarehouseError(
                f"the warehouse has no landed round {round_!r}; the latest of {len(rounds)} are {known}"
            )
        if len(found) > 1:
            known = ", ".join(sorted(found["scheme"]))
            raise WarehouseError(f"round {round_} has landed for {len(found)} schemes, {known}; name one with --scheme")
    return str(found["run_id"].iloc[0])


def gather(ask: Ask, run_id: str) -> dict[str, Any]:
    """Return everything the template of a round needs, by name."""
    queries = {name: _read(name, run_id=run_id) for name in _OF_RUN}
    (run,) = _rows(ask(queries["run"].sql))
    before = _rows(ask(_read("previous", run_id=run_id).sql))
    previous = before[0] if before else None
    attributes = _rows(ask(queries["attributes"].sql))
    sections = [_section(ask, run_id, previous, row) for row in attributes]
    queries["changes"] = _read("changes", run_id=run_id)
    units = {row["attribute"]: row["unit"] for row in attributes}
    (spent,) = _rows(ask(queries["spent"].sql))
    return {
        "run": run,
        "title": in_words(run["scheme"]).capitalize(),
        "sections": sections,
        "previous": previous,
        "changes": _changes(_rows(ask(queries["changes"].sql)), units),
        "checks": [_check(row) for row in _rows(ask(queries["checks"].sql))],
        "exposed": [_exposed(row) for row in _rows(ask(queries["sensitivities"].sql))],
        "promises": [_promise(row) for row in attributes],
        "total": _total(run),
        "spent": spent,
        "rejects": _rows(ask(queries["rejects"].sql)),
        "queries": queries,
        "simulated": run["source"] == "simulated",
        "rehearsal": run["source"] == "records" and run["randomness"] == "seeded",
    }


def _section(ask: Ask, run_id: str, previous: dict[str, Any] | None, row: dict[str, Any]) -> Section:
    attribute, unit = row["attribute"], row["unit"]
    named = {"run_id": run_id, "attribute": attribute, "previous": previous["run_id"] if previous else ""}
    queries = {name: _read(name, **named) for name in _OF_ATTRIBUTE}
    density, groups, frequencies, numbers, differences = (ask(query.sql) for query in queries.values())
    everyone = numbers[numbers["given"] == ""]
    title, drawn = in_words(attribute), []
    if len(density):
        shows = f"Estimated density of {title} with its pointwise band"
        drawn.append(Picture(partial(pictures.density, density, everyone, unit), shows, queries["density"]))
    others = groups["given"].str.partition("=")[0] if len(groups) else pd.Series(dtype=object)
    for other, rows in groups.groupby(others, sort=False) if len(groups) else ():
        shows = f"Estimated densities of {title} by {in_words(str(other))}"
        drawn.append(Picture(partial(pictures.groups, rows, unit), shows, queries["group_densities"]))
    shown = frequencies.loc[frequencies["estimate"].nlargest(pictures.SHOWN).index.sort_values()]
    if len(shown):
        shows = f"Estimated shares of {title} with their intervals"
        picture = partial(pictures.frequencies, shown, len(frequencies))
        drawn.append(Picture(picture, shows, queries["frequencies"]))
    lines = sorted(_rows(numbers), key=lambda one: rank(one["functional"]))
    compared = [_difference(one, unit) for one in sorted(_rows(differences), key=lambda one: rank(one["functional"]))]
    if len(compared) > pictures.SHOWN:
        compared = [line for line in compared if line.verdict in ("yes", "perhaps")]
    estimators = sorted({*density["estimator"], *frequencies["estimator"], *everyone["estimator"]})
    return Section(
        name=attribute,
        title=title.capitalize(),
        about=_about(row, estimators),
        pictures=drawn,
        frequencies=[_frequency(one) for one in _rows(shown)],
        frequencies_query=queries["frequencies"],
        of_all=len(frequencies),
        numbers=[_number(one, unit) for one in lines if not one["given"]],
        groups=[_number(one, unit) for one in lines if one["given"]],
        numbers_query=queries["numbers"],
        differences=compared,
        differences_left_out=len(differences) - len(compared),
        differences_query=queries["differences"],
        confidence=_confidence(pd.concat([frequencies["confidence"], numbers["confidence"]])),
    )


def _about(row: dict[str, Any], estimators: list[str]) -> str:
    bounds = ""
    if row["lower"] is not None:
        bounds = f"{separated(row['lower'])} to {separated(row['upper'])} {row['unit']}".strip()
    made = f"{name_of(row['mechanism'])} at ε = {row['stated']}"
    by = ", ".join(filter(None, map(name_of, estimators)))
    return " · ".join(part for part in (bounds, f"{row['charges']:,} reports", made, by) if part)


def _confidence(column: pd.Series) -> str:
    """The one confidence of a table's intervals as a percentage; '' where they differ or there are none."""
    found = column.dropna().unique()
    return f"{100 * float(found[0]):.4g} %" if len(found) == 1 else ""


def _frequency(row: dict[str, Any]) -> Line:
    return Line(text=str(row["category"]), name="", **_numbers(row, "estimate", "%", 100))


def _number(row: dict[str, Any], unit: str) -> Line:
    said = phrase(row["functional"], unit)
    group = in_words(row["given"]).replace("=", ": ")
    return Line(
        text=said.text,
        name=row["functional"],
        group=group,
        note=row["reason"] or "",
        **_numbers(row, "estimate", said.unit, said.factor),
    )


def _numbers(row: dict[str, Any], column: str, unit: str, factor: float) -> dict[str, Any]:
    """A row's numbers as they are printed: to two significant digits of the interval."""
    low, high, truth = row["low"], row["high"], row.get("truth")
    spread = factor * (high - low) if low is not None and high is not None else math.nan

    def told(value: float | None) -> str:
        return "" if value is None else rounded(factor * value, spread)

    holds = None if truth is None or low is None or high is None else low <= truth <= high
    for _ in range(_MORE_DIGITS):
        if holds is False and told(truth) in (told(low), told(high)):  # a miss must be seen to be one
            spread /= 10
    return {
        "estimate": told(row[column]),
        "low": told(low),
        "high": told(high),
        "truth": told(truth),
        "unit": unit if row[column] is not None else "",
        "holds": holds,
    }


def _changes(rows: list[dict[str, Any]], units: dict[str, str]) -> list[Changes]:
    """The differences to each earlier round, the latest first: everyone's, and those of groups that may be more than chance."""
    found = []
    for since in dict.fromkeys(row["since"] for row in rows):
        of_round = [row for row in rows if row["since"] == since]
        told = [(_difference(row, units[row["attribute"]]), row) for row in _by_attribute(of_round, units)]
        shown = [line for line, row in told if not row["given"] or line.verdict in ("yes", "perhaps")]
        remarks = dict.fromkeys(row["reason"] for row in of_round if row["difference"] is not None and row["reason"])
        found.append(Changes(since, shown, len(told) - len(shown), list(remarks)))
    return found


def _by_attribute(rows: list[dict[str, Any]], units: dict[str, str]) -> list[dict[str, Any]]:
    """In the scheme's order; of an attribute everyone's before groups', and as many shares as a table holds."""
    order = list(units)
    rows = sorted(rows, key=lambda row: (order.index(row["attribute"]), row["given"] != "", rank(row["functional"])))
    kept: dict[str, int] = {}
    shown = []
    for row in rows:
        if is_share(row["functional"]):
            kept[row["attribute"]] = kept.get(row["attribute"], 0) + 1
            if kept[row["attribute"]] > pictures.SHOWN and not row["differs"]:
                continue
        shown.append(row)
    return shown


def _difference(row: dict[str, Any], unit: str) -> Line:
    said = phrase(row["functional"], unit)
    verdict = ""
    if row["low"] is not None:
        verdict = "yes" if row["differs"] else "no" if row["low"] <= 0 <= row["high"] else "perhaps"
    sides = [in_words(given.partition("=")[2]) for given in (row["given"], row["other_given"])]
    return Line(
        text=said.text,
        name=row["functional"],
        attribute=in_words(row["attribute"]).capitalize(),
        group=sides[0] if row["given"] == row["other_given"] else " − ".join(sides),
        note=(row["reason"] or "") if row["difference"] is None else "",
        verdict=verdict,
        **_numbers(row, "difference", "points" if said.unit == "%" else said.unit, said.factor),
    )


def _check(row: dict[str, Any]) -> dict[str, Any]:
    name, _, of = row["name"].partition("(")
    return {
        "name": in_words(name) + (f" of {in_words(of[:-1]).replace(' | ', ', ').replace('=', ': ')}" if of else ""),
        "passed": row["passed"],
        "observed": _short(row["observed"]),
        "threshold": _short(row["threshold"]),
        "detail": (row["detail"] or "").replace("<=", "≤").replace("e^epsilon", "e^ε").replace("epsilon", "ε"),
    }


def _exposed(row: dict[str, Any]) -> dict[str, str]:
    """How far one malicious report in a hundred moves a number at most; of shares, the one that it moves most."""
    unit = row["unit"] or ""
    said = phrase(row["functional"], unit) if row["functional"] else phrase("frequency(any share)", unit)
    moved = said.factor * row["moved"]
    return {
        "attribute": in_words(row["attribute"]).capitalize(),
        "number": said.text,
        "moved": rounded(moved, abs(moved)),
        "unit": "points" if said.unit == "%" else said.unit,
        "holds": "always" if row["is_exact"] else "to first order",
    }


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}".replace("-", "−")


def _promise(row: dict[str, Any]) -> dict[str, Any]:
    mechanism = row["mechanism"]
    return row | {
        "title": in_words(row["attribute"]).capitalize(),
        "mechanism": name_of(mechanism),
        "leaves": WHAT_LEAVES.get(mechanism, "a report drawn at random"),
        "factor": _factor(row["epsilon"]),
        "kept": _kept(row["certificate"]),
    }


def _kept(certificate: str) -> str:
    """What a certificate says is kept: a factor between odds, or an epsilon; the fraction, and as a decimal number."""
    found = re.match(r"(ratio|loss) (\S+) \((\S+)\)", certificate)
    if found is None:
        return certificate
    kind, decimal, fraction = found.groups()
    said = f"{fraction} = {decimal}" if "/" in fraction else fraction
    return f"factor {said}" if kind == "ratio" else f"ε = {said}"


def _total(run: dict[str, Any]) -> dict[str, str] | None:
    """The epsilon of one client in the round; None for a round that landed before schemes did."""
    if run["epsilon"] is None:
        return None
    return {"stated": run["stated"], "epsilon": f"{run['epsilon']:.4g}", "factor": _factor(run["epsilon"])}


def _factor(epsilon: float) -> str:
    """E^epsilon, rounded up, so that no printed promise is better than the one that is kept."""
    if epsilon > 30:
        return f"e^{epsilon:.4g}"
    factor = math.exp(epsilon)
    digits = max(0, 2 - math.floor(math.log10(factor)))
    raised = math.ceil(factor * 10**digits * (1 - 1e-12)) / 10**digits
    return f"{raised:,.{digits}f}"


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows, with None for what is null."""
    return [
        {str(key): None if pd.isna(value) else value for key, value in row.items()} for row in frame.to_dict("records")
    ]


@cache
def _text(name: str) -> str:
    return (files(__package__) / "queries" / f"{name}.sql").read_text(encoding="utf-8")


def _read(name: str, **values: str) -> Query:
    """A query with its $names replaced by text literals, so that what is shown is what was run."""
    first, sql = _text(name).split("\n", 1)
    literals = {key: "'" + value.replace("'", "''") + "'" for key, value in values.items()}
    sql = re.sub(r"\$([a-z_]+)", lambda match: literals[match[1]], sql).strip()
    return Query(first.removeprefix("-- "), sql)
