"""The truth of a population is a density that functionals accept, and their values are those of adaptive quadrature."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate

from dpcore.functionals import parse
from dpcore.populations import consumer_expenditure

LAW = consumer_expenditure().truth("income")


def quad(of: object) -> float:
    pieces = np.linspace(0, 250_000, 11)
    parts = itertools.pairwise(pieces)
    return sum(integrate.quad(of, low, high, epsabs=0, epsrel=1e-11)[0] for low, high in parts)


def f(x: float) -> float:
    return float(LAW.pdf(x))


def test_values_of_a_truth(subtests: pytest.Subtests) -> None:
    for name, truth in [
        ("mean", lambda: quad(lambda x: x * f(x))),
        ("moment(2)", lambda: quad(lambda x: x * x * f(x))),
        ("entropy", lambda: quad(lambda x: -f(x) * np.log(f(x)) if f(x) > 0 else 0.0)),
        ("integrated_square(0)", lambda: quad(lambda x: f(x) ** 2)),
        ("integrated_square(1)", lambda: quad(lambda x: float(LAW.derivative(1)(x)) ** 2)),
        ("cdf(50000)", lambda: float(LAW.cdf(50_000))),
        ("quantile(0.5)", lambda: float(LAW.quantile(0.5))),
        ("derivative(1, 41000)", lambda: float(LAW.derivative(1)(41_000))),
    ]:
        with subtests.test(name=name, truth=truth):
            assert parse(name).value(LAW) == pytest.approx(truth(), rel=1e-8)  # type: ignore[operator]
