"""`simulate` and the clients' own path follow one law."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.scheme import Scheme
from tests.helpers.statistical import mean_agrees, variance_agrees

People = Callable[..., dict[str, np.ndarray]]
RUNS, CLIENTS = 1500, 40


def _flat(aggregate: Aggregate) -> np.ndarray:
    tables = [*aggregate.statistics.values(), *aggregate.pairs.values()]
    return np.concatenate([np.ravel(table) for table in tables]).astype(float)


@pytest.mark.slow
def test_simulated_aggregates_follow_the_clients_law(small: Scheme, people: People) -> None:
    columns = people(CLIENTS)
    simulated = np.array([_flat(dp.simulate(small, columns, dp.seeded([1, run]))) for run in range(RUNS)])
    collected = np.array(
        [_flat(dp.aggregate(small, dp.privatize(small, columns, dp.seeded([2, run])))) for run in range(RUNS)]
    )
    for j in range(simulated.shape[1]):
        spread = np.sqrt(simulated[:, j].var() / RUNS + collected[:, j].var() / RUNS)
        assert abs(simulated[:, j].mean() - collected[:, j].mean()) <= 6.5 * spread
        assert variance_agrees(simulated[:, j], collected[:, j].var(ddof=1) or 1e-12) or _close(
            simulated[:, j], collected[:, j]
        )
    # Fluctuations of single tables are those of one draw: marginals and pairs agree within every aggregate.
    joint = dp.simulate(small, columns, dp.seeded(3))
    assert np.array_equal(joint.pairs["height", "side"].sum(axis=0), joint.statistics["height"])


def _close(left: np.ndarray, right: np.ndarray) -> bool:
    """Both variances are estimates: their ratio is within 6.5 standard errors of one."""

    def relative_error(samples: np.ndarray) -> float:
        squares = (samples - samples.mean()) ** 2
        return float(squares.std() / squares.mean() / np.sqrt(len(samples)))

    ratio = left.var() / right.var()
    return bool(abs(np.log(ratio)) < 6.5 * np.hypot(relative_error(left), relative_error(right)))


def test_a_population_is_simulated_as_its_records_are(small: Scheme) -> None:
    """Means over populations: counts of every category and level, at a size where a 3 % error would show."""
    population = dp_population()
    scheme = Scheme.from_toml(population_scheme())
    n = 200_000
    drawn = dp.simulate(scheme, population, dp.seeded(1), clients=n)
    people = dp.simulate(scheme, population.records(n, dp.seeded(2)), dp.seeded(3))
    assert drawn.n == people.n == n
    for name in scheme.attributes:
        left, right = drawn.statistics[name].astype(float), people.statistics[name].astype(float)
        counts = np.isin(scheme.attributes[name].mechanism.labels().statistic, ("count", "reports"))
        spread = np.sqrt(left[counts] + right[counts])
        assert np.all(np.abs(left[counts] - right[counts]) < 6.5 * spread)


def dp_population():  # type: ignore[no-untyped-def]
    from dpcore.populations import consumer_expenditure

    return consumer_expenditure()


def population_scheme() -> str:
    return (Path(__file__).parents[2] / "data/schemes/consumer_expenditure.toml").read_text()


def test_the_mean_check_can_fail() -> None:
    rng = np.random.default_rng(1)
    assert mean_agrees(rng.normal(0, 1, 4000), 0)
    assert not mean_agrees(rng.normal(0.3, 1, 4000), 0)
