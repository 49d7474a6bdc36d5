"""The content of a round's page, queried from the warehouse; every table and picture carries its SQL."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pandas as pd

from dpcore.errors import WarehouseError
from dpcore.estimation.functional_estimate import BIAS_AWARE, DISTRIBUTION_FREE, REPEATED, TWO_ROUNDS
from dpcore.privacy.shuffling.central_epsilon import CONDITION_OF_PAGE, upward
from dpcore.results.pages.pictures import Picture, pictures_of
from dpcore.results.pages.query import Ask, NothingLanded, Query, read_query
from dpcore.results.pages.relations import experiments_of, pairs_of, regressions_of
from dpcore.results.pages.trends import Number, Trend, trends
from dpcore.results.pages.vocabulary import certified_loss, factor_of, is_asked, name_of, what_leaves
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
    title_of,
    whose,
)

_OF_RUN = ("run", "attributes", "checks", "weights", "changes")
_OF_PAGE = ("sensitivities", "rejects", "spent", "labels")
_OF_ATTRIBUTE = ("frequencies", "numbers", "differences")
_DRAWN = ("density", "trends")
_SECTION_CHECKS = ("heaped", "efficiency", "visible", "assumption")  # whose details an attribute's section shows
_MARKED = ("yes", "perhaps")
_ASSUMED = (
    "Under this assumption the intervals have their stated coverage for every density; otherwise their coverage is unknown. "
    "The other intervals assume that the density is as smooth as the reports suggest."
)
_ANY_DISTRIBUTION = (
    "These intervals have their stated coverage for every distribution of the values, including jumps and point masses. They "
    "only assume that sums over many reports are normally distributed. They are longer."
)


@dataclass(frozen=True)
class Changes:
    """Changes since an earlier round: its landing time, the listed rows, the number of omitted rows, and remarks."""

    since: str
    landed_at: datetime
    lines: list[Line]
    left_out: int
    remarks: list[str]


@dataclass(frozen=True)
class Alternative:
    """The same functionals with alternative intervals, which are valid under the conditions in `sentence`."""

    title: str
    lines: list[Line]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """The content for one attribute; remark: the population of the estimates, if it is not all clients.

    selection, groups_selection: remarks on lists of the largest categories, for all clients and for groups; '' without one.
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
    alternatives: list[Alternative] = field(default_factory=list)
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
        """The attribute that defines the groups; '' if there are several."""
        others = {line.group.partition(": ")[0] for line in self.groups}
        return others.pop() if len(others) == 1 else ""

    @property
    def lines(self) -> list[Line]:
        """All estimates: those for all clients, then those for groups."""
        alternatives = (line for part in self.alternatives for line in part.lines)
        return [*self.frequencies, *self.numbers, *alternatives, *self.groups]

    @property
    def is_smoothed(self) -> bool:
        return any(trend.points for trend in self.trends.values())

    @property
    def has_truth(self) -> bool:
        return any(line.truth for line in self.lines)


def find(ask: Ask, round_: str | None, scheme: str | None) -> str:
    """Return the run_id of the current run of a round; None is the newest round.

    Raises NothingLanded if no round has landed, and WarehouseError if the round does not exist or is ambiguous because several
    schemes have it.
    """
    landed = ask(read_query("landed").sql)
    if landed.empty:
        raise NothingLanded
    runs = landed if scheme is None else landed[landed["scheme"] == scheme]
    if runs.empty:
        names = ", ".join(sorted(landed["scheme"].unique()))
        raise WarehouseError(f"warehouse: no round of scheme {scheme!r}; its schemes are {names}")
    if round_ is not None:
        rounds = sorted(runs["round"].unique())
        runs = runs[runs["round"] == round_]
        if runs.empty:
            names = ", ".join(rounds[-5:])
            raise WarehouseError(f"warehouse: no landed round {round_!r}; the latest of its {len(rounds)} are {names}")
        if len(runs) > 1:
            names = ", ".join(sorted(runs["scheme"]))
            raise WarehouseError(f"round {round_}: it has landed for {len(runs)} schemes, {names}; add --scheme")
    return str(runs["run_id"].iloc[0])


def gather(ask: Ask, run_id: str) -> dict[str, Any]:
    """Return the content of the template of a round, by name."""
    content = numbers_of(ask, run_id, drawn=True)
    queries = content["queries"] | {name: read_query(name, run_id=run_id) for name in _OF_PAGE}
    (spent,) = records(ask(queries["spent"].sql))
    return content | {
        "exposed": [_exposed(row) for row in records(ask(queries["sensitivities"].sql))],
        "labels": [title_of(row["label"]) for row in records(ask(queries["labels"].sql))],
        "published": _published(content["run"]),
        "spent": spent,
        "rejects": records(ask(queries["rejects"].sql)),
        "queries": queries,
        "rehearsal": content["run"]["source"] == "records" and content["run"]["randomness"] == "seeded",
    }


