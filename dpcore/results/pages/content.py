"""What a page says, asked of the warehouse: every table and picture with the very SQL that was run for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pandas as pd

from dpcore.errors import WarehouseError
from dpcore.estimation.functional_estimate import BIAS_AWARE, DISTRIBUTION_FREE, SAID, TWO_ROUNDS
from dpcore.privacy.shuffling.central_epsilon import upward
from dpcore.privacy.shuffling.condition import CONDITION_OF_PAGE
from dpcore.results.pages.pairs import pairs_of
from dpcore.results.pages.pictures import Picture, pictures_of
from dpcore.results.pages.query import Ask, Query, read_query
from dpcore.results.pages.trends import Number, Trend, trends
from dpcore.results.pages.vocabulary import factor_of, is_asked, name_of, what_is_kept, what_leaves
from dpcore.results.tables.largest_categories import by_category, confidence_of, listed
from dpcore.results.text.phrases import (
    FEW_VALUES,
    SHOWN,
    Line,
    in_words,
    is_share,
    is_silence,
    phrase,
    rank,
    read,
    records,
    rounded,
    separated,
    whose,
)

_OF_RUN = ("run", "attributes", "checks", "weights", "changes")
_OF_PAGE = ("sensitivities", "rejects", "spent", "labels")
_OF_ATTRIBUTE = ("frequencies", "numbers", "differences")
_DRAWN = ("density", "trends")
_TOLD = ("heaped", "efficiency", "assumption")  # checks that an attribute's section tells
_MARKED = ("yes", "perhaps")
_ASSUMED = (
    "If it holds, so do these intervals as often as they say, whatever the density; if not, nothing is known of them. Those of "
    "the reports alone take for granted that the density is as smooth as the reports show."
)
_ANY_LAW = (
    "These intervals hold as often as they say whatever the law of the values, jumps and single values included: nothing is "
    "assumed of it, but that sums over many reports are normal. They are longer for it."
)


@dataclass(frozen=True)
class Changes:
    """What has moved since an earlier round, and when that landed: rows, how many of groups were left out, remarks on all."""

    since: str
    landed_at: datetime
    lines: list[Line]
    left_out: int
    remarks: list[str]


@dataclass(frozen=True)
class Said:
    """Numbers once more, with intervals that hold for the laws that `sentence` names."""

    title: str
    lines: list[Line]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """What is shown of one attribute; remark: on whose numbers they are, where they are not everyone's.

    selection, groups_selection: what holds for lists of the largest categories, of everyone and of groups; '' without one.
    """

    name: str
    title: str
    about: str
    remark: str
    stated: str
    pictures: list[Picture]
    frequencies: list[Line] = field(default_factory=list)
    frequencies_query: Query | None = None
    frequencies_interval: str = ""
    of_all: int = 0
    selection: str = ""
    groups_selection: str = ""
    numbers: list[Line] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    groups: list[Line] = field(default_factory=list)
    weighted: str = ""
    numbers_query: Query | None = None
    differences: list[Line] = field(default_factory=list)
    differences_left_out: int = 0
    differences_query: Query | None = None
    confidence: str = ""
    rounds: int = 0
    trends: dict[Number, Trend] = field(default_factory=dict)
    trends_query: Query | None = None

    @property
    def grouped_by(self) -> str:
        """The one attribute that makes the groups; '' where there are several, which the groups then name."""
        others = {line.group.partition(": ")[0] for line in self.groups}
        return others.pop() if len(others) == 1 else ""

    @property
    def lines(self) -> list[Line]:
        """Every number, everyone's before groups'."""
        said = (line for one in self.said for line in one.lines)
        return [*self.frequencies, *self.numbers, *said, *self.groups]

    @property
    def has_truth(self) -> bool:
        return any(line.truth for line in self.lines)


class NothingLanded(WarehouseError):
    """The warehouse is one, and no round has landed there yet."""


def find(ask: Ask, round_: str | None, scheme: str | None) -> str:
    """Return the run_id of the run that stands of a round, of the newest round where None is named.

    Raises NothingLanded where nothing has landed, and WarehouseError where there is no such round, or where several schemes
    have it and none is named.
    """
    landed = ask(read_query("landed").sql)
    if landed.empty:
        raise NothingLanded("the warehouse holds no landed round yet: run `ldpflow run` first")
    runs = landed if scheme is None else landed[landed["scheme"] == scheme]
    if runs.empty:
        names = ", ".join(sorted(landed["scheme"].unique()))
        raise WarehouseError(f"the warehouse has no round of scheme {scheme!r}; it has schemes {names}")
    if round_ is not None:
        rounds = sorted(runs["round"].unique())
        runs = runs[runs["round"] == round_]
        if runs.empty:
            names = ", ".join(rounds[-5:])
            raise WarehouseError(
                f"the warehouse has no landed round {round_!r}; the latest of {len(rounds)} are {names}"
            )
        if len(runs) > 1:
            names = ", ".join(sorted(runs["scheme"]))
            raise WarehouseError(f"round {round_} has landed for {len(runs)} schemes, {names}; name one with --scheme")
    return str(runs["run_id"].iloc[0])


def gather(ask: Ask, run_id: str) -> dict[str, Any]:
    """Return everything the template of a round needs, by name."""
    content = numbers_of(ask, run_id, drawn=True)
    queries = content["queries"] | {name: read_query(name, run_id=run_id) for name in _OF_PAGE}
    (spent,) = records(ask(queries["spent"].sql))
    return content | {
        "exposed": [_exposed(row) for row in records(ask(queries["sensitivities"].sql))],
        "labels": [in_words(row["label"]) for row in records(ask(queries["labels"].sql))],
        "published": _published(content["run"]),
        "spent": spent,
        "rejects": records(ask(queries["rejects"].sql)),
        "queries": queries,
        "rehearsal": content["run"]["source"] == "records" and content["run"]["randomness"] == "seeded",
    }


def numbers_of(ask: Ask, run_id: str, *, drawn: bool = False) -> dict[str, Any]:
    """Return what a terminal shows, too: the run and its numbers, what has changed, and checks, by name.

    drawn: with pictures and trends, and whose curves they are, which are asked for where somebody looks at them.
    """
    queries = {name: read_query(name, run_id=run_id) for name in _OF_RUN}
    (run,) = records(ask(queries["run"].sql))
    before = records(ask(read_query("previous", run_id=run_id).sql))
    previous = before[0] if before else None
    attributes = records(ask(queries["attributes"].sql))
    checks = records(ask(queries["checks"].sql))
    found = {check["name"]: check["detail"] for check in checks}
    told = [row | {check: found.get(f"{check}({row['attribute']})") for check in _TOLD} for row in attributes]
    sections = [_section(ask, run_id, previous, row, drawn) for row in told]
    weights = {row["attribute"]: _weighted(row) for row in records(ask(queries["weights"].sql))}
    return {
        "run": run,
        "title": in_words(run["scheme"]).capitalize(),
        "sections": [replace(section, weighted=weights.get(section.name, "")) for section in sections],
        "pairs": pairs_of(ask, run_id, attributes, run["canonical"]),
        "previous": previous,
        "changes": _changes(records(ask(queries["changes"].sql)), attributes),
        "checks": [_check(row) for row in checks],
        "promises": [_promise(row) for row in attributes],
        "total": _total(run),
        "queries": queries,
        "simulated": run["source"] == "simulated",
    }


def _section(ask: Ask, run_id: str, previous: dict[str, Any] | None, row: dict[str, Any], drawn: bool) -> Section:
    attribute, unit = row["attribute"], row["unit"]
    named = {"run_id": run_id, "attribute": attribute, "previous": previous["run_id"] if previous else ""}
    queries = {name: read_query(name, **named) for name in (*_OF_ATTRIBUTE, *(_DRAWN if drawn else ()))}
    answers = {query: ask(query.sql) for query in queries.values()}
    frequencies, numbers, differences, *curves = answers.values()
    said, numbers = numbers, numbers[~numbers["estimator"].isin(SAID)]
    everyone, shares = (rows[rows["given"] == ""] for rows in (numbers, frequencies))
    shown, among = listed(shares), listed(frequencies[frequencies["given"] != ""])
    of_groups = [read(one, unit) for one in records(by_category(among.rows))]
    lines = [read(one, unit) for one in _ranked(numbers)]
    compared = [read(one, unit) for one in _ranked(differences)]
    if len(compared) > SHOWN:
        compared = [line for line in compared if line.verdict in _MARKED]
    rounds, trend_of = trends(curves[1], unit) if drawn else (0, {})
    named_by = [rows["estimator"] for rows in (*curves[:1], frequencies, everyone)]
    estimators = sorted({name for rows in named_by for name in rows} - {*SAID})
    return Section(
        name=attribute,
        title=in_words(attribute).capitalize(),
        about=_about(row, estimators),
        remark=_remark(row, frequencies, numbers),
        stated=row["stated"],
        pictures=list(pictures_of(ask, named, answers, everyone, unit)) if drawn else [],
        frequencies=[read(one, unit) for one in records(shown.rows)],
        frequencies_query=queries["frequencies"],
        frequencies_interval=shown.interval,
        of_all=shown.categories,
        selection=shown.sentence,
        groups_selection=among.sentence,
        numbers=[line for line in lines if not line.group],
        said=_said(said, unit, row["assumption"]),
        groups=[*of_groups, *(line for line in lines if line.group)],
        numbers_query=queries["numbers"],
        differences=compared,
        differences_left_out=len(differences) - len(compared),
        differences_query=queries["differences"],
        confidence=confidence_of(pd.concat([frequencies["confidence"], numbers["confidence"]])),
        rounds=rounds,
        trends=trend_of,
        trends_query=queries.get("trends"),
    )


def _weighted(row: dict[str, Any]) -> str:
    """What weighted numbers are of, what they take for granted, and what weights cost."""
    by = " and ".join(in_words(label) for label in row["labels"].split(","))
    return (
        f"Weighted by {by}: of the population, whose shares by {by} are known. It is assumed that those who answered are, "
        f"within each, like those who did not. If all were alike, weights would make {row['reports']:,} reports worth "
        f"{row['effective_n']:,.0f} (design effect {row['design_effect']:.2f}); intervals count what labels explain."
    )


def _said(numbers: pd.DataFrame, unit: str, told: str | None) -> list[Said]:
    """The numbers whose intervals hold for the laws that the scheme names; told: what it assumes, and what is said of that."""
    assumption = f"{told[:1].upper()}{told[1:]}. {_ASSUMED}" if told else ""
    kinds = (
        (BIAS_AWARE, "assumed", "Numbers of a density as smooth as is assumed", assumption),
        (DISTRIBUTION_FREE, "any law", "Numbers whatever the law of the values", _ANY_LAW),
    )
    found = []
    for estimator, group, title, sentence in kinds:
        rows = numbers[numbers["estimator"] == estimator]
        if len(rows):
            lines = [replace(read(one, unit), group=group) for one in _ranked(rows)]
            found.append(Said(title, lines, sentence))
    return found


def _ranked(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows in the order in which people ask for functionals."""
    return sorted(records(frame), key=lambda row: rank(row["functional"]))


