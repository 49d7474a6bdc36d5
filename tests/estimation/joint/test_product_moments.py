"""Weights of reports are unbiased whatever the law, and products too, by the exact channel; the law shown keeps its margins."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpcore.estimation.joint.joint_distribution import Functions, fit, with_margins
from dpcore.estimation.joint.product_moments import Paired, Summary
from dpcore.estimation.joint.report_weights import Side
from dpcore.functionals.axis import Axis
from dpcore.mechanisms import Mechanism, Reports
from dpcore.protocol.scheme import Scheme

CATEGORIES = ("randomized_response", "unary_encoding", "subset_selection", "hadamard_response")
NUMBERS = ("dyadic_wave", "square_wave")


def _attribute(mechanism: str):
    domain = (
        'type = "categorical"\ncategories = ["a", "b", "c", "d"]'
        if mechanism in CATEGORIES
        else 'type = "numeric"\nlower = 0\nupper = 1'
    )
    text = f'name = "t"\nclients = 1000\n[attributes.x]\n{domain}\nmechanism = "{mechanism}"\nepsilon = 1\n'
    return Scheme.from_toml(text).attributes["x"]


def _side(mechanism: str) -> Side:
    attribute = _attribute(mechanism)
    cells = attribute.cells.reshape(-1, 1 if len(attribute.cells) < 64 else len(attribute.cells) // 16)
    law = np.random.default_rng(3).dirichlet(np.full(len(cells), 3.0))
    return Side.from_attribute(attribute, cells, law)


def test_weights_say_functions_of_each_cell(subtests: pytest.Subtests) -> None:
    for mechanism in [*CATEGORIES, *NUMBERS]:
        with subtests.test(mechanism=mechanism):
            side = _side(mechanism)
            functions = np.vstack([np.ones(len(side.law)), np.random.default_rng(4).normal(size=(3, len(side.law)))])
            np.testing.assert_allclose(side.means(side.unbiased(functions)), functions, atol=1e-8)


def test_weights_of_scores_have_mean_zero_and_tell_of_small_changes(subtests: pytest.Subtests) -> None:
    """Their mean under a changed law is their covariance with the change: that of scores of a likelihood."""
    for mechanism in [*CATEGORIES, *NUMBERS]:
        with subtests.test(mechanism=mechanism):
            side = _side(mechanism)
            functions = np.random.default_rng(5).normal(size=(2, len(side.law)))
            functions = functions - (functions @ side.law)[:, None]
            means = side.means(side.scores(functions))
            np.testing.assert_allclose(means @ side.law, 0, atol=1e-10)
            information = means @ (functions * side.law).T
            np.testing.assert_allclose(information, information.T, atol=1e-10)
            assert np.all(np.linalg.eigvalsh(information) > 0)


def _law_of_reports(mechanism: Mechanism, cell: int) -> tuple[np.ndarray, np.ndarray]:
    """Every report's statistics (m, S) and its probability given a cell, of mechanisms that are small."""
    (weights,) = mechanism.channel() or ()
    reports = []
    for output in range(weights.shape[1]):
        values = mechanism.report_of(output) if hasattr(mechanism, "report_of") else np.array([output])
        reports.append(mechanism.statistics(Reports(np.zeros(1, dtype=np.uint8), values)))
    return np.array(reports), weights[cell] / weights[cell].sum()


def test_products_of_weights_are_those_of_every_report(subtests: pytest.Subtests) -> None:
    for mechanism in ["randomized_response", "hadamard_response"]:
        with subtests.test(mechanism=mechanism):
            attribute, side = _attribute(mechanism), _side(mechanism)
            generator = np.random.default_rng(6)
            width = 1 + len(side.channel)
            g, h = generator.normal(size=(2, 3, width))
            said = side.means(side.product(g, h))
            for cell in range(4):
                statistics, chances = _law_of_reports(attribute.mechanism, cell)
                reports = np.hstack([np.ones((len(statistics), 1)), statistics])
                np.testing.assert_allclose(said[:, cell], ((reports @ g.T) * (reports @ h.T)).T @ chances, atol=1e-9)


def test_products_of_weights_are_those_of_many_reports(subtests: pytest.Subtests) -> None:
    for mechanism in ["unary_encoding", "subset_selection"]:
        with subtests.test(mechanism=mechanism):
            from dpcore import seeded

            attribute, side, n = _attribute(mechanism), _side(mechanism), 20_000
            generator = np.random.default_rng(7)
            g, h = generator.normal(size=(2, 2, 5))
            said = side.means(side.product(g, h))
            for cell in range(4):
                made = attribute.mechanism.privatize(np.full(n, cell), seeded(cell))
                each = attribute.mechanism.statistics_by(made, np.arange(n), n)
                reports = np.hstack([np.ones((n, 1)), each])
                products = (reports @ g.T) * (reports @ h.T)
                np.testing.assert_array_less(
                    np.abs(products.mean(axis=0) - said[:, cell]), 4.5 * products.std(axis=0) / np.sqrt(n)
                )


