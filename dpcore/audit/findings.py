"""What an audit finds of a scheme, and whether it keeps what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcore.audit.enumeration.loss import Loss
from dpcore.privacy.budget import Budget

if TYPE_CHECKING:  # the attacks simulate, which an exact audit does not need
    from dpcore.audit.attacks.averaging import Averaging
    from dpcore.audit.attacks.lower_bound import LowerBound
    from dpcore.audit.attacks.report_distribution import Faithfulness
    from dpcore.audit.publication import Crowd


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What enumeration found: the exact loss, how every case was seen, and a case that attains it.

    sensitivity: for additive noise the largest l1 distance of two rows of each table, lattice units.
    doubts: anything else that forbids a signature, each a sentence.
    """

    kept: Loss
    how: str
    worst: str
    sensitivity: tuple[int, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AttributeAudit:
    """What one attribute promises and what it keeps.

    configuration: the integers both sides use.  digest: their SHA-256, with the mechanism's name and epsilon, 64 hex digits.
    measured: what reports alone show, None where nobody has looked.  of: the columns that it asks together, where it does.
    """

    name: str
    mechanism: str
    configuration: Mapping[str, Any]
    digest: str
    promised: Budget
    found: Finding
    measured: LowerBound | None = None
    of: tuple[str, ...] | None = None

    @property
    def proven(self) -> bool:
        """Whether the loss is within the promise, exactly, and nothing forbids a signature."""
        return self.found.kept.is_within(Loss.of(self.promised)) and not self.found.doubts

    @property
    def holds(self) -> bool:
        """Whether the promise is proven, and reports do not belie it."""
        return self.proven and not self.belied

    @property
    def belied(self) -> str:
        """What reports show beyond the promise, a sentence; empty where they do not."""
        bound = self.measured
        if bound is None or bound.epsilon <= float(self.promised):
            return ""
        return (
            f"reports show an epsilon of at least {bound.epsilon:.4g} where {self.promised.text} is promised ({bound.event}; "
            f"input cells {bound.values[0]} and {bound.values[1]})"
        )


@dataclass(frozen=True, kw_only=True)
class PairAudit:
    """What the two reports of a pair lose together, beside what they lose one by one.

    spent: the sum of both reports' exact losses.  kept: the loss of both together.
    """

    names: tuple[str, str]
    spent: Loss
    kept: Loss
    how: str

    @property
    def holds(self) -> bool:
        """Whether both reports together lose no more than one by one."""
        return self.kept.is_within(self.spent)

    @property
    def words(self) -> str:
        """A sentence without its full stop."""
        verdict = "nothing beyond what both reports spend already" if self.holds else "MORE than both reports spend"
        return f"{' and '.join(self.names)} together: {self.kept.text}, {verdict}; {self.how}"


@dataclass(frozen=True, kw_only=True)
class SchemeAudit:
    """What a scheme promises a client for one round, and what it keeps.

    kept: the sum over attributes, whose draws are independent, or where a client reports one unit the largest of the units'
    sums; the unit is drawn without looking at a record.  averaging: what asking again and again finds.  faithfulness: whether
    reports have the law that they should have.  published: what a round of the planned size tells whoever sees its results
    alone.  All three are None where nobody has looked.  in_clear: label -> how many categories it has; what it tells is
    promised to nobody.  pairs: of which joint counts are kept.
    """

    name: str
    digest: str
    canonical: str
    reporting: str
    promised: Budget
    kept: Loss
    attributes: tuple[AttributeAudit, ...]
    in_clear: Mapping[str, int] = field(default_factory=dict)
    pairs: tuple[PairAudit, ...] = ()
    published: Crowd | None = None
    averaging: Averaging | None = None
    faithfulness: Faithfulness | None = None

    @property
    def proven(self) -> bool:
        """Whether every attribute's promise and that of the whole are proven, and pairs spend nothing of their own."""
        whole = self.kept.is_within(Loss.of(self.promised)) and all(pair.holds for pair in self.pairs)
        return whole and all(attribute.proven for attribute in self.attributes)

    @property
    def holds(self) -> bool:
        """Whether they are proven, and neither reports, their law nor asking again belie them."""
        belied = any(attribute.belied for attribute in self.attributes)
        looked = (self.averaging, self.faithfulness)
        return self.proven and not belied and all(found is None or found.holds for found in looked)

    @property
    def broken(self) -> tuple[str, ...]:
        """What does not hold, each a sentence; empty where everything does."""
        sentences = []
        for attribute in self.attributes:
            if not attribute.found.kept.is_within(Loss.of(attribute.promised)):
                sentences.append(
                    f"{attribute.name} of {self.name} keeps epsilon = {float(attribute.found.kept):.9g} where "
                    f"{attribute.promised.text} is promised ({attribute.found.worst})"
                )
            doubts = [*attribute.found.doubts, *([attribute.belied] if attribute.belied else [])]
            sentences += [f"{attribute.name} of {self.name}: {doubt}" for doubt in doubts]
        sentences += [f"{self.name}: {pair.words}" for pair in self.pairs if not pair.holds]
        if self.averaging is not None and not self.averaging.holds:
            sentences.append(
                f"{self.name}: {self.averaging.changed} of {self.averaging.people} clients with a secret, asked again, gave "
                "other answers though nothing had changed; their answers average out"
            )
        if self.faithfulness is not None and not self.faithfulness.holds:
            worst = self.faithfulness.strays[0]
            sentences.append(
                f"{self.name}: clients do not draw as the scheme says ({worst.what}: an honest client's would look so with a "
                f"chance of {worst.chance:.0e})"
            )
        if not sentences and not self.holds:
            sentences.append(
                f"{self.name} keeps epsilon = {float(self.kept):.9g} in total where {self.promised.text} is promised"
            )
        return tuple(sentences)
