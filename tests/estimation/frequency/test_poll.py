"""Real answers to "select all that apply": the pies of a public poll, within intervals of the truth."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.estimation.frequency.option_shares import SetEstimate
from dpcore.protocol.scheme import Scheme

POLL = Path(__file__).parents[3] / "data/samples/thanksgiving_2015.parquet"
CLIENTS, ROUNDS = 5_000, 80


@pytest.fixture(scope="module")
def pies() -> pd.Series:
    """The answers of all who chose four pies at most, none included."""
    answers = pd.read_parquet(POLL)["pies"].dropna()
    return answers[answers.map(len) <= 4].reset_index(drop=True)


def _scheme(pies: pd.Series) -> Scheme:
    return Scheme.from_toml(
        f'name = "poll"\nclients = {CLIENTS}\n[attributes.pies]\ntype = "set"\nepsilon = 4\nsize = 2\nat_most = 4\n'
        f"categories = {sorted(set(pies.explode().dropna()))}\n"
    )


def _rounds(scheme: Scheme, pies: pd.Series) -> list[SetEstimate]:
    """Estimates of rounds of respondents who are drawn from the poll's, each with one report."""
    made = []
    for seed in range(ROUNDS):
        drawn = pies.iloc[np.random.default_rng([59, seed]).integers(len(pies), size=CLIENTS)]
        made.append(dp.estimate(dp.simulate(scheme, {"pies": drawn.tolist()}, dp.seeded(seed)), "pies"))
    return made


@pytest.mark.slow
def test_intervals_of_a_real_multiple_choice_question_cover_its_shares_and_joint_shares(pies: pd.Series) -> None:
    scheme = _scheme(pies)
    options = scheme.attributes["pies"].categories
    chosen = np.array([[option in answer for option in options] for answer in pies])
    estimates = _rounds(scheme, pies)
    covered = [(one.low <= chosen.mean(axis=0)) & (chosen.mean(axis=0) <= one.high) for one in estimates]
    assert 0.93 <= np.mean(covered) <= 0.97
    together = [0, 0]
    for a, b in combinations(range(len(options)), 2):
        truth = np.mean(chosen[:, a] & chosen[:, b])
        for one in estimates:
            both = one.both(options[a], options[b])
            together[0] += both.low <= truth <= both.high
            together[1] += 1
    assert 0.93 <= together[0] / together[1] <= 0.97
    mean = chosen.sum(axis=1).mean()
    found = [one.number.functional(dp.functionals.Mean()) for one in estimates]
    assert np.mean([one.low <= mean <= one.high for one in found]) >= 0.88  # of 80 rounds


def test_one_round_of_the_poll_itself_finds_the_favourite_pies(pies: pd.Series) -> None:
    scheme = _scheme(pies)
    estimate = dp.estimate(dp.aggregate(scheme, dp.privatize(scheme, {"pies": pies.tolist()}, dp.seeded(59))), "pies")
    largest = [estimate.categories[place] for place in np.argsort(-estimate.values)[:3]]
    assert largest == ["pumpkin", "apple", "pecan"]
