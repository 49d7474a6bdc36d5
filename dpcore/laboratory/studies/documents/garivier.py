"""The examples of [Garivier2022], as tables: Warner's survey, votes, the price of a mean, quantiles, differencing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.central import majority
from dpcore.laboratory.central.differencing import attack_rate
from dpcore.laboratory.central.exponential.continuous_exponential import (
    STEPS,
    ContinuousExponential,
    Interval,
    RankLoss,
    SmoothedDistance,
)
from dpcore.laboratory.central.exponential.exponential_mechanism import ExponentialMechanism
from dpcore.laboratory.central.exponential.inverse_sensitivity import (
    InverseSensitivity,
    Majority,
    MeanOfBits,
    most_truthful,
    optimality,
)
from dpcore.laboratory.central.exponential.joint_quantiles import JointExp
from dpcore.laboratory.central.laplace_mechanism import LaplaceMechanism, ReportNoisyMax, winning_probabilities
from dpcore.laboratory.central.queries import PARTS, Mean
from dpcore.mechanisms.categorical.randomized_response import RandomizedResponse
from dpcore.privacy.budget import Budget

_COARSE = 64  # lattice steps to a record, of a law that is summed
ORDERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def warner_survey(shares: Sequence[float], *, n: int, runs: int, random: Source) -> pd.DataFrame:
    """Return Warner's survey with two coins [Warner1965]: share, corrected, printed, standard_error, variance_ratio, loss.

    corrected: the mean of 2 m - 1/2, m the share of yes among n reports; printed: of the slide's 2 m - 1, low by 1/2.
    variance_ratio: of the corrected estimate to that of n true answers, 4 at one half.  loss: of a report, ln 3.
    """
    mechanism = RandomizedResponse.design(Budget.parse("ln 3"), categories=2)
    rows = []
    for share in shares:
        yes = []
        for _ in range(runs):
            ones = int(random.generator().binomial(n, share))
            yes.append(mechanism.simulate(np.array([n - ones, ones]), random)[1] / n)
        corrected = 2 * np.array(yes) - 0.5
        ratio = corrected.var(ddof=1) / (share * (1 - share) / n)
        loss = log(mechanism.certificate().kept)
        row = (corrected.mean(), corrected.mean() - 0.5, corrected.std(ddof=1) / sqrt(runs), ratio, loss)
        rows.append((share, *map(float, row)))
    return pd.DataFrame(rows, columns=["share", "corrected", "printed", "standard_error", "variance_ratio", "loss"])


def majority_probabilities(n: int, epsilon: float) -> pd.DataFrame:
    """Return the probability of answering 1: s (all above n / 2), exponential, inverse_sensitivity, bound."""
    s = np.arange(n // 2 + 1, n + 1)
    return pd.DataFrame(
        {
            "s": s,
            "exponential": majority.exponential_probability(s, n, epsilon),
            "inverse_sensitivity": majority.inverse_sensitivity_probability(s, n, epsilon),
            "bound": majority.largest_probability(s, n, epsilon),
        }
    )


def majority_price(epsilon: float, multiples: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1, 3, 10)) -> pd.DataFrame:
    """Return what privacy costs a vote as n passes 9 / epsilon^2: n, multiple, share, plain, private (how often each is wrong).

    share: of ones among the people, 1.5 / sqrt(n) above one half, where the sample's own majority errs one time in seven
    hundred.
    """
    rows = []
    for multiple in multiples:
        n = max(3, round(multiple * majority.records_for_free(epsilon))) | 1
        share = min(0.99, 0.5 + 1.5 / sqrt(n))
        plain, private = (majority.wrong_probability(n, share, spent) for spent in (None, epsilon))
        rows.append((n, multiple, share, plain, private))
    return pd.DataFrame(rows, columns=["n", "multiple", "share", "plain", "private"])


def optimalities(n: int, epsilon: str) -> pd.DataFrame:
    """Return the 1/4- and 1/2-optimality at every sum of n bits: target, share, s, kept, best, bound.

    kept: how often the mechanism returns the true value at epsilon; best: the most truthful unbiased mechanism at share *
    epsilon, by linear programming; bound: the document's, above it.
    """
    budget, rows = Budget.parse(epsilon), []
    votes, sums = [int(2 * s > n) for s in range(n + 1)], list(range(n + 1))
    cases = [
        ("majority", InverseSensitivity(budget, Majority()), votes, 2),
        ("majority, two outputs", InverseSensitivity(budget, Majority(), halved=False), votes, 2),
        ("mean of bits", InverseSensitivity(budget, MeanOfBits(n)), sums, n + 1),
    ]
    for name, mechanism, values, outputs in cases:
        for s in range(n + 1):
            result = optimality(mechanism, np.array([1] * s + [0] * (n - s)))
            best = most_truthful(values, outputs, result.share * float(budget), s)
            rows.append((name, result.share, s, result.truth_probability, best, result.bound))
    return pd.DataFrame(rows, columns=["target", "share", "s", "kept", "best", "bound"])


def utility_bounds(n: int, epsilon: str) -> pd.DataFrame:
    """Return the exponential mechanism's utility bound for the mean of n bits, half of them ones: shortfall, seen, bound."""

    def loss(records: np.ndarray) -> np.ndarray:
        return np.abs(np.arange(len(records) + 1) - int(records.sum()))

    mechanism = ExponentialMechanism(Budget.parse(epsilon), loss, 1, range(n + 1))
    bits = np.arange(n) % 2
    losses, law = mechanism.losses(bits), np.array([float(p) for p in mechanism.law(bits)])
    rows = [(v, float(law[losses >= v].sum()), mechanism.utility_bound(v)) for v in range(1, n // 2 + 1)]
    return pd.DataFrame(rows, columns=["shortfall", "seen", "bound"])


def noisy_max(epsilon: str, leads: Sequence[int], *, runs: int, random: Source) -> pd.DataFrame:
    """Return how often report noisy max names the most common of three values: lead, seen, standard_error, exact.

    lead: by how many records it is ahead of the other two; exact: by summation over the noise,
    in 64ths of a record.
    """
    mechanism, rows = ReportNoisyMax.design(Budget.parse(epsilon)), []
    for lead in leads:
        counts = np.array([lead, 0, 0])
        seen = float(np.mean([mechanism.release(counts, random) == 0 for _ in range(runs)]))
        exact = float(winning_probabilities(counts, round(mechanism.scale * _COARSE / PARTS), _COARSE)[0])
        rows.append((lead, seen, sqrt(exact * (1 - exact) / runs), exact))
    return pd.DataFrame(rows, columns=["lead", "seen", "standard_error", "exact"])


def mean_price(epsilon: str, sizes: Sequence[int]) -> pd.DataFrame:
    """Return the mean of bits at share 1/2: n, plain, laplace, inverse_sensitivity, lower_bound, total_over_plain.

    Variances: of the sample, of the noise of plain Laplace, 2 / (n epsilon)^2, of the inverse sensitivity mechanism's, 4 times
    as much, and the document's lower bound 1 / (68 n^2 epsilon^2) for epsilon <= 1/2.  The last tends to 1: the price vanishes.
    """
    budget, rows = Budget.parse(epsilon), []
    for n in sizes:
        query = Mean((0.0,), (1.0,))
        b = LaplaceMechanism.design(budget, query).scale * float(np.ravel(query.unit(n))[0])
        plain, laplace, e = 0.25 / n, 2 * b**2, float(budget)
        q = exp(-e / 2)
        inverse = 2 * q / (1 - q) ** 2 / n**2
        rows.append((n, plain, laplace, inverse, 1 / (68 * (n * e) ** 2), (plain + laplace) / plain))
    return pd.DataFrame(
        rows, columns=["n", "plain", "laplace", "inverse_sensitivity", "lower_bound", "total_over_plain"]
    )


def quantiles_at_atoms(
    *, n: int, epsilon: str, atom: Sequence[float], runs: int, random: Source, cells: int = 256
) -> pd.DataFrame:
    """Return errors as an atom at 0.3 grows: atom (its share), method, error (the mean largest), standard_error.

    Methods: `joint_exp`, `smoothed_joint_exp` (each record moved by at most a 64th), and the median alone by `rank` and
    `smoothed_distance`.  Records are Beta(2, 5) but for the atom; errors are against the records' own quantiles.
    """
    budget, interval, rows = Budget.parse(epsilon), Interval(0, 1), []
    for share in atom:
        records = np.sort(random.generator().beta(2, 5, n))
        records[: round(share * n)] = 0.3
        truth = np.sort(records)[[-(-t.numerator * n // t.denominator) - 1 for t in ORDERS]]
        joint = {
            "joint_exp": JointExp(budget, interval, ORDERS, cells),
            "smoothed_joint_exp": JointExp(budget, interval, ORDERS, cells, cells // 64),
        }
        errors = {
            name: [float(np.abs(mechanism.release(records, random) - truth).max()) for _ in range(runs)]
            for name, mechanism in joint.items()
        }
        for name, loss in (
            ("rank", RankLoss(ORDERS[1])),
            ("smoothed_distance", SmoothedDistance(ORDERS[1], STEPS // 128)),
        ):
            drawn = ContinuousExponential(budget, interval, loss).draw(records, runs, random)
            errors[name] = np.abs(drawn - truth[1]).tolist()
        for name, values in errors.items():
            rows.append((share, name, float(np.mean(values)), float(np.std(values, ddof=1) / sqrt(runs))))
    return pd.DataFrame(rows, columns=["atom", "method", "error", "standard_error"])


def differencing(epsilons: Sequence[str], *, n: int, runs: int, random: Source) -> pd.DataFrame:
    """Return how often the differencing attack is right about a fair coin: epsilon (inf: exact answers), rate, bound."""
    rows = [(float("inf"), *_rate(n, None, runs, random))]
    rows += [(float(Budget.parse(e)), *_rate(n, Budget.parse(e), runs, random)) for e in epsilons]
    return pd.DataFrame(rows, columns=["epsilon", "rate", "bound"])


def _rate(n: int, budget: Budget | None, runs: int, random: Source) -> tuple[float, float]:
    attack = attack_rate(n, budget, runs=runs, random=random)
    return attack.rate, attack.bound