def _about(row: dict[str, Any], estimators: list[str]) -> str:
    bounds = ""
    if row["lower"] is not None:
        bounds = f"{separated(row['lower'])} to {separated(row['upper'])} {row['unit']}".strip()
    made = f"{name_of(row['mechanism'])} at ε = {row['stated']}"
    by = ", ".join(filter(None, map(name_of, estimators)))
    parts = bounds, f"{row['charges']:,} reports", made, by, row["heaped"], row["efficiency"]
    return " · ".join(part for part in parts if part)


def _remark(row: dict[str, Any], frequencies: pd.DataFrame, numbers: pd.DataFrame) -> str:
    """Whose numbers a number's are where silence is an answer, or the round follows another."""
    if numbers["estimator"].eq(TWO_ROUNDS).any():
        return "shares are of this round, numbers of it and the round that it follows"
    if row["lower"] is None or not is_silence(frequencies).any():
        return ""
    if len(frequencies) > 1:
        return "shares are of everyone, numbers of those who answered"
    return "all but the share of missing is of those who answered"


def _changes(rows: list[dict[str, Any]], attributes: list[dict[str, Any]]) -> list[Changes]:
    """The differences to each earlier round, the latest first: everyone's, and those of groups that may be more than chance.

    attributes: rows of `attributes`; of a number that has more than a few values, theirs are told where they differ alone.
    """
    units, changes = {row["attribute"]: row["unit"] for row in attributes}, []
    numbers = {row["attribute"] for row in attributes if row["lower"] is not None}
    for since in dict.fromkeys(row["since"] for row in rows):
        of_round = [row for row in rows if row["since"] == since]
        told = [read(row, units[row["attribute"]]) for row in _by_attribute(of_round, units, numbers)]
        shown = [line for line in told if not line.group or line.verdict in _MARKED]
        remarks = dict.fromkeys(row["reason"] for row in of_round if row["difference"] is not None and row["reason"])
        changes.append(Changes(since, of_round[0]["since_landed"], shown, len(told) - len(shown), list(remarks)))
    return changes


