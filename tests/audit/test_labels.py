"""Labels in an audit: named as what no epsilon covers, and clients that hide more in them, or heed them, are found out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpcore import audit
from dpcore._random import seeded
from dpcore.audit.attacks.averaging import averaging
from dpcore.audit.attacks.report_distribution import faithfulness
from dpcore.client import Client
from dpcore.protocol.records import blocks
from dpcore.protocol.scheme import Scheme
from tests.helpers.audits import TOGETHER, on
from tests.protocol.test_labels import LABELS

TEXT = """
name = "seen"
[attributes.pet]
type = "categorical"
categories = ["cat", "dog", "fish"]
epsilon = 1
[attributes.income]
type = "numeric"
lower = 0
upper = 1
epsilon = 1
mechanism = "dyadic_wave"
cells = 64
levels = 3
"""
SCHEME = Scheme.from_toml(TEXT + LABELS)
TRIALS = 40_000
Encode = Callable[..., dict[str, np.ndarray]]


def test_honest_clients_with_labels_follow_the_law() -> None:
    found = faithfulness(SCHEME, seeded(1), trials=TRIALS)
    assert found.holds, found.words
    attack = averaging(SCHEME, seeded(2), people=20)
    assert attack.holds
    assert attack.changed == 0


def _labels(patch: pytest.MonkeyPatch, changed: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]) -> None:
    """Let labels be what `changed` makes of a record's cells, on both paths."""
    honest = Scheme.encode

    def encode(self: Scheme, records: Any, first: int = 0) -> dict[str, np.ndarray]:
        cells = honest(self, records, first)
        return cells | changed(cells)

    patch.setattr(Scheme, "encode", encode)


def the_label_has_the_incomes_bin(patch: pytest.MonkeyPatch) -> None:
    _labels(patch, lambda cells: {"region": cells["income"] * 3 // 256})


def the_label_is_the_pet(patch: pytest.MonkeyPatch) -> None:
    _labels(patch, lambda cells: {"region": cells["pet"]})


def few_labels_say_whether_there_is_a_dog(patch: pytest.MonkeyPatch) -> None:
    _labels(patch, lambda cells: {"sex": np.where(cells["region"] == 2, cells["pet"] == 1, cells["sex"]).astype(int)})


def labels_change_places(patch: pytest.MonkeyPatch) -> None:
    _labels(patch, lambda cells: {"region": (cells["region"] + 1) % 3})


def the_level_is_the_labels(patch: pytest.MonkeyPatch) -> None:
    honest = blocks._privatize_block

    def privatize(scheme: Scheme, cells: Any, random: Any, block: int) -> Any:
        sent = honest(scheme, cells, random, block)
        level = np.where(cells["sex"] == 1, 0, sent.of("income").reports.level).astype(np.uint8)
        said = scheme.attributes["income"].mechanism.privatize(cells["income"], random, level)
        return type(sent)(
            sent.digest, sent.n, {**sent.answers, "income": type(sent.of("pet"))(np.arange(sent.n), said)}
        )

    patch.setattr(blocks, "_privatize_block", privatize)


def pets_of_the_north_are_not_hidden(patch: pytest.MonkeyPatch) -> None:
    honest = Client.report

    def report(self: Client, record: Any, round_: str = "") -> Any:
        sent = honest(self, record, round_)
        if record["Region"] == "north":
            sent.answers["pet"] = (0, (SCHEME.attributes["pet"].categories.index(record["pet"]),))  # type: ignore[index]
        return sent

    patch.setattr(Client, "report", report)


@pytest.mark.parametrize(
    "dishonest",
    [
        pytest.param(the_label_has_the_incomes_bin, marks=pytest.mark.slow),  # seen as the few labels are
        pytest.param(the_label_is_the_pet, marks=pytest.mark.slow),
        few_labels_say_whether_there_is_a_dog,
        pytest.param(labels_change_places, marks=pytest.mark.slow),
        the_level_is_the_labels,
        pets_of_the_north_are_not_hidden,
    ],
)
def test_who_hides_more_in_a_label_or_heeds_it_is_found(
    dishonest: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the path of records together, at a thirtieth of the cost, but who does so where each client reports by itself."""
    dishonest(monkeypatch)
    if dishonest is not pets_of_the_north_are_not_hidden:
        on(TOGETHER, monkeypatch)
    assert not faithfulness(SCHEME, seeded(3), trials=TRIALS).holds


def test_a_certificate_names_what_epsilon_does_not_cover() -> None:
    found, plain = (audit.audit_scheme(Scheme.from_toml(text)) for text in (TEXT + LABELS, TEXT))
    told = "public, not covered by epsilon: region (3 categories), sex (2 categories)"
    assert told in audit.to_markdown([found], "2026-11-24", "1")
    assert "not covered" not in audit.to_markdown([plain], "2026-11-24", "1")
    (as_json,) = json.loads(audit.to_json([found], "2026-11-24", "1"))["certificates"]
    assert as_json["in_clear"] == {"region": 3, "sex": 2}
    (whole,) = [row for row in audit.check_rows(found, "2026-11-24") if row["name"] == "exact_epsilon"]
    assert whole["detail"].endswith("; public: region (3 categories), sex (2 categories)")
    assert (found.loss, found.promised.text) == (plain.loss, plain.promised.text)
