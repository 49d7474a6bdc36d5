"""Laws of two attributes for the study of associations: numbers and categories, independent and not.

Each is a table on the finest cells, in which people are drawn, so that every truth is a sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpcore.functionals import (
    CellDifference,
    ConditionalMean,
    ConditionalProbability,
    Correlation,
    Covariance,
    JointFunctional,
    RankCorrelation,
    Rectangle,
    Slope,
)
from dpcore.functionals.axis import Axis

_FINE = 512  # cells of a number


@dataclass(frozen=True, eq=False)
class JointLaw:
    """table: (K_x, K_y), sum one.  mechanisms: of either, or one for a joint attribute; a number is of [0, 1].

    asked: what intervals are asked of.
    """

    name: str
    table: np.ndarray
    mechanisms: tuple[str, ...]
    asked: tuple[JointFunctional, ...]

    @property
    def is_independent(self) -> bool:
        """Whether the attributes have nothing to do with one another."""
        return bool(np.allclose(self.table, np.outer(self.table.sum(axis=1), self.table.sum(axis=0))))

    def axes(self) -> tuple[Axis, Axis]:
        """Return the finest cells, in whose centres people are."""
        return _axis("x", self.table.shape[0]), _axis("y", self.table.shape[1])

    def truth(self, functional: JointFunctional) -> float:
        """Return a functional of the people's law."""
        return functional.means(*self.axes(), self.table).value(self.table)

    def scheme(self, epsilon: float, clients: int) -> str:
        """Return a scheme that asks for both, each with epsilon; together with as much as both."""
        text = f'name = "joint"\nclients = {clients}\n'
        if len(self.mechanisms) == 1:
            number = self.axes()[0].edges is not None
            domain = 'type = "numeric"\nlower = [0, 0]\nupper = [1, 1]' if number else _of_categories(self.table.shape)
            asked = f'mechanism = "{self.mechanisms[0]}"\nepsilon = {2 * epsilon}\n'
            return f'{text}[attributes.both]\nof = ["x", "y"]\n{domain}\n{asked}'
        text += 'pairs = [["x", "y"]]\n'
        for axis, mechanism in zip(self.axes(), self.mechanisms, strict=True):
            number = axis.edges is not None
            domain = 'type = "numeric"\nlower = 0\nupper = 1' if number else _of_categories((axis.size,))
            text += f'[attributes.{axis.name}]\n{domain}\nmechanism = "{mechanism}"\nepsilon = {epsilon}\n'
        return text

    def people(self, n: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Return n people's records."""
        cells = np.repeat(np.arange(self.table.size), generator.multinomial(n, self.table.ravel()))
        generator.shuffle(cells)
        places = zip(self.axes(), np.divmod(cells, self.table.shape[1]), strict=True)
        return {axis.name: _values(axis)[place] for axis, place in places}


def _of_categories(sizes: tuple[int, ...]) -> str:
    lists = ["[" + ", ".join(f'"{k}"' for k in range(size)) + "]" for size in sizes]
    return 'type = "categorical"\ncategories = ' + (lists[0] if len(lists) == 1 else f"[{', '.join(lists)}]")


def _values(axis: Axis) -> np.ndarray:
    return np.array(axis.categories) if axis.numbers is None else axis.numbers


def _axis(name: str, size: int) -> Axis:
    if size < _FINE:
        return Axis(name=name, unit="", answered=np.ones(size), categories=tuple(map(str, range(size))))
    edges = np.linspace(0.0, 1.0, size + 1)
    numbers = (edges[1:] + edges[:-1]) / 2
    return Axis(name=name, unit="", answered=np.ones(size), numbers=numbers, squares=numbers**2, edges=edges)


@lru_cache
def joint_laws() -> dict[str, JointLaw]:
    """Return them by name."""
    x = (np.arange(_FINE) + 0.5) / _FINE
    waves, of_two = ("dyadic_wave", "dyadic_wave"), _of_two_numbers()

    def beta(a: float, b: float) -> np.ndarray:
        return x ** (a - 1) * (1 - x) ** (b - 1)

    u, v = (x[:, None] - 0.5) * 8, (x - 0.5) * 8
    normal = np.exp(-(u**2 - u * v + v**2) / 1.5)
    curve = beta(2, 3)[:, None] * np.exp(-(((x[None, :] - 0.3 - 1.6 * (x[:, None] - 0.5) ** 2) / 0.12) ** 2) / 2)
    bump = np.exp(-(((x - 0.3) / 0.08) ** 2) / 2) + 0.7 * np.exp(-(((x - 0.7) / 0.1) ** 2) / 2)
    centres, wide = ((0.2, 0.3), (0.5, 0.75), (0.8, 0.35)), 0.07
    clusters = sum(
        (np.exp(-(((x[:, None] - a) / wide) ** 2 + ((x - b) / wide) ** 2) / 2) for a, b in centres),
        np.full((_FINE, _FINE), 0.05),
    )
    groups = np.stack(
        [share * beta(2, b) / beta(2, b).sum() for share, b in ((0.4, 5), (0.3, 4), (0.2, 2), (0.1, 3))], 1
    )
    table = np.array([[8, 3, 1, 4, 4], [2, 9, 4, 3, 2], [1, 2, 12, 4, 1], [6, 6, 6, 14, 8]], dtype=float)
    rare = np.outer([50, 25, 12, 8, 4, 1], [40, 30, 15, 10, 5]) * (
        1 + 0.5 * np.cos(np.add.outer(np.arange(6), np.arange(5)))
    )
    one = (ConditionalMean(("0",)), ConditionalMean(("3",)), ConditionalProbability((0.2, 0.5), ("1",)))
    laws = [
        ("normal", normal, waves, of_two),
        ("independent", np.outer(beta(2, 5), bump), waves, of_two),
        ("curve", curve, waves, of_two),
        ("clusters", clusters, waves, of_two),
        ("groups", groups, ("dyadic_wave", "randomized_response"), one),
        ("groups_subset", groups, ("square_wave", "subset_selection"), one),
        ("table", table, ("randomized_response", "randomized_response"), _of_cells("0", "1", "3", "3")),
        ("table_unary", table, ("unary_encoding", "subset_selection"), _of_cells("0", "1", "3", "3")),
        (
            "table_none",
            np.outer(table.sum(1), table.sum(0)),
            ("randomized_response", "hadamard_response"),
            _of_cells("0", "1", "3", "3"),
        ),
        ("rare", rare, ("randomized_response", "unary_encoding"), _of_cells("5", "4", "0", "0")),
        ("normal_together", normal, ("crossed_wave",), of_two),
        ("table_together", table, ("auto",), _of_cells("0", "1", "3", "3")),
        *(
            (f"uniform_{rows}x{columns}{way}", np.ones((rows, columns)), mechanisms, (Rectangle(("0",), ("0",)),))
            for rows, columns in ((4, 5), (10, 10))
            for way, mechanisms in (("", ("randomized_response",) * 2), ("_together", ("auto",)))
        ),
        ("numbers_none", np.outer(beta(2, 5), bump), waves, ()),  # for the tests' size alone: ten thousand rounds
    ]
    return {name: JointLaw(name, law / law.sum(), mechanisms, asked) for name, law, mechanisms, asked in laws}


def _of_two_numbers() -> tuple[JointFunctional, ...]:
    return (
        Correlation(),
        RankCorrelation(),
        Covariance(),
        Slope(),
        ConditionalMean((0.25, 0.5)),
        ConditionalProbability((0.25, 0.5), (0.25, 0.5)),
        Rectangle((0.25, 0.5), (0.25, 0.5)),
    )


def _of_cells(a: str, b: str, c: str, d: str) -> tuple[JointFunctional, ...]:
    return (
        Rectangle((a,), (b,)),
        Rectangle((c,), (d,)),
        ConditionalProbability((a,), (b,)),
        CellDifference((a, b), (c, d)),
    )
