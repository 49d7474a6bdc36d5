from __future__ import annotations

import math

import pytest

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.privacy.budget import Budget
from dpcore.protocol.syntax.mechanism_design import LARGEST_REPORT, choose, oracles

GRID = [(k, e) for k in (2, 3, 5, 8, 16, 64, 300, 1024, 4096, 10_000) for e in ("0.1", "0.5", "1", "2", "4", "6")]


def published(k: int, epsilon: float) -> dict[str, float]:
    """n Var at frequency 0 as the papers print it, in floats, whatever the size of a report."""
    e = math.exp(epsilon)
    w = max(1, round(k / (e + 1)))
    p = w * e / (w * e + k - w)
    q = ((w - 1) * p + w * (1 - p)) / (k - 1)
    return {
        "randomized_response": (k - 2 + e) / (e - 1) ** 2,
        "symmetric": math.exp(epsilon / 2) / (math.exp(epsilon / 2) - 1) ** 2,
        "optimized": 4 * e / (e - 1) ** 2,
        "hadamard_response": ((e + 1) / (e - 1)) ** 2,
        "subset_selection": q * (1 - q) / (p - q) ** 2,
    }


def test_the_choice_is_within_two_percent_of_the_best(subtests: pytest.Subtests) -> None:
    for k, epsilon in GRID:
        with subtests.test(k=k, epsilon=epsilon):
            chosen = choose(Budget.parse(epsilon), categories=k)
            best = min(
                min(oracle.variance(0.0, 1) for oracle in oracles(Budget.parse(epsilon), k)),
                min(published(k, float(epsilon)).values()),
            )
            assert chosen.variance(0.0, 1) <= 1.02 * best
            assert chosen.sizes[0] <= LARGEST_REPORT
            assert chosen.certificate().holds


def test_the_closed_forms_are_the_published_ones(subtests: pytest.Subtests) -> None:
    for k, epsilon in GRID:
        with subtests.test(k=k, epsilon=epsilon):
            papers = published(k, float(epsilon))
            papers["unary_encoding"] = papers["optimized"]
            for oracle in oracles(Budget.parse(epsilon), k):
                if oracle.name in papers:
                    least = (
                        0.9 if oracle.name == "subset_selection" else 0.998
                    )  # a better whole number than the nearest one
                    assert least <= oracle.variance(0.0, 1) / papers[oracle.name] <= 1.002, oracle.name


def test_the_choice_follows_the_size_of_a_report() -> None:
    budget = Budget.parse("1")
    assert choose(budget, categories=3).name == "randomized_response"
    assert choose(budget, categories=32).name == "subset_selection"
    assert choose(budget, categories=10_000).name == "local_hashing"


def test_a_budget_no_mechanism_can_keep_is_refused() -> None:
    for epsilon in ("20", "40", "0.001"):
        assert choose(Budget.parse(epsilon), categories=64).certificate().holds
    with pytest.raises(SchemeError, match="no mechanism keeps epsilon = 40 in reports of at most 256"):
        choose(Budget.parse("40"), categories=10_000)


def test_it_is_what_an_attribute_without_a_mechanism_gets() -> None:
    for categories in (3, 40):
        names = [f"c{number}" for number in range(categories)]
        text = f'name = "s"\n[attributes.x]\ntype = "categorical"\nepsilon = 1\ncategories = {names}\n'
        default, automatic, named = (
            dp.Scheme.from_toml(text + line)
            for line in ("", 'mechanism = "auto"\n', 'mechanism = "randomized_response"\n')
        )
        assert default.digest == automatic.digest
        assert named.digest == default.digest or categories == 40
