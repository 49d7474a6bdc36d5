"""The results of an audit, and whether they are within the promises of the scheme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcore.audit.enumeration.loss import Finding, Loss
from dpcore.privacy.budget import Budget

if TYPE_CHECKING:  # the attacks simulate, which an exact audit does not need
    from dpcore.audit.attacks.averaging import Averaging
    from dpcore.audit.attacks.lower_bound import LowerBound
    from dpcore.audit.attacks.report_distribution import Faithfulness
    from dpcore.audit.publication import CentralGuarantee


@dataclass(frozen=True, kw_only=True)
class AttributeAudit:
    """The promise and the certified loss of one attribute.

    configuration: the integers that client and estimator use.  digest: SHA-256 of the configuration, the mechanism's name and
    epsilon, 64 hex digits.  measured: the lower bound from reports, None if no attack was run.  columns: those of a joint
    attribute, None for other attributes.
    """

    name: str
    mechanism: str
    configuration: Mapping[str, Any]
    digest: str
    promised: Budget
    finding: Finding
    measured: LowerBound | None = None
    columns: tuple[str, ...] | None = None

    @property
    def proven(self) -> bool:
        """Whether the exact loss is within the promise and there are no doubts."""
        return self.finding.loss.is_within(Loss.from_budget(self.promised)) and not self.finding.doubts

    @property
    def holds(self) -> bool:
        """Whether the promise is proven and reports do not contradict it."""
        return self.proven and not self.contradiction

    @property
    def contradiction(self) -> str:
        """A sentence if the lower bound from reports exceeds the promise, otherwise empty."""
        bound = self.measured
        if bound is None or bound.epsilon <= float(self.promised):
            return ""
        return (
            f"reports show an epsilon of at least {bound.epsilon:.4g}, above the promised {self.promised.text} ({bound.event}; "
            f"input cells {bound.values[0]} and {bound.values[1]})"
        )


@dataclass(frozen=True, kw_only=True)
class PairAudit:
    """The joint loss of the two reports of a pair, and the sum of their losses.

    spent: the sum of both reports' exact losses.  loss: the joint loss.
    """

    names: tuple[str, str]
    spent: Loss
    loss: Loss
    how: str

    @property
    def holds(self) -> bool:
        """Whether the joint loss is at most the sum of both losses."""
        return self.loss.is_within(self.spent)

    @property
    def words(self) -> str:
        """A sentence without its full stop."""
        verdict = "at most the sum of both losses" if self.holds else "MORE than the sum of both losses"
        return f"{' and '.join(self.names)} together: {self.loss.text}, {verdict}; {self.how}"


@dataclass(frozen=True, kw_only=True)
class SchemeAudit:
    """The promise of a scheme to a client for one round, and its certified loss.

    loss: the sum over attributes, whose draws are independent; if a client reports one unit, the largest sum of a unit, as the
    unit is drawn independently of the record.  averaging: the averaging attack.  faithfulness: tests of the reports'
    distribution.  published: central epsilon by shuffling of a round of the planned size.  All three are None if not computed.
    public: label -> number of its categories; no epsilon covers labels.  pairs: those with joint counts.
    """

    name: str
    digest: str
    canonical: str
    reporting: str
    promised: Budget
    loss: Loss
    attributes: tuple[AttributeAudit, ...]
    public: Mapping[str, int] = field(default_factory=dict)
    pairs: tuple[PairAudit, ...] = ()
    published: CentralGuarantee | None = None
    averaging: Averaging | None = None
    faithfulness: Faithfulness | None = None

    @property
    def proven(self) -> bool:
        """Whether the promises of all attributes and of the scheme are proven, and pairs add no loss."""
        whole = self.loss.is_within(Loss.from_budget(self.promised)) and all(pair.holds for pair in self.pairs)
        return whole and all(attribute.proven for attribute in self.attributes)

    @property
    def holds(self) -> bool:
        """Whether the promises are proven and no attack or test of reports contradicts them."""
        is_contradicted = any(attribute.contradiction for attribute in self.attributes)
        tests = (self.averaging, self.faithfulness)
        return self.proven and not is_contradicted and all(test is None or test.holds for test in tests)

    @property
    def broken(self) -> tuple[str, ...]:
        """The promises that are broken, each a sentence; empty if all hold."""
        sentences = []
        for attribute in self.attributes:
            if not attribute.finding.loss.is_within(Loss.from_budget(attribute.promised)):
                sentences.append(
                    f"{attribute.name} of {self.name} has epsilon = {float(attribute.finding.loss):.9g}, above the promised "
                    f"{attribute.promised.text} ({attribute.finding.worst})"
                )
            doubts = [*attribute.finding.doubts, *([attribute.contradiction] if attribute.contradiction else [])]
            sentences += [f"{attribute.name} of {self.name}: {doubt}" for doubt in doubts]
        sentences += [f"{self.name}: {pair.words}" for pair in self.pairs if not pair.holds]
        if self.averaging is not None and not self.averaging.holds:
            sentences.append(
                f"{self.name}: {self.averaging.changed} of {self.averaging.people} clients with a secret changed an answer "
                "although their value was the same; averaging over rounds reveals the value"
            )
        if self.faithfulness is not None and not self.faithfulness.holds:
            worst = self.faithfulness.strays[0]
            sentences.append(
                f"{self.name}: reports do not have the distribution of the scheme ({worst.statistic}: for a correct client the "
                f"p-value would be {worst.chance:.0e})"
            )
        if not sentences and not self.holds:
            sentences.append(
                f"{self.name} has epsilon = {float(self.loss):.9g} in total, above the promised {self.promised.text}"
            )
        return tuple(sentences)