def _by_attribute(rows: list[dict[str, Any]], units: dict[str, str], numbers: set[str]) -> list[dict[str, Any]]:
    """In the scheme's order; of an attribute everyone's before groups', and as many shares as a table holds."""
    order = list(units)
    rows = sorted(rows, key=lambda row: (order.index(row["attribute"]), row["given"] != "", rank(row["functional"])))
    many = Counter(row["attribute"] for row in rows if is_share(row["functional"]))
    most = {name: 0 if name in numbers and count > FEW_VALUES else SHOWN for name, count in many.items()}
    shares: dict[str, int] = {}
    shown = []
    for row in rows:
        if is_share(row["functional"]):
            shares[row["attribute"]] = shares.get(row["attribute"], 0) + 1
            if shares[row["attribute"]] > most[row["attribute"]] and not row["differs"]:
                continue
        shown.append(row)
    return shown


def _check(row: dict[str, Any]) -> dict[str, Any]:
    name, _, inside = row["name"].removesuffix(")").partition("(")
    functional, _, given = inside.partition(" | ")
    subject = ", ".join(part for part in (in_words(functional), whose(given)) if part)
    return {
        "name": f"{in_words(name)} of {subject}" if subject else in_words(name),
        "passed": row["passed"],
        "observed": _short(row["observed"]),
        "threshold": _short(row["threshold"]),
        "detail": (row["detail"] or "").replace("<=", "≤").replace("e^epsilon", "e^ε").replace("epsilon", "ε"),
    }


