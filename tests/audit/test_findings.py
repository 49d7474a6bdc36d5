"""What forbids a signature: a loss beyond the promise, a doubt, what reports show, their law, and asking again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpcore.audit import SchemeAudit, audit_mechanism, audit_scheme
from dpcore.audit.attacks.averaging import Averaging
from dpcore.audit.attacks.lower_bound import LowerBound
from dpcore.audit.attacks.report_distribution import Faithfulness, Strays
from dpcore.audit.enumeration.additive_noise import largest_square
from dpcore.mechanisms import DyadicWave, SquareWave
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from tests.helpers.planted import lies
from tests.helpers.schemes import QUESTION


@pytest.fixture(scope="module")
def audit() -> SchemeAudit:
    """Of an honest scheme, whose one attribute promises 2."""
    return audit_scheme(Scheme.from_toml(QUESTION))


def of_attribute(audit: SchemeAudit, **changes: Any) -> SchemeAudit:
    return replace(audit, attributes=(replace(audit.attributes[0], **changes),))


def shown(epsilon: float) -> LowerBound:
    return LowerBound(epsilon=epsilon, confidence=0.99, trials=1000, hits=(9, 1), values=(0, 1), event="what it says")


def test_what_reports_show_beyond_the_promise_forbids_it(audit: SchemeAudit, subtests: pytest.Subtests) -> None:
    for epsilon, holds in [(1.99, True), (2.01, False), (3.9, False)]:
        with subtests.test(epsilon=epsilon, holds=holds):
            found = of_attribute(audit, measured=shown(epsilon))
            assert (found.holds, bool(found.broken)) == (holds, not holds)
            assert holds or "reports show an epsilon of at least" in found.broken[0]


def test_a_doubt_forbids_it(audit: SchemeAudit) -> None:
    found = of_attribute(audit, finding=replace(audit.attributes[0].finding, doubts=("something is odd",)))
    assert not found.holds
    assert found.broken[0].endswith("something is odd")


def test_what_strays_forbids_it(audit: SchemeAudit) -> None:
    for strays in ((), (Strays("the category of home", 1e-20),)):
        found = replace(audit, faithfulness=Faithfulness(4, 1000, strays))
        assert (found.holds, bool(found.broken)) == (not strays, bool(strays))
    assert "reports do not have the distribution of the scheme (the category of home" in found.broken[0]


def test_what_asking_again_tells_forbids_it(audit: SchemeAudit, subtests: pytest.Subtests) -> None:
    for changed, last, holds in [(0, 0.8, True), (1, 0.8, False), (0, 0.81, False)]:
        with subtests.test(changed=changed, last=last, holds=holds):
            again = Averaging(people=20, right=(0.8, last), fresh=(0.8, 0.9), changed=changed)
            found = replace(audit, averaging=again)
            assert (found.holds, bool(found.broken)) == (holds, not holds)


def test_a_whole_beyond_its_promise_forbids_it_though_every_attribute_holds(audit: SchemeAudit) -> None:
    found = replace(audit, loss=audit.loss + audit.loss)
    assert not found.holds
    assert "in total" in found.broken[0]


@pytest.mark.parametrize("kind", [SquareWave, DyadicWave])
def test_code_that_lists_a_kinder_channel_than_its_integers_is_found(kind: Any) -> None:
    class Kinder(kind):  # type: ignore[misc]
        certificate = lies

        def channel(self) -> tuple[np.ndarray, ...]:
            return tuple(np.full_like(weights, 1) for weights in super().channel())

    honest = kind.design(Budget.parse("1"), cells=16)
    mechanism = Kinder(*(getattr(honest, name) for name in honest.__dataclass_fields__))
    found = audit_mechanism(mechanism)
    assert found.doubts
    assert found.loss == audit_mechanism(honest).loss
    assert not audit_mechanism(honest).doubts


def test_the_farthest_rows_are_found_wherever_they_are() -> None:
    """Beside all pairs, one by one; rows that are far apart on the circle have no function in common."""
    generator = np.random.default_rng(1)
    for _ in range(20):
        table = np.zeros((16, 8), dtype=np.int64)
        for row in range(16):
            table[row, row // 2] = generator.integers(-9, 10)
        squares = ((table[:, None] - table[None]) ** 2).sum(axis=2)
        found, (first, second) = largest_square(table)
        assert found == squares.max() == squares[first, second]
