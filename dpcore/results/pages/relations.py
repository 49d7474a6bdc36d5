"""Content of a page that several attributes share: two attributes together, a regression on labels, or an experiment."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpcore.results.pages.pictures import Picture
from dpcore.results.pages.query import Query
from dpcore.results.text.phrases import Line

_HEADLINE_PARTS = 3  # conditional means in the one-line summary


@dataclass(frozen=True, kw_only=True)
class Relation:
    """The content for a pair of attributes, a regression or an experiment.

    numbers: estimates for all clients concerned.  along: estimates by group, such as the parts of the second attribute.
    tests: sentences.  assumption: of the intervals.  refused: why no estimate is available; '' otherwise.
    formula: of a regression.  rows: of an experiment, by column.  summary: in place of the headline; '' for none.
    """

    name: str
    title: str
    about: str
    assumption: str
    refused: str
    numbers: list[Line]
    along: list[Line]
    tests: list[str]
    confidence: str
    second: str
    query: Query
    formula: str = ""
    summary: str = ""
    rows: list[dict[str, str]] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    frequencies: list[Line] = field(default_factory=list)  # as in an attribute's section, which shares a template

    @property
    def headline(self) -> str:
        """A one-line summary: the first statistic with its interval, conditional means, or the tests."""
        if self.refused:
            return f"refused: {self.refused}"
        if self.summary:
            return self.summary
        means = [line for line in self.along if line.text.startswith("mean ") and line.estimate][:_HEADLINE_PARTS]
        if self.numbers:
            return f"{self.numbers[0].text} {_with_interval(self.numbers[0])}"
        if means:
            return f"{means[0].text}: " + ", ".join(f"{line.group} {_with_interval(line)}" for line in means)
        return "; ".join(sentence.rstrip(".") for sentence in self.tests)


def _with_interval(line: Line) -> str:
    return f"{line.value} ({line.interval})" if line.estimate else f"refused: {line.note}"