def _exposed(row: dict[str, Any]) -> dict[str, str]:
    """How far one malicious report in a hundred moves a number at most; of shares, the one that it moves most."""
    unit = row["unit"] or ""
    wording = phrase(row["functional"], unit) if row["functional"] else phrase("frequency(any share)", unit)
    moved = wording.factor * row["moved"]
    return {
        "attribute": in_words(row["attribute"]).capitalize(),
        "number": wording.text,
        "moved": rounded(moved, abs(moved)),
        "unit": wording.unit_of_difference,
        "holds": "always" if row["is_exact"] else "to first order",
    }


def _short(value: float | None) -> str:
    return "" if value is None else f"{value + 0.0:.5g}".replace("-", "−")


def _promise(row: dict[str, Any]) -> dict[str, Any]:
    mechanism = row["mechanism"]
    return row | {
        "title": in_words(row["attribute"]).capitalize(),
        "mechanism": name_of(mechanism),
        "leaves": what_leaves(mechanism),
        "is_asked": is_asked(mechanism),
        "factor": factor_of(row["epsilon"]),
        "published": "–" if pd.isna(row["published_epsilon"]) else upward(row["published_epsilon"]),
        "kept": what_is_kept(row["certificate"]),
    }


def _total(run: dict[str, Any]) -> dict[str, str] | None:
    """The epsilon of one client in the round; None for a round that landed before schemes did."""
    if run["epsilon"] is None:
        return None
    return {
        "stated": run["stated"],
        "epsilon": f"{run['epsilon']:.4g}".replace("inf", "∞"),
        "factor": factor_of(run["epsilon"]),
    }


def _published(run: dict[str, Any]) -> str:
    """What publication tells, with its condition; '' where a round landed before that was asked."""
    if run["unpublished"] is None:
        return ""
    if run["unpublished"]:
        return f"For this round there is no smaller figure for those who see this page alone: {run['unpublished']}."
    return (
        f"Whoever sees nothing of it but what is published, this page, learns less of one person, who hides among "
        f"{run['published_crowd']:,} reports: ε = {upward(run['published_epsilon'])} of all answers together, but for δ = "
        f"{run['published_delta']:g}. That holds {CONDITION_OF_PAGE}."
    )
