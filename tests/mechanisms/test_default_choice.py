"""The default mechanism of a categorical attribute has nearly the least exact variance of all oracles."""

from __future__ import annotations

import dpcore as dp
from dpcore.mechanisms.choice import choose, oracles
from dpcore.privacy.budget import Budget

BUDGETS = [Budget.parse(text) for text in ("0.25", "0.5", "1", "2", "4", "6")]


def test_its_variance_is_at_most_2_percent_above_the_least():
    for categories in (2, 3, 5, 10, 40, 300, 2_000, 10_000):
        for budget in BUDGETS:
            chosen = choose(budget, categories=categories).variance(0.0, 1)
            least = min(oracle.variance(0.0, 1) for oracle in oracles(budget, categories))
            assert chosen <= 1.02 * least, (categories, budget.text)


def test_it_is_what_an_attribute_without_a_mechanism_gets():
    for categories in (3, 40):
        names = [f"c{number}" for number in range(categories)]
        text = f'name = "s"\n[attributes.x]\ntype = "categorical"\nepsilon = 1\ncategories = {names}\n'
        default, automatic = (dp.Scheme.from_toml(text + line) for line in ("", 'mechanism = "auto"\n'))
        assert default.digest == automatic.digest
        assert (
            dp.Scheme.from_toml(text + 'mechanism = "randomized_response"\n').digest == default.digest
            or categories == 40
        )
