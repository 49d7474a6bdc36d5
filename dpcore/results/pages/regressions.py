"""The content of a page for regressions, queried from the warehouse."""

from __future__ import annotations

from dataclasses import replace

from dpcore.estimation.regression.design_matrix import LINEAR, LOGISTIC, MULTINOMIAL
from dpcore.results.pages.query import Ask, read_query
from dpcore.results.pages.relations import Relation
from dpcore.results.text.phrases import in_words, records, title_of
from dpcore.results.text.regression_phrases import outcome_of, read_estimate, read_tests, term_in_words

_ABOUT = {
    LOGISTIC: "Logistic regression, {reports:,} reports; odds of “{category}” against “{reference}”.",
    MULTINOMIAL: "Multinomial regression, {reports:,} reports; odds of each category against “{reference}”.",
    LINEAR: "Linear regression of the mean, {reports:,} reports.",
}
_ASSUMPTION = "The intervals assume that the model holds, and that estimates are normally distributed."


def regressions_of(ask: Ask, run_id: str) -> list[Relation]:
    """Return a section for every regression of a run."""
    query = read_query("regressions", run_id=run_id)
    rows = records(ask(query.sql))
    sections = []
    for name in dict.fromkeys(row["regression"] for row in rows):
        own = [row for row in rows if row["regression"] == name]
        estimates = [row for row in own if row["quantity"] in ("coefficient", "effect")]
        lines, kind = [read_estimate(row) for row in estimates], own[0]["kind"]
        texts = list(dict.fromkeys(line.text for line in lines))
        tests = read_tests(own)
        named = {key: title_of(outcome_of(own[0]), own[0][key] or "") for key in ("category", "reference")}
        references = ", ".join(map(term_in_words, own[0]["references"].split(" : ")))
        sections.append(
            Relation(
                name=f"regression-{name}",
                title=in_words(name),
                formula=own[0]["formula"],
                about=f"{_ABOUT[kind].format(**own[0] | named)} Reference: {references}." if kind else "",
                assumption=_ASSUMPTION,
                refused="; ".join(row["reason"] for row in own if row["reason"]),
                numbers=[] if kind == MULTINOMIAL else [replace(line, group="") for line in lines],
                along=sorted(lines, key=lambda line: texts.index(line.text)) if kind == MULTINOMIAL else [],
                tests=tests,
                summary=" ".join(tests),
                confidence=f"{100 * estimates[0]['confidence']:.4g} %" if estimates else "",
                second="category",
                query=query,
            )
        )
    return sections
