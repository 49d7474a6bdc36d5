"""When there is a second figure: what is seen must be a function of the multiset of reports, and of nothing else.

The figure is for an observer of what is published.  It is refused, with the reason, where something links a report to a person
or to other reports of that person, since then nobody hides in a crowd.  For anybody who sees reports (the collector's operator,
a thief of a disk) the local epsilon applies.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.errors import SchemeError

CONDITION = (
    "and raw reports are deleted, carry no token and are not memoized; against anyone who sees a report, only the local "
    "epsilon protects"
)
CONDITION_OF_PAGE = (
    "if reports are deleted, carry no token and have fresh noise; for anyone who sees a report it is the ε above"
)
FEWEST = 50  # reports of a group that published results distinguish; with fewer there is no figure


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What is true of a round beside its scheme.

    tokens: whether any report has one. memoized: whether clients give a remembered answer again. keeps_reports: whether files
    of reports stay. in_order: whether what is published shows how it grew as reports came. least_cell: the fewest reports in
    any group that published results distinguish, None where there are no groups. delta: what the scheme's own noise leaves
    open.
    """

    tokens: bool = False
    memoized: bool = False
    keeps_reports: bool = False
    in_order: bool = False
    least_cell: int | None = None
    delta: float = 0.0

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why there is no second figure, each a clause; none where there is one.

        >>> Publication(tokens=True).refusals
        ('reports carry tokens, which link those of one client',)
        """
        few = self.least_cell is not None and self.least_cell < FEWEST
        reasons = {
            "reports carry tokens, which link those of one client": self.tokens,
            "answers are remembered, so that a person's report comes again, and a rare one is known by it": self.memoized,
            "files of reports are kept, and they show more than what is published": self.keeps_reports,
            "what is published shows the order in which reports came, so that a report hides among few": self.in_order,
            f"published results distinguish a group of {self.least_cell} reports, fewer than {FEWEST}": few,
            "noise is Gaussian, whose epsilon holds but for a delta of its own": self.delta > 0,
        }
        return tuple(reason for reason, holds in reasons.items() if holds)

    def require(self) -> None:
        """Raise SchemeError with the reasons where there is no second figure."""
        if self.refusals:
            raise SchemeError(
                "publication has no epsilon below the local one: "
                + "; ".join(self.refusals)
                + ". Publish sums of reports "
                "without tokens and memory, delete the reports, and merge small groups"
            )
