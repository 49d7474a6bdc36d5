"""The slow obvious twin of a truth: scipy's own Beta laws, mixed by hand, one value at a time."""

from __future__ import annotations

import numpy as np
import scipy

from dpcore.populations import Beta, consumer_expenditure

PARTS = {  # the income laws of the module, written a second time
    "urban": [(0.55, 3, 12), (0.35, 4, 8), (0.10, 8, 6)],
    "rural": [(0.75, 3, 15), (0.25, 4, 9)],
}


def slow(method: str, x: float, group: str) -> float:
    return sum(weight * getattr(scipy.stats.beta(a, b, 0, 250_000), method)(x) for weight, a, b in PARTS[group])


def test_income_is_the_mixture_of_scipys_betas() -> None:
    people = consumer_expenditure()
    for group in PARTS:
        law = people.truth("income", group)
        for x in (1.0, 9_000.0, 41_000.0, 125_000.0, 249_000.0):
            np.testing.assert_allclose(law.pdf(x), slow("pdf", x, group), rtol=1e-10)
            np.testing.assert_allclose(law.cdf(x), slow("cdf", x, group), rtol=1e-10)
        for t in (0.05, 0.5, 0.95):
            root = scipy.optimize.brentq(lambda x, t=t, group=group: slow("cdf", x, group) - t, 0, 250_000, xtol=1e-9)
            np.testing.assert_allclose(law.quantile(t), root, rtol=1e-10)


def test_beta_derivative_is_that_of_its_polynomial() -> None:
    u = np.polynomial.Polynomial([0, 1])
    density = u**3 * (1 - u) ** 8 * (scipy.stats.beta(4, 9).pdf(0.5) / (0.5**3 * 0.5**8))
    x = np.linspace(0, 1, 51)
    for order in range(6):
        np.testing.assert_allclose(
            Beta(4, 9, 10, 30).derivative(order)(10 + 20 * x),
            density.deriv(order)(x) / 20 ** (order + 1) if order else density(x) / 20,
            atol=1e-9 * 20.0 ** -(order + 1) * 10.0**order * 100,
        )
