"""People drawn from a population follow its truth: accepted at p > 1e-9, refused with the scale off by 30 percent."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from dpcore._random import seeded
from dpcore.populations import consumer_expenditure

PEOPLE = consumer_expenditure()
N = 65_536
COLUMNS = PEOPLE.records_block(3, N, seeded(20))
LIMIT = 1e-9


def test_numbers_follow_their_law(subtests: pytest.Subtests) -> None:
    for attribute in ["income", "expenditure"]:
        for group in ["urban", "rural", None]:
            with subtests.test(attribute=attribute, group=group):
                drawn = COLUMNS[attribute] if group is None else COLUMNS[attribute][COLUMNS["urban_rural"] == group]
                law = PEOPLE.truth(attribute, group)
                assert scipy.stats.kstest(drawn, law.cdf).pvalue > LIMIT
                for scale in (0.7, 1.3):
                    assert scipy.stats.kstest(drawn * scale, law.cdf).pvalue < LIMIT


def test_categories_follow_their_law(subtests: pytest.Subtests) -> None:
    for attribute in ["race", "kids_count"]:
        for group in ["urban", "rural"]:
            with subtests.test(attribute=attribute, group=group):
                members = COLUMNS["urban_rural"] == group
                categories = list(PEOPLE.laws[attribute][group].categories)  # type: ignore[union-attr]
                counts = np.array([np.sum(COLUMNS[attribute][members] == category) for category in categories])
                assert counts.sum() == members.sum()
                truth = PEOPLE.probabilities(attribute, categories, group)
                assert scipy.stats.chisquare(counts, counts.sum() * truth).pvalue > LIMIT
                wrong = truth * np.where(np.arange(len(truth)) == 0, 0.7, 1.0)
                assert scipy.stats.chisquare(counts, counts.sum() * wrong / wrong.sum()).pvalue < LIMIT


def test_group_sizes_follow_the_weights() -> None:
    rural = int(np.sum(COLUMNS["urban_rural"] == "rural"))
    assert scipy.stats.binomtest(rural, N, 0.22).pvalue > LIMIT
    assert scipy.stats.binomtest(rural, N, 0.22 * 1.3).pvalue < LIMIT


def test_everybody_is_strictly_inside_the_bounds() -> None:
    for attribute in ("income", "expenditure"):
        law = PEOPLE.truth(attribute)
        assert law.lower < COLUMNS[attribute].min()
        assert COLUMNS[attribute].max() < law.upper


def test_within_a_group_attributes_are_independent() -> None:
    members = COLUMNS["urban_rural"] == "urban"
    assert scipy.stats.spearmanr(COLUMNS["income"][members], COLUMNS["expenditure"][members]).pvalue > LIMIT
    white = COLUMNS["race"] == "white"
    assert scipy.stats.ks_2samp(COLUMNS["income"][members & white], COLUMNS["income"][members & ~white]).pvalue > LIMIT
    # and across groups they are not: the place is what they share
    assert scipy.stats.ks_2samp(COLUMNS["income"][members], COLUMNS["income"][~members]).pvalue < LIMIT


def test_neighbouring_blocks_are_independent() -> None:
    other = PEOPLE.records_block(4, N, seeded(20))
    assert scipy.stats.pearsonr(COLUMNS["income"], other["income"]).pvalue > LIMIT