def test_means_of_products_are_exact_at_expected_sums(subtests: pytest.Subtests) -> None:
    for first, second in list(product(["randomized_response", "dyadic_wave"], repeat=2)):
        with subtests.test(first=first, second=second):
            sides = _side(first), _side(second)
            law = np.random.default_rng(8).dirichlet(np.ones(len(sides[0].law) * len(sides[1].law)))
            law = law.reshape(len(sides[0].law), -1)
            inside = [np.vstack([np.ones(len(side.law)), side.channel]) for side in sides]
            evidence = Paired(*sides, 10_000 * inside[0] @ law @ inside[1].T)
            a, b = (np.random.default_rng(9).normal(size=(3, len(side.law))) for side in sides)
            means, covariance = evidence.means(a, b)
            np.testing.assert_allclose(means, np.einsum("ri,ij,rj->r", a, law, b), atol=1e-7)
            assert np.all(np.linalg.eigvalsh(covariance) > 0)


def _axis(size: int, has_numbers: bool) -> Axis:
    numbers = np.arange(size) + 0.5 if has_numbers else None
    edges = np.arange(size + 1.0) if has_numbers else None
    squares = numbers**2 if numbers is not None else None
    return Axis(name="x", unit="", answered=np.ones(size), numbers=numbers, squares=squares, edges=edges)


@pytest.mark.parametrize("has_numbers", [False, True])
def test_the_law_that_is_shown_keeps_its_margins_and_finds_what_is_there(has_numbers: bool) -> None:
    generator = np.random.default_rng(10)
    margins = generator.dirichlet(np.full(12, 4.0)), generator.dirichlet(np.full(5, 4.0))
    first, second = (
        Functions.at_margin(_axis(12, has_numbers), margins[0]),
        Functions.at_margin(_axis(5, False), margins[1]),
    )
    for functions, margin in ((first, margins[0]), (second, margins[1])):
        inside = np.vstack([np.ones(len(margin)), functions.values])
        np.testing.assert_allclose((inside * margin) @ inside.T, np.eye(len(inside)), atol=1e-10)
    size = len(first.values) * len(second.values)

    def reading(laws: np.ndarray) -> np.ndarray:
        return np.asarray((first.values @ laws @ second.values.T).reshape(*laws.shape[:-2], -1))

    truth = np.outer(*margins) * np.exp(0.4 * np.outer(first.values[0], second.values[1]))
    truth = with_margins(truth, margins)
    sure = Summary(reading(truth), 1e-7 * np.eye(size), reading)
    found = fit(sure, first, second, margins)
    np.testing.assert_allclose(found.law.sum(axis=1), margins[0], atol=1e-9)
    np.testing.assert_allclose(found.law.sum(axis=0), margins[1], atol=1e-9)
    np.testing.assert_allclose(reading(found.law), reading(truth), atol=5e-3)
    unsure = fit(Summary(np.zeros(size), 1e-2 * np.eye(size), reading), first, second, margins)
    np.testing.assert_allclose(unsure.law, np.outer(*margins), atol=1e-12)


def test_how_sure_a_law_is_follows_from_its_derivatives() -> None:
    """None where no association is shown; else more than nothing, and no direction moves a margin."""
    generator = np.random.default_rng(11)
    margins = generator.dirichlet(np.full(12, 4.0)), generator.dirichlet(np.full(5, 4.0))
    first, second = Functions.at_margin(_axis(12, True), margins[0]), Functions.at_margin(_axis(5, False), margins[1])
    size = len(first.values) * len(second.values)

    def reading(laws: np.ndarray) -> np.ndarray:
        return np.asarray((first.values @ laws @ second.values.T).reshape(*laws.shape[:-2], -1))

    values = np.zeros(size)
    values[0] = 0.5
    found = fit(Summary(values, 1e-3 * np.eye(size), reading), first, second, margins)
    assert np.all(found.errors > 0)
    np.testing.assert_allclose(found.directions.sum(axis=1), 0, atol=1e-10)
    np.testing.assert_allclose(found.directions.sum(axis=2), 0, atol=1e-10)
    none = fit(Summary(np.zeros(size), 1e-2 * np.eye(size), reading), first, second, margins)
    assert none.strength == 0
    assert not none.errors.any()