def numbers_of(ask: Ask, run_id: str, *, drawn: bool = False) -> dict[str, Any]:
    """Return the content that terminal output needs as well, by name: the run, its estimates, changes and checks.

    drawn: whether to include pictures and trends.
    """
    queries = {name: read_query(name, run_id=run_id) for name in _OF_RUN}
    (run,) = records(ask(queries["run"].sql))
    previous = next(iter(records(ask(read_query("previous", run_id=run_id).sql))), None)
    attributes = records(ask(queries["attributes"].sql))
    checks = records(ask(queries["checks"].sql))
    details = {check["name"]: check["detail"] for check in checks}
    rows = [
        row | {check: details.get(f"{check}({row['attribute']})") for check in _SECTION_CHECKS} for row in attributes
    ]
    sections = [_section(ask, run_id, previous, row, drawn) for row in rows]
    weights = {row["attribute"]: _weighted(row) for row in records(ask(queries["weights"].sql))}
    return {
        "run": run,
        "title": in_words(run["scheme"]),
        "sections": [replace(section, weighted=weights.get(section.name, "")) for section in sections],
        "pairs": pairs_of(ask, run_id, attributes, run["canonical"]),
        "experiments": experiments_of(ask, run_id),
        "regressions": regressions_of(ask, run_id),
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
    alternatives, numbers = numbers, numbers[~numbers["estimator"].isin(REPEATED)]
    everyone, shares = (rows[rows["given"] == ""] for rows in (numbers, frequencies))
    shown, among = listed(shares), listed(frequencies[frequencies["given"] != ""])
    of_groups = [read(row_, unit) for row_ in records(by_category(among.rows))]
    lines = [read(row_, unit) for row_ in _ranked(numbers)]
    compared = [read(row_, unit) for row_ in _ranked(differences)]
    if len(compared) > SHOWN:
        compared = [line for line in compared if line.verdict in _MARKED]
    rounds, trend_of = trends(curves[1], unit) if drawn else (0, {})
    named_by = [rows["estimator"] for rows in (*curves[:1], frequencies, everyone)]
    estimators = sorted({name for rows in named_by for name in rows} - {*REPEATED})
    return Section(
        name=attribute,
        title=title_of(attribute),
        about=_about(row, estimators),
        remark=_remark(row, frequencies, numbers),
        stated=row["stated"],
        pictures=list(pictures_of(ask, named, answers, everyone, unit)) if drawn else [],
        frequencies=[read(row_, unit) for row_ in records(shown.rows)],
        frequencies_query=queries["frequencies"],
        frequencies_interval=shown.interval,
        of_all=shown.categories,
        selection=shown.sentence,
        groups_selection=among.sentence,
        numbers=[line for line in lines if not line.group],
        alternatives=_alternatives(alternatives, unit, row["assumption"]),
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
    """A sentence on weighted estimates: their population, assumption and design effect."""
    by = " and ".join(title_of(label) for label in row["labels"].split(","))
    return (
        f"Weighted to the population totals of {by}. This assumes that respondents and nonrespondents within a category "
        f"of {by} have the same distribution. Effective sample size {row['effective_n']:,.0f} of {row['reports']:,} reports "
        f"(design effect {row['design_effect']:.2f}) if all categories have the same distribution; the intervals account for "
        "differences between categories."
    )


def _alternatives(numbers: pd.DataFrame, unit: str, detail: str | None) -> list[Alternative]:
    """Functionals with alternative intervals; detail: that of the check of the scheme's assumption."""
    assumption = f"{detail[:1].upper()}{detail[1:]}. {_ASSUMED}" if detail else ""
    kinds = (
        (BIAS_AWARE, "assumed smoothness", "Estimates under the assumed smoothness", assumption),
        (DISTRIBUTION_FREE, "distribution-free", "Distribution-free estimates", _ANY_DISTRIBUTION),
    )
    alternatives = []
    for estimator, group, title, sentence in kinds:
        rows = numbers[numbers["estimator"] == estimator]
        if len(rows):
            lines = [replace(read(row, unit), group=group) for row in _ranked(rows)]
            alternatives.append(Alternative(title, lines, sentence))
    return alternatives


def _ranked(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows in the display order of functionals."""
    return sorted(records(frame), key=lambda row: rank(row["functional"]))


def _about(row: dict[str, Any], estimators: list[str]) -> str:
    bounds = ""
    if row["lower"] is not None:
        bounds = f"{separated(row['lower'])} to {separated(row['upper'])} {row['unit']}".strip()
    mechanism = f"{name_of(row['mechanism'])} at ε = {row['stated']}"
    by = ", ".join(filter(None, map(name_of, estimators)))
    parts = bounds, f"{row['charges']:,} reports", mechanism, by, row["heaped"], row["efficiency"], row["visible"]
    return " · ".join(part for part in parts if part)


def _remark(row: dict[str, Any], frequencies: pd.DataFrame, numbers: pd.DataFrame) -> str:
    """The population of a numeric attribute's estimates, with item nonresponse or in a follow-up round."""
    if numbers["estimator"].eq(TWO_ROUNDS).any():
        return "proportions are from this round, other estimates from this round and its first stage"
    if row["lower"] is None or not is_silence(frequencies).any():
        return ""
    if len(frequencies) > 1:
        return "proportions are of all clients, other estimates of those who answered"
    return "all estimates except the proportion of missing are of those who answered"


def _changes(rows: list[dict[str, Any]], attributes: list[dict[str, Any]]) -> list[Changes]:
    """The changes since each earlier round, latest first: those for all clients, and those of groups that are marked.

    attributes: rows of `attributes`.  Proportions of a numeric attribute with many values are listed only if they differ.
    """
    units, changes = {row["attribute"]: row["unit"] for row in attributes}, []
    numbers = {row["attribute"] for row in attributes if row["lower"] is not None}
    for since in dict.fromkeys(row["since"] for row in rows):
        of_round = [row for row in rows if row["since"] == since]
        lines = [read(row, units[row["attribute"]]) for row in _by_attribute(of_round, units, numbers)]
        shown = [line for line in lines if not line.group or line.verdict in _MARKED]
        remarks = dict.fromkeys(row["reason"] for row in of_round if row["difference"] is not None and row["reason"])
        changes.append(Changes(since, of_round[0]["since_landed"], shown, len(lines) - len(shown), list(remarks)))
    return changes


def _by_attribute(rows: list[dict[str, Any]], units: dict[str, str], numbers: set[str]) -> list[dict[str, Any]]:
    """Rows in the scheme's order, all clients before groups, with as many proportions as a table shows."""
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
    functional, _, group = inside.partition(" | ")
    subject = ", ".join(part for part in (title_of(functional), whose(group)) if part)
    return {
        "name": f"{in_words(name)} of {subject}" if subject else in_words(name),
        "passed": row["passed"],
        "observed": _short(row["observed"]),
        "threshold": _short(row["threshold"]),
        "detail": (row["detail"] or "").replace("<=", "≤").replace("e^epsilon", "e^ε").replace("epsilon", "ε"),
    }


def _exposed(row: dict[str, Any]) -> dict[str, str]:
    """Largest shift of an estimate by 1 % malicious reports; for proportions, the most sensitive one."""
    unit = row["unit"] or ""
    wording = phrase(row["functional"], unit) if row["functional"] else phrase("frequency(any share)", unit)
    moved = wording.factor * row["moved"]
    return {
        "attribute": title_of(row["attribute"]),
        "number": wording.text,
        "moved": rounded(moved, abs(moved)),
        "unit": wording.unit_of_difference,
        "bound": "exact" if row["is_exact"] else "first order",
    }


def _short(value: float | None) -> str:
    return "" if value is None else f"{value + 0.0:.5g}".replace("-", "−")


def _promise(row: dict[str, Any]) -> dict[str, Any]:
    mechanism = row["mechanism"]
    return row | {
        "title": title_of(row["attribute"]),
        "mechanism": name_of(mechanism),
        "leaves": what_leaves(mechanism),
        "is_asked": is_asked(mechanism),
        "factor": factor_of(row["epsilon"]),
        "published": "–" if pd.isna(row["published_epsilon"]) else upward(row["published_epsilon"]),
        "certified": certified_loss(row["certificate"]),
    }


def _total(run: dict[str, Any]) -> dict[str, str] | None:
    """The epsilon of one client in the round; None for a round of a version that did not store schemes."""
    if run["epsilon"] is None:
        return None
    return {
        "stated": run["stated"],
        "epsilon": f"{run['epsilon']:.4g}".replace("inf", "∞"),
        "factor": factor_of(run["epsilon"]),
    }


def _published(run: dict[str, Any]) -> str:
    """The central epsilon by shuffling with its condition; '' for a round of a version without it."""
    if run["unpublished"] is None:
        return ""
    if run["unpublished"]:
        return f"No central epsilon by shuffling is available for this round: {run['unpublished']}."
    return (
        f"Central epsilon by shuffling of all answers: (ε = {upward(run['published_epsilon'])}, δ = "
        f"{run['published_delta']:g}), with {run['published_crowd']:,} reports in the smallest group that published results "
        f"distinguish. It is the privacy loss to somebody who sees this page only, {CONDITION_OF_PAGE}."
    )
